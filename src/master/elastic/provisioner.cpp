#include "det/master/elastic/provisioner.h"

#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

#include "det/http/offload.h"

namespace det::master {
namespace {

using std::chrono::milliseconds;
using State = elastic::State;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPoll{5'000};          ///< between two lists while something is there
constexpr milliseconds kPollSoon{1'000};      ///< after a submission or a cancellation
constexpr milliseconds kPollTrouble{10'000};  ///< when the engine does not answer
constexpr milliseconds kRest{60'000};         ///< nothing is there: only a request wakes us
constexpr milliseconds kSample{10'000};
constexpr std::size_t kSamplesMax = 2'160;

}  // namespace

struct Provisioner::Pool {
  std::string name;
  std::unique_ptr<Provider> provider;
  asio::thread_pool thread{1};
  std::string trouble;
  std::int64_t calls = 0;
  std::deque<PoolSample> history{};
  std::set<std::string> cancelled{};  ///< jobs that were asked to end
  bool foreign = false;               ///< the engine has jobs of ours that nobody wants
  double budget = 0;                  ///< calls that may be made now besides lists
  Clock::time_point budget_at = Clock::now();

  /// Whether another call, which is no list, may be made now.
  bool may_call() {
    const int limit = provider->calls_per_minute();
    if (limit == 0) return true;
    const double spare = limit - 60'000.0 / static_cast<double>(kPoll.count());  // lists have their own
    const auto now = Clock::now();
    budget = std::min(spare, budget + spare * std::chrono::duration<double>(now - budget_at).count() / 60);
    budget_at = now;
    if (budget < 1) return false;
    budget -= 1;
    return true;
  }
};

Provisioner::Provisioner(asio::any_io_executor strand, Ledger& ledger, const Auth& auth,
                         std::string cluster_id)
    : strand_(std::move(strand)),
      ledger_(ledger),
      auth_(auth),
      prefix_("det-" + cluster_id.substr(0, 8) + "-") {}

Provisioner::~Provisioner() {
  for (auto& [name, pool] : pools_) pool->thread.join();
}

void Provisioner::add(const std::string& name, std::unique_ptr<Provider> provider) {
  auto pool = std::make_unique<Pool>();
  pool->name = name;
  pool->budget = provider->calls_per_minute();
  pool->provider = std::move(provider);
  pools_.emplace(name, std::move(pool));
}

void Provisioner::start() {
  const auto spawn = [this](asio::awaitable<void> work) {
    asio::co_spawn(strand_, std::move(work), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  };
  spawn(forget_strangers());
  spawn(sample());
  for (auto& [name, pool] : pools_) spawn(run(*pool));
}

asio::awaitable<void> Provisioner::sample() {
  Watch watch(ledger_, "samples of pools");
  while (!stopping_) {
    const auto& cluster = ledger_.cluster();
    for (auto& [name, pool] : pools_) {
      PoolSample sample{.time = ledger_.now()};
      const auto state = cluster.elastic_pool(cluster.pool(name));
      int all = 0;
      for (const auto& allotment : state.allotments) all += allotment.nodes;
      sample.nodes_running = static_cast<std::int32_t>(state.nodes.size());
      sample.nodes_requested = std::max(0, all - sample.nodes_running);
      for (const auto& node : state.nodes)
        if (!node.idle_since) sample.slots_used += node.slots - node.free;
      for (const auto& demand : state.demands) sample.slots_waited_for += demand.slots;
      pool->history.push_back(sample);
      if (pool->history.size() > kSamplesMax) pool->history.pop_front();
    }
    co_await watch.wait(kSample);
  }
}

std::vector<PoolSample> Provisioner::history(const std::string& pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return {};
  return {found->second->history.begin(), found->second->history.end()};
}

/// Allotments of pools that have no provider any more: nobody can say what became of them.
asio::awaitable<void> Provisioner::forget_strangers() {
  std::vector<cluster::Event> events;
  for (const auto& [id, allotment] : ledger_.cluster().allotments()) {
    if (pools_.contains(allotment.pool)) continue;
    logging::warn("resource pool {} has no provider any more; look in its engine for {} {}", allotment.pool,
                  name_of(id), allotment.engine_id);
    events.push_back(cluster::AllotmentEnded{id, "the pool has no provider any more"});
  }
  for (auto& event : events) co_await say(std::move(event));
}

std::string Provisioner::trouble(const std::string& pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? "" : found->second->trouble;
}

std::string Provisioner::log_of(const std::string& pool, const std::string& allotment) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? "" : found->second->provider->log_of(name_of(allotment));
}

std::map<std::string, std::int64_t> Provisioner::calls() const {
  std::map<std::string, std::int64_t> calls;
  for (const auto& [name, pool] : pools_) calls[name] = pool->calls;
  return calls;
}

asio::awaitable<void> Provisioner::say(cluster::Event event) {
  const auto done = co_await ledger_.handle(std::move(event));
  if (!done) logging::debug("{}", done.error().message());
}

asio::awaitable<void> Provisioner::run(Pool& pool) {
  Watch watch(ledger_, Ledger::provider_key(pool.name));
  while (!stopping_) {
    const bool changed = co_await round(pool);
    bool any = pool.foreign;
    for (const auto& [id, allotment] : ledger_.cluster().allotments())
      any = any || allotment.pool == pool.name;
    const auto pause = !pool.trouble.empty() ? kPollTrouble : changed ? kPollSoon : any ? kPoll : kRest;
    co_await watch.wait(pause);
  }
}

/// Lists what the engine has, reports what is news, submits and cancels. Returns whether it did either.
asio::awaitable<bool> Provisioner::round(Pool& pool) {
  auto work = [&provider = *pool.provider, prefix = prefix_] { return provider.list(prefix); };
  ++pool.calls;
  auto listed = co_await http::offload(pool.thread, std::move(work));
  if (!listed) {
    if (pool.trouble != listed.error().message())
      logging::warn("resource pool {}: {}", pool.name, listed.error().message());
    pool.trouble = listed.error().message();
    // Whoever waits is told.
    std::vector<cluster::Event> events;
    for (const auto& [id, allotment] : ledger_.cluster().allotments())
      if (allotment.pool == pool.name && allotment.state != State::Releasing &&
          allotment.reason != pool.trouble)
        events.push_back(cluster::AllotmentReported{.id = id,
                                                    .running = allotment.state == State::Running,
                                                    .engine_id = allotment.engine_id,
                                                    .reason = pool.trouble,
                                                    .ends = allotment.ends});
    for (auto& event : events) co_await say(std::move(event));
    co_return false;
  }
  if (!pool.trouble.empty()) logging::info("resource pool {}: the engine answers again", pool.name);
  pool.trouble.clear();

  std::map<std::string, EngineJob> jobs;  // by allotment; the first that lives, where there are several
  std::vector<EngineJob> unwanted;
  for (auto& job : *listed) {
    const auto id = job.name.substr(prefix_.size());
    const auto* allotment = ledger_.cluster().allotment(id);
    if (allotment != nullptr && !job.user.empty() && job.user != account_of(*allotment))
      continue;  // a namesake
    const bool ended = job.state == EngineJob::State::Ended;
    const bool ours = allotment != nullptr && allotment->pool == pool.name &&
                      (allotment->engine_id.empty() ? !ended : allotment->engine_id == job.id);
    if (ours && jobs.emplace(id, job).second && allotment->state != State::Releasing) continue;
    if (!ended) unwanted.push_back(std::move(job));
  }

  std::vector<cluster::Event> events;
  std::vector<std::string> to_submit;
  for (const auto& [id, allotment] : ledger_.cluster().allotments()) {
    if (allotment.pool != pool.name) continue;
    const auto found = jobs.find(id);
    if (found == jobs.end()) {
      if (allotment.state == State::Releasing)
        events.push_back(cluster::AllotmentEnded{id, allotment.why_released});
      else if (allotment.engine_id.empty())
        to_submit.push_back(id);
      else
        events.push_back(
            cluster::AllotmentEnded{id, fmt::format("the engine no longer knows {}", allotment.engine_id)});
      continue;
    }
    const auto& job = found->second;
    const bool running = job.state == EngineJob::State::Running;
    if (job.state == EngineJob::State::Ended)
      events.push_back(cluster::AllotmentEnded{id, job.reason});
    else if (allotment.engine_id != job.id || allotment.reason != job.reason || allotment.ends != job.ends ||
             (allotment.state != State::Releasing && running != (allotment.state == State::Running)))
      events.push_back(cluster::AllotmentReported{
          .id = id, .running = running, .engine_id = job.id, .reason = job.reason, .ends = job.ends});
  }
  for (auto& event : events) co_await say(std::move(event));

  std::erase_if(unwanted, [&](const EngineJob& job) { return pool.cancelled.contains(job.id); });
  pool.foreign = !unwanted.empty() || !pool.cancelled.empty();
  if (unwanted.empty() && !pool.cancelled.empty())
    pool.cancelled.clear();  // asked again, if they are still there
  if (!unwanted.empty() && pool.may_call()) {
    for (const auto& job : unwanted) pool.cancelled.insert(job.id);
    auto cancel = [&provider = *pool.provider, unwanted] { return provider.cancel(unwanted); };
    ++pool.calls;
    const auto done = co_await http::offload(pool.thread, std::move(cancel));
    if (!done) logging::warn("resource pool {}: {}", pool.name, done.error().message());
  }

  bool changed = !unwanted.empty();
  if (!to_submit.empty()) co_await ledger_.durable();  // else a crash could give their ids again
  for (const auto& id : to_submit) {
    if (stopping_ || !pool.may_call()) break;
    co_await submit(pool, id);
    changed = true;
  }
  co_return changed;
}

std::string Provisioner::account_of(const elastic::Allotment& allotment) const {
  if (allotment.owner.empty()) return "";
  const auto found = auth_.users().find(UserId(std::stoll(allotment.owner)));
  if (found == auth_.users().end()) return "";
  const auto& linked = found->second.agent_user_group;
  return linked && linked->agent_user ? *linked->agent_user : found->second.username;
}

asio::awaitable<void> Provisioner::submit(Pool& pool, std::string id) {
  const auto* allotment = ledger_.cluster().allotment(id);
  if (allotment == nullptr || allotment->state == State::Releasing || !allotment->engine_id.empty())
    co_return;
  EngineRequest request{
      .name = name_of(id), .id = id, .nodes = allotment->nodes, .token = auth_.pilot_token(id)};
  request.task = allotment->task;
  request.owner = account_of(*allotment);
  auto work = [&provider = *pool.provider, request] { return provider.submit(request); };
  ++pool.calls;
  auto done = co_await http::offload(pool.thread, std::move(work));
  cluster::Event event;
  if (done) {
    logging::info("resource pool {}: asked for {} node(s) as {} ({})", pool.name, request.nodes, request.name,
                  *done);
    const auto* now = ledger_.cluster().allotment(id);  // its agent may have joined already
    const bool running = now != nullptr && now->state == State::Running;
    event = cluster::AllotmentReported{.id = id, .running = running, .engine_id = *done};
  } else if (done.error().code() == ErrorCode::Unavailable) {
    allotment = ledger_.cluster().allotment(id);
    if (allotment == nullptr || allotment->reason != done.error().message())
      logging::warn("resource pool {}: {}", pool.name, done.error().message());
    event = cluster::AllotmentReported{.id = id, .reason = done.error().message()};
  } else {
    logging::error("resource pool {}: {}", pool.name, done.error().message());
    event = cluster::AllotmentEnded{id, done.error().message()};
  }
  co_await say(std::move(event));
}

}  // namespace det::master
