// What Prometheus reads: the state of the cluster, and what the master counts of itself.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "det/master/elastic/provisioner.h"
#include "det/master/monitoring/measurements.h"
#include "det/master/services.h"
#include "det/master/webhooks/webhooks.h"

namespace det::master {
namespace {

using cluster::Allocation;
using experiment::AllocationState;

constexpr auto kCountsAge = std::chrono::seconds(5);  // of what is counted by the store

/// Shared by scrapes that come close together.
struct StoredCounts {
  store::StateCounts counts;
  std::chrono::steady_clock::time_point read{};
};

/// "STOPPING_ERROR" of StoppingError.
std::string in_capitals(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z' && !text.empty()) text += '_';
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}
template <class E>
std::string api_name(E value) {
  return in_capitals(boost::describe::enum_to_string(value, "?"));
}

void write_counts(PrometheusText& out, const store::StateCounts& counts) {
  out.family("det_experiments", "gauge", "Experiments by state.");
  for (const auto& [state, count] : counts.experiments)
    out.sample({{"state", api_name(state)}}, static_cast<double>(count));
  out.family("det_trials", "gauge", "Trials by state.");
  for (const auto& [state, count] : counts.trials)
    out.sample({{"state", api_name(state)}}, static_cast<double>(count));
}

void write_slots(PrometheusText& out, const cluster::Cluster& cluster) {
  std::map<std::string, int> used;
  for (const auto& [id, allocation] : cluster.allocations())
    for (const auto& share : allocation.record.shares)
      if (!share.ended && !allocation.idle()) used[share.agent] += static_cast<int>(share.slots.size());
  out.family("det_agents", "gauge", "Always 1; the labels give the state of each agent.");
  for (const auto& [id, agent] : cluster.agents()) {
    const char* state = !agent.connected ? "lost"
                        : agent.silent   ? "silent"
                        : agent.enabled  ? "enabled"
                        : agent.draining ? "draining"
                                         : "disabled";
    out.sample({{"agent_id", id}, {"resource_pool", agent.resource_pool}, {"state", state}}, 1);
  }
  out.family("det_slots", "gauge", "Slots of connected agents by state.");
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    const int all = static_cast<int>(agent.slots.size());
    const int busy = std::min(all, used[id]);
    const int off =
        agent.enabled ? std::min(all - busy, static_cast<int>(agent.disabled_slots.size())) : all - busy;
    for (const auto& [state, count] :
         {std::pair{"used", busy}, {"free", all - busy - off}, {"disabled", off}})
      out.sample({{"agent_id", id}, {"resource_pool", agent.resource_pool}, {"state", state}}, count);
  }
}

std::string pool_of(const cluster::Cluster& cluster, const Allocation& allocation) {
  return cluster.pool_of(cluster::Cluster::job_of(allocation));
}

void write_queue(PrometheusText& out, const cluster::Cluster& cluster, Time now) {
  struct Queue {
    std::int64_t length = 0, slots = 0;
    double oldest = 0;
  };
  std::map<std::string, Queue> queues;
  for (const auto& pool : cluster.resource_pools()) queues[pool];
  std::map<AllocationState, std::int64_t> states;
  for (const auto& [id, allocation] : cluster.allocations()) {
    ++states[allocation.record.state];
    if (allocation.record.state != AllocationState::Pending) continue;
    auto& queue = queues[pool_of(cluster, allocation)];
    ++queue.length;
    queue.slots += allocation.slots;
    queue.oldest = std::max(queue.oldest, static_cast<double>(now - allocation.record.requested) / kSecond);
  }
  out.family("det_allocations", "gauge", "Active allocations by state.");
  for (const auto& [state, count] : states)
    out.sample({{"state", api_name(state)}}, static_cast<double>(count));
  out.family("det_queue_length", "gauge", "Allocations waiting for slots.");
  for (const auto& [pool, queue] : queues)
    out.sample({{"resource_pool", pool}}, static_cast<double>(queue.length));
  out.family("det_queue_slots", "gauge", "Slots requested by waiting allocations.");
  for (const auto& [pool, queue] : queues)
    out.sample({{"resource_pool", pool}}, static_cast<double>(queue.slots));
  out.family("det_queue_oldest_seconds", "gauge", "Waiting time of the oldest waiting allocation.");
  for (const auto& [pool, queue] : queues) out.sample({{"resource_pool", pool}}, queue.oldest);
}

/// Of pools whose machines an engine gives.
void write_providers(PrometheusText& out, const Services& s) {
  const auto& cluster = s.ledger.cluster();
  struct Nodes {
    int requested = 0, pending = 0, running = 0, leaving = 0;
  };
  std::map<std::string, Nodes> pools;
  for (const auto& pool : cluster.pools().pools)
    if (pool.elastic) pools[pool.name];
  if (pools.empty()) return;
  for (const auto& [id, allotment] : cluster.allotments()) {
    auto& nodes = pools[allotment.pool];
    auto& count = allotment.leaving || allotment.state == elastic::State::Releasing ? nodes.leaving
                  : allotment.state == elastic::State::Running                      ? nodes.running
                  : allotment.state == elastic::State::Pending                      ? nodes.pending
                                                                                    : nodes.requested;
    count += allotment.nodes;
  }
  out.family("det_provider_nodes", "gauge", "Nodes that a resource pool has of its provider, by state.");
  for (const auto& [pool, nodes] : pools)
    for (const auto& [state, count] : {std::pair{"requested", nodes.requested},
                                       {"pending", nodes.pending},
                                       {"running", nodes.running},
                                       {"leaving", nodes.leaving}})
      out.sample({{"resource_pool", pool}, {"state", state}}, count);
  out.family("det_provider_failures", "gauge",
             "Requests for nodes that failed since the last one that worked.");
  for (const auto& [pool, nodes] : pools) out.sample({{"resource_pool", pool}}, cluster.failures(pool).count);
  if (s.provisioner == nullptr) return;
  out.family("det_provider_calls_total", "counter", "Calls of the engine that gives the nodes.");
  for (const auto& [pool, calls] : s.provisioner->calls())
    out.sample({{"resource_pool", pool}}, static_cast<double>(calls));
}

void write_work(PrometheusText& out, const Services& s) {
  const auto& m = s.measurements;
  out.family("det_allocation_wait_seconds", "histogram", "Time that allocations waited for slots.");
  out.sample({}, m.waits());
  out.family("det_http_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : m.answers()) {
    const auto& [method, route, code] = key;
    out.sample({{"method", method}, {"route", route}, {"code", std::to_string(code)}},
               static_cast<double>(count));
  }
  out.family("det_http_request_duration_seconds", "histogram",
             "Time until the answer, including the waiting time of long polls (sync, preemption, follow).");
  for (const auto& [key, durations] : m.requests())
    out.sample({{"method", key.first}, {"route", key.second}}, durations);
  out.family("det_store_commit_duration_seconds", "histogram", "Time until a commit was durable.");
  out.sample({}, m.commits());
  out.family("det_store_overloaded", "gauge",
             "1 while the database is so far behind that reports are refused.");
  out.sample({}, s.store.overloaded() ? 1 : 0);
  const auto counter = [&](const char* name, const char* help, std::int64_t value) {
    out.family(name, "counter", help);
    out.sample({}, static_cast<double>(value));
  };
  counter("det_events_total", "Events processed and stored.", m.ingested().events);
  counter("det_log_lines_total", "Log lines received.", m.ingested().log_lines);
  counter("det_log_bytes_total", "Bytes of log lines received.", m.ingested().log_bytes);
  counter("det_metric_reports_total", "Metric reports received.", m.ingested().metric_reports);
  counter("det_metric_values_total", "Metric values received.", m.ingested().metric_values);
  counter("det_webhook_deliveries_total", "Webhook deliveries accepted by the receiver.",
          s.webhooks.counts().delivered);
  counter("det_webhook_failed_attempts_total", "Failed attempts to deliver to a webhook.",
          s.webhooks.counts().failed_attempts);
  counter("det_webhook_given_up_total", "Webhook deliveries given up.", s.webhooks.counts().given_up);
  out.family("det_webhook_pending", "gauge",
             "Webhook deliveries in progress or waiting for another attempt.");
  out.sample({}, static_cast<double>(s.webhooks.pending()));
}

/// When this process started, in seconds since 1970.
double process_start_seconds() {
  std::ifstream own("/proc/self/stat"), machine("/proc/stat");
  std::string line;
  std::getline(own, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 2)));
  double ticks = 0;
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i)
    if (i == 22) ticks = std::stod(field);
  while (std::getline(machine, line))
    if (line.starts_with("btime "))
      return std::stod(line.substr(6)) + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return 0;
}

void write_process(PrometheusText& out, const Services& s) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::error_code failed;
  const auto open_files = std::distance(std::filesystem::directory_iterator("/proc/self/fd", failed), {});
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  static const double kStart = process_start_seconds();
  const auto gauge = [&](const char* name, const char* help, double value) {
    out.family(name, "gauge", help);
    out.sample({}, value);
  };
  gauge("determined_healthy", "1 while the master serves and its database accepts writes.",
        s.store.overloaded() ? 0 : 1);
  out.family("det_build_info", "gauge", "Always 1; the labels name the version and the cluster.");
  out.sample({{"version", s.version}, {"cluster_id", s.cluster_id}, {"cluster_name", s.cluster_name}}, 1);
  out.family("process_cpu_seconds_total", "counter", "User and system CPU time of the master.");
  out.sample({}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  gauge("process_resident_memory_bytes", "Resident memory of the master.",
        static_cast<double>(resident) * page);
  gauge("process_virtual_memory_bytes", "Virtual memory of the master.", static_cast<double>(pages) * page);
  gauge("process_open_fds", "Open file descriptors.", static_cast<double>(open_files));
  gauge("process_max_fds", "Limit of open file descriptors.", static_cast<double>(limit.rlim_cur));
  gauge("process_start_time_seconds", "Start time of the master in seconds since the Unix epoch.", kStart);
}

http::Response text_response(std::string text) {
  http::Response response;
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = std::move(text);
  return response;
}

asio::awaitable<http::Response> metrics(Services& s, std::shared_ptr<StoredCounts> stored) {
  if (std::chrono::steady_clock::now() - stored->read > kCountsAge) {
    auto read = [&s] { return s.store.state_counts(); };
    auto counts = co_await offload(s, std::move(read));
    stored->counts = std::move(counts);
    stored->read = std::chrono::steady_clock::now();
  }
  PrometheusText out;
  write_counts(out, stored->counts);
  write_slots(out, s.ledger.cluster());
  write_queue(out, s.ledger.cluster(), s.ledger.now());
  write_providers(out, s);
  write_work(out, s);
  write_process(out, s);
  co_await s.ledger.durable();
  co_return text_response(out.take());
}

/// Which things belong together, for joining with what exporters on the machines measure. Our containers are
/// the shares of allocations: "<allocation>.<agent>".
asio::awaitable<http::Response> state(Services& s) {
  const auto& cluster = s.ledger.cluster();
  PrometheusText out;
  const auto each_share = [&](const auto& write) {
    for (const auto& [id, allocation] : cluster.allocations())
      for (const auto& share : allocation.record.shares)
        if (!share.ended) write(id, share, fmt::format("{}.{}", id, share.agent));
  };
  out.family("det_container_id_allocation_id", "gauge", "The allocation of each container.");
  each_share([&](const auto& id, const auto&, const auto& container) {
    out.sample({{"container_id", container}, {"allocation_id", id}}, 1);
  });
  out.family("det_allocation_id_task_id_task_actor", "gauge", "The task and the job of each allocation.");
  for (const auto& [id, allocation] : cluster.allocations()) {
    const auto& task = allocation.record.task_id;
    const auto job = cluster.job_id_of(cluster::Cluster::job_of(allocation));
    const auto actor =
        allocation.of_trial()
            ? fmt::format("/experiments/{}/{}", allocation.record.experiment_id, allocation.record.trial_id)
            : "/tasks/" + task;
    out.sample({{"allocation_id", id}, {"task_id", task}, {"task_actor", actor}, {"job_id", job}}, 1);
  }
  out.family("det_gpu_uuid_container_id", "gauge", "The container that uses each GPU.");
  each_share([&](const auto&, const auto& share, const auto& container) {
    const auto agent = cluster.agents().find(share.agent);
    if (agent == cluster.agents().end()) return;
    for (const auto& slot : agent->second.slots)
      if (!slot.uuid.empty() &&
          std::find(share.slots.begin(), share.slots.end(), slot.id) != share.slots.end())
        out.sample({{"gpu_uuid", slot.uuid}, {"container_id", container}}, 1);
  });
  out.family("det_job_id_experiment_id", "gauge", "The experiment of each job.");
  for (const auto& [id, experiment] : cluster.experiments())
    if (!experiment.finished())
      out.sample({{"job_id", experiment.record().job_id}, {"experiment_id", std::to_string(id.value())}}, 1);
  out.family("det_experiment_id_label", "gauge", "The labels of each experiment.");
  for (const auto& [id, experiment] : cluster.experiments()) {
    if (experiment.finished()) continue;
    const std::set<std::string> labels(experiment.record().labels.begin(), experiment.record().labels.end());
    for (const auto& label : labels)
      out.sample({{"experiment_id", std::to_string(id.value())}, {"label", label}}, 1);
  }
  co_await s.ledger.durable();
  co_return text_response(out.take());
}

/// Where exporters on the agents' machines are scraped, as Prometheus discovers targets over HTTP.
asio::awaitable<http::Response> targets(Services& s) {
  json::array list;
  for (const auto& [id, agent] : s.ledger.cluster().agents()) {
    if (!agent.connected) continue;
    const auto found = s.agent_addresses.find(id);
    auto host = found == s.agent_addresses.end() || found->second.empty() ? agent.hostname : found->second;
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    list.push_back(json::object{
        {"targets", json::array{json::value(host + ":8080"), json::value(host + ":9400")}},
        {"labels", json::object{{"det_agent_id", id}, {"det_resource_pool", agent.resource_pool}}}});
  }
  co_await s.ledger.durable();
  co_return http::json_response(json::serialize(list));
}

}  // namespace

void add_prometheus_routes(http::Router& router, Services& s) {
  const auto stored = std::make_shared<StoredCounts>();
  // Tasks and agents may not look, whosever they are.
  const auto for_users = [](auto make) {
    return [make](http::Request, std::any caller) -> asio::awaitable<http::Response> {
      if (const auto user = require_user(caller); !user) co_return http::error_response(user.error());
      co_return co_await make();
    };
  };
  const auto own = for_users([&s, stored] { return metrics(s, stored); });
  router.add_closed_raw(http::Verb::Get, "/metrics", own);
  router.add_closed_raw(http::Verb::Get, "/debug/prom/metrics", own);
  router.add_closed_raw(http::Verb::Get, "/prom/det-state-metrics", for_users([&s] { return state(s); }));
  router.add_closed_raw(http::Verb::Get, "/prom/det-http-sd-config", for_users([&s] { return targets(s); }));
}

}  // namespace det::master
