// What agents call: docs/reference/protocols.md §3.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>

#include "det/base/text.h"
#include "det/master/agents/environment.h"
#include "det/master/logs/log_policies.h"
#include "det/master/services.h"
#include "det/master/tasks/proxy_ports.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct Sync : api::SyncRequest {
  std::string agent_id;
};
BOOST_DESCRIBE_STRUCT(Sync, (api::SyncRequest), (agent_id))
struct Logs : api::LogBatch {
  std::string agent_id;
};
BOOST_DESCRIBE_STRUCT(Logs, (api::LogBatch), (agent_id))

using Clock = std::chrono::steady_clock;

/// Who speaks for an agent's id, and its newest call; an older one that still waits answers at once.
struct Caller {
  std::string session;  ///< of the agent's process
  std::string hostname;
  std::int64_t sequence = 0;
  int waiting = 0;  ///< calls that are not answered yet
  Clock::time_point
      answered;  ///< the last one; at the beginning of time, where its process went away instead
};
constexpr std::size_t kStrangersMax = 100;
using Calls = std::map<std::string, std::shared_ptr<Caller>>;

/// An agent that lives calls again at once, so one that was silent for so long has died with its machine.
constexpr auto kSilence = std::chrono::seconds(cluster::kSilentSeconds);

/// A call while it is answered.
class Visit {
 public:
  Visit(std::string agent, std::shared_ptr<Caller> caller, std::shared_ptr<cluster::Liveness> liveness)
      : agent_(std::move(agent)), caller_(std::move(caller)), liveness_(std::move(liveness)) {
    ++caller_->waiting;
    liveness_->called(agent_, steady_time());
  }
  ~Visit() {
    --caller_->waiting;
    liveness_->answered(agent_, steady_time());
    caller_->answered = answered_ ? Clock::now() : Clock::time_point{};
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  void answered() { answered_ = true; }

 private:
  std::string agent_;
  std::shared_ptr<Caller> caller_;
  std::shared_ptr<cluster::Liveness> liveness_;
  bool answered_ = false;
};

/// Whether the call is of the process that speaks for the id now, or may from now on. Two processes with one
/// id would end each other's trials in turns, so the second is told to take another.
Result<std::shared_ptr<Caller>> caller_of(Calls& calls, const Sync& request) {
  auto& caller = calls[request.agent_id];
  if (caller == nullptr || caller->session != request.session) {
    if (caller != nullptr && (caller->waiting > 0 || Clock::now() - caller->answered < kSilence))
      return fail(
          ErrorCode::AlreadyExists,
          "agent id '{}' is already in use by a connected agent on host {}; give this agent another id with "
          "--agent-id",
          request.agent_id, caller->hostname);
    caller = std::make_shared<Caller>(Caller{.session = request.session, .hostname = request.hostname});
  }
  if (caller->sequence > request.sequence)
    return failed_precondition("sync call {} of agent '{}' arrived after call {}", request.sequence,
                               request.agent_id, caller->sequence);
  caller->sequence = request.sequence;
  return caller;
}

api::SyncReply reply_to(Services& s, const Sync& request) {
  const auto& cluster = s.ledger.cluster();
  api::SyncReply reply{.epoch = cluster.epoch(),
                       .sequence = request.sequence,
                       .version = s.ledger.desired_version(request.agent_id),
                       .lease_milliseconds = cluster::kLeaseSeconds * 1000,
                       .cluster_id = s.cluster_id,
                       .desired = cluster.desired(request.agent_id)};
  for (auto& allocation : reply.desired) {
    allocation.token = s.auth.task_token(allocation.allocation_id);
    allocation.environment = task_environment(s, allocation);
    allocation.run_as = account_of(s, allocation);
  }
  for (const auto& report : request.allocations)
    if (report.state == api::AllocationState::exited &&
        cluster.exit_is_known(report.allocation_id, request.agent_id))
      reply.acknowledged.push_back(report.allocation_id);
  return reply;
}

/// A process that runs one trial after the other tells its environment once, and again where it has changed.
std::vector<store::Change> environment_of(Services& s, const Sync& request, const cluster::Event& event) {
  std::vector<store::Change> changes;
  std::string id;
  if (const auto* started = event.as<cluster::AllocationStarted>()) id = started->allocation_id;
  if (const auto* exited = event.as<cluster::AllocationExited>()) id = exited->allocation_id;
  const auto report = std::ranges::find(request.allocations, id, &api::AllocationReport::allocation_id);
  if (report == request.allocations.end() || report->process_of.empty()) return changes;
  const auto* allocation = s.ledger.cluster().allocation(id);
  if (allocation == nullptr || allocation->record.state >= experiment::AllocationState::Running)
    return changes;
  changes.push_back(store::CopyEnvironment{allocation->record.trial_id, allocation->record.run_id,
                                           report->process_of, s.ledger.now()});
  return changes;
}

asio::awaitable<Result<api::SyncReply>> sync(Services& s, Calls& calls, Context context, Sync request) {
  const auto caller_is = require_agent(context.principal, request.agent_id);
  if (!caller_is) co_return tl::unexpected(caller_is.error());
  if (!caller_is->allotment.empty()) request.resource_pool = caller_is->resource_pool;
  if (!api::is_name(request.agent_id))
    co_return invalid_argument("agent id '{}' is not valid; use letters, digits, '-', '_' and '.'",
                               request.agent_id);
  if (auto wrong = api::problem(request)) co_return tl::unexpected(*std::move(wrong));
  const auto agent = request.agent_id;
  const auto& known = s.ledger.cluster().agents();
  if (calls.size() > known.size() + kStrangersMax)
    std::erase_if(calls, [&](const auto& entry) { return !known.contains(entry.first); });
  const auto caller = caller_of(calls, request);
  if (!caller) co_return tl::unexpected(caller.error());
  Visit visit(agent, *caller, s.liveness);
  s.ledger.ring(Ledger::agent_key(agent));
  for (const auto& report : request.allocations)
    if (!report.addresses.empty()) s.agent_addresses[agent] = report.addresses.front();
  if (!request.user.empty()) s.agent_users[agent] = request.user;
  s.proxies.saw_agent(agent, service_host(s, agent, context.request->remote));

  if (s.ledger.cluster().joins(agent, request)) {
    cluster::Event joined =
        cluster::AgentJoined{agent,         request.resource_pool, request.hostname,   request.version,
                             request.slots, request.label,         request.attributes, caller_is->allotment};
    auto by = "agent " + agent;
    const auto done = co_await s.ledger.handle(std::move(joined), std::move(by));
    if (!done) co_return tl::unexpected(done.error());
  }
  // Another call may have told the same meanwhile: each event is asked for anew.
  while (true) {
    auto news = s.ledger.cluster().news(agent, request);
    if (news.empty()) break;
    auto also = environment_of(s, request, news.front());
    auto by = "agent " + agent;
    if (news.front().as<cluster::AllocationStarted>() != nullptr) {
      const auto done = s.ledger.handle_soon(std::move(news.front()), std::move(also), std::move(by));
      if (!done) co_return tl::unexpected(done.error());
      continue;
    }
    const auto done = co_await s.ledger.handle(std::move(news.front()), std::move(also), std::move(by));
    if (!done) co_return tl::unexpected(done.error());
  }

  if (const auto known_agent = known.find(agent);
      !request.leaving.empty() && known_agent != known.end() && !known_agent->second.leaving) {
    cluster::Event leaves = cluster::AgentLeaving{agent, request.leaving};
    auto by = "agent " + agent;
    const auto done = co_await s.ledger.handle(std::move(leaves), std::move(by));
    if (!done) co_return tl::unexpected(done.error());
  }

  const auto deadline = deadline_after(static_cast<double>(request.wait_milliseconds) / 1000);
  while (true) {
    auto reply = reply_to(s, request);
    const bool superseded = (*caller)->sequence != request.sequence;
    const bool news = reply.epoch != request.known_epoch || reply.version != request.known_version ||
                      !reply.acknowledged.empty();
    if (news || superseded || until(deadline).count() == 0) {
      co_await s.ledger.durable_but_soon();  // it does not say which allocations have started
      visit.answered();
      co_return reply;
    }
    co_await s.ledger.wait(Ledger::agent_key(agent), until(deadline));
  }
}

/// The rank of "[rank=3] text", as launchers of several processes of one slot write, and the text without it.
int take_rank(api::LogEntry& entry) {
  constexpr std::string_view kBegin = "[rank=";
  constexpr int kRankMax = 100'000;
  int rank = 0;
  if (entry.partial || !entry.log.starts_with(kBegin)) return entry.rank;
  const char* end = entry.log.data() + entry.log.size();
  const auto [after, error] = std::from_chars(entry.log.data() + kBegin.size(), end, rank);
  if (error != std::errc() || rank < 0 || rank > kRankMax || end - after < 2 || after[0] != ']' ||
      after[1] != ' ')
    return entry.rank;
  entry.log.erase(0, static_cast<std::size_t>(after + 2 - entry.log.data()));
  return rank;
}

/// "WARNING" of "WARNING: determined: …", which is how Python's loggers write; else what the agent says.
std::string level_of(const api::LogEntry& entry) {
  for (const std::string_view level : {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})
    if (entry.log.starts_with(level) && std::string_view(entry.log).substr(level.size()).starts_with(": "))
      return std::string(level);
  return entry.level;
}

/// Whether the live allocation has a share on the agent.
bool runs_on(Services& s, const std::string& allocation_id, const std::string& agent) {
  const auto* allocation = s.ledger.cluster().allocation(allocation_id);
  return allocation != nullptr && std::ranges::any_of(allocation->record.shares, [&](const auto& share) {
           return share.agent == agent;
         });
}

asio::awaitable<Result<Empty>> logs(Services& s, LogPolicies& policies, Context context, Logs request) {
  const auto caller = require_agent(context.principal, request.agent_id);
  if (!caller) co_return tl::unexpected(caller.error());
  if (!caller->allotment.empty() && !runs_on(s, request.allocation_id, request.agent_id))
    co_return fail(ErrorCode::PermissionDenied, "allocation {} does not run on agent '{}'",
                   request.allocation_id, request.agent_id);
  if (auto wrong = api::problem(static_cast<const api::LogBatch&>(request)))
    co_return tl::unexpected(*std::move(wrong));
  const auto task = request.allocation_id.substr(0, request.allocation_id.rfind('.'));
  std::vector<store::Change> changes;
  store::AddLogs* open = nullptr;
  std::int64_t next = 0;
  for (auto& entry : request.entries) {
    const auto stream = fmt::format("{}/{}/{}", request.allocation_id, entry.rank, entry.stdtype);
    if (open == nullptr || open->stream != stream || next != entry.sequence) {
      changes.push_back(store::AddLogs{.stream = stream, .first_sequence = entry.sequence, .lines = {}});
      open = &std::get<store::AddLogs>(*changes.back());
    }
    next = entry.sequence + 1;
    if (entry.encoding == "base64") {
      auto bytes = base64_decode(entry.log);
      if (!bytes) co_return tl::unexpected(bytes.error());
      entry.log = *std::move(bytes);
    }
    const int rank = take_rank(entry);
    open->lines.push_back({.task_id = task,
                           .allocation_id = request.allocation_id,
                           .agent_id = request.agent_id,
                           .rank = rank,
                           .source = "task",
                           .stdtype = entry.stdtype,
                           .level = level_of(entry),
                           .log = std::move(entry.log),
                           .partial = entry.partial,
                           .timestamp = entry.timestamp});
  }
  // Before the lines are durable: lines that are sent again are looked at again, those that are stored are
  // not.
  auto matched = policies.found(s.ledger.cluster(), request.allocation_id, request.agent_id, changes);
  for (auto& match : matched) {
    cluster::Event event = std::move(match);
    auto by = "agent " + request.agent_id;
    const auto noted = co_await s.ledger.handle(std::move(event), std::move(by));
    if (!noted) break;  // the allocation is over meanwhile
  }
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<http::Response> model_definition(Services& s, http::Request request, std::any principal) {
  const auto caller = require_agent(principal, request.parameters["agentId"]);
  if (!caller) co_return http::error_response(caller.error());
  const auto digest = request.parameters["digest"];
  // A pilot gets what it runs.
  if (!caller->allotment.empty() &&
      std::ranges::none_of(s.ledger.cluster().desired(caller->agent_id),
                           [&](const auto& wanted) { return wanted.model_definition == digest; }))
    co_return http::error_response(
        Error(ErrorCode::PermissionDenied,
              fmt::format("nothing on agent '{}' needs model definition {}", caller->agent_id, digest)));
  auto read = [&s, digest] { return s.store.model_definition(digest); };
  auto archive = co_await offload(s, std::move(read));
  if (!archive)
    co_return http::error_response(
        Error(ErrorCode::NotFound, fmt::format("model definition {} not found", digest)));
  http::Response response;
  response.headers.set("Content-Type", "application/gzip");
  response.body = *std::move(archive);
  co_return response;
}

}  // namespace

void add_agent_routes(http::Router& router, Services& s) {
  const std::string tag = "Agents";
  const auto calls = std::make_shared<Calls>();
  const auto policies = std::make_shared<LogPolicies>();
  router.add<Sync, api::SyncReply>(
      Verb::Post, "/api/v1/agents/{agentId}/sync",
      [&s, calls](Context c, Sync r) { return sync(s, *calls, std::move(c), std::move(r)); },
      Doc{.summary = "Report what an agent runs, and get what it must run", .tag = tag});
  router.add<Logs, Empty>(
      Verb::Post, "/api/v1/agents/{agentId}/logs",
      [&s, policies](Context c, Logs r) { return logs(s, *policies, std::move(c), std::move(r)); },
      Doc{.summary =
              "Store log lines of tasks; they are durable when the call returns, and each is stored once",
          .tag = tag});
  router.add_closed_raw(Verb::Get, "/api/v1/agents/{agentId}/model_definitions/{digest}",
                        [&s](http::Request r, std::any caller) {
                          return model_definition(s, std::move(r), std::move(caller));
                        });
}

}  // namespace det::master
