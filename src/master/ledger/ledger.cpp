#include "det/master/ledger/ledger.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>

namespace det::master {
namespace {

constexpr std::int64_t kEventsPerSnapshot = 20'000;
constexpr std::int64_t kEventsPerRead = 5'000;
constexpr std::chrono::milliseconds kSoon{5};

/// Whether pages that show agents, tasks or the queue may look different afterwards. What trials report is
/// most of all events, and changes no more than their progress.
bool changes_what_runs(const cluster::Event& event) {
  return event.as<cluster::TrialProgressed>() == nullptr &&
         event.as<cluster::ValidationReported>() == nullptr &&
         event.as<cluster::CheckpointReported>() == nullptr &&
         event.as<cluster::OperationCompleted>() == nullptr;
}

/// The keys of what the rows add to.
std::vector<std::string> keys_of(const std::vector<store::Change>& changes) {
  std::set<std::string> keys;
  for (const auto& change : changes) {
    if (const auto* metrics = std::get_if<store::AddMetrics>(&*change))
      keys.insert(Ledger::metric_key(metrics->record.trial_id));
    else if (const auto* lines = std::get_if<store::AddLogs>(&*change); lines && !lines->lines.empty())
      keys.insert(Ledger::task_log_key(lines->lines.front().task_id));
    else if (const auto* own = std::get_if<store::AddOwnLogs>(&*change))
      for (const auto& line : own->lines) keys.insert(Ledger::task_log_key(line.task_id));
  }
  return {keys.begin(), keys.end()};
}

experiment::LogRecord own_line(const cluster::LogNote& note, Time now) {
  return {.id = 0,
          .task_id = note.task_id,
          .allocation_id = note.allocation_id,
          .source = "master",
          .stdtype = "stdout",
          .level = "INFO",
          .log = note.text,
          .timestamp = now};
}

}  // namespace

Watch::Watch(Ledger& ledger, std::vector<std::string> keys) : all_(ledger.watches_), timer_(ledger.strand_) {
  for (auto& key : keys) at_.push_back(all_->emplace(std::move(key), this));
}

Watch::~Watch() {
  for (const auto at : at_) all_->erase(at);
}

asio::awaitable<void> Watch::wait(std::chrono::milliseconds limit) {
  if (!std::exchange(rung_, false)) {
    timer_.expires_after(limit);
    boost::system::error_code ended;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    rung_ = false;
  }
}

void Ledger::Calls::call(std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(function));
  if (calls_.size() == 1) asio::post(strand_, [self = shared_from_this()] { self->make(); });
}

void Ledger::Calls::make() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (const auto& function : calls) function();
}

Ledger::Ledger(asio::any_io_executor strand, store::Store& store, Clock clock)
    : strand_(std::move(strand)),
      store_(store),
      clock_(std::move(clock)),
      durable_(std::make_shared<Calls>(strand_)),
      soon_timer_(strand_) {}

Ledger::~Ledger() {
  if (!soon_.changes.empty()) store_.commit(std::move(soon_.changes), [] {});
}

Time Ledger::now() {
  last_ = std::max(last_, clock_());
  return last_;
}

Result<void> Ledger::restore(cluster::Pools pools) {
  if (auto snapshot = store_.latest_snapshot()) {
    DET_TRY(cluster_, cluster::Cluster::restore(snapshot->body));
    sequence_ = snapshot_sequence_ = snapshot->sequence;
  }
  while (true) {
    const auto events = store_.events_after(sequence_, kEventsPerRead);
    if (events.empty()) break;
    for (const auto& event : events) {
      DET_TRY(const auto known, remembered(event.body));
      const auto outcome = cluster_.handle(known.event, event.time);
      if (outcome.refused)
        return fail(ErrorCode::Internal,
                    "event {} was accepted when it was stored, but is refused on replay: {}", event.sequence,
                    outcome.refused->message());
      sequence_ = event.sequence;
      last_ = std::max(last_, event.time);
    }
  }
  const auto last = store_.last_ids();
  const cluster::Event started = cluster::MasterStarted{cluster_.epoch() + 1, std::move(pools),
                                                        last.experiment.value() + 1, last.trial.value() + 1};
  const auto time = now();
  auto outcome = cluster_.handle(started, time);
  auto changes = rows(outcome.effects, time);
  changes.push_back(store::AppendEvent{{++sequence_, time, to_remember("master", started)}});
  const auto then = add_to(changes);
  store_.commit(std::move(changes), [] {});
  store_.flush();
  for (const auto& go_on : then) go_on();
  if (sequence_ - snapshot_sequence_ > 1000) save_snapshot();
  return {};
}

std::vector<ExperimentId> Ledger::awaiting_collection() const {
  std::vector<ExperimentId> ids;
  for (const auto& [id, experiment] : cluster_.experiments())
    if (experiment.finished()) ids.push_back(id);
  return ids;
}

std::vector<store::Change> Ledger::rows(const std::vector<cluster::Effect>& effects, Time now) const {
  std::vector<store::Change> changes;
  for (const auto& effect : effects) {
    if (const auto* e = std::get_if<cluster::PutExperiment>(&effect))
      changes.push_back(store::PutExperiment{e->record});
    else if (const auto* t = std::get_if<cluster::PutTrial>(&effect))
      changes.push_back(store::PutTrial{t->record});
    else if (const auto* a = std::get_if<cluster::PutAllocation>(&effect))
      changes.push_back(store::PutAllocation{a->record});
    else if (const auto* c = std::get_if<cluster::PutCheckpoint>(&effect))
      changes.push_back(store::PutCheckpoint{c->record});
    else if (const auto* p = std::get_if<cluster::PutTask>(&effect))
      changes.push_back(store::PutTask{p->record});
    else if (const auto* f = std::get_if<cluster::PutSearch>(&effect))
      changes.push_back(store::PutSearch{f->id, f->search});
    else if (const auto* o = std::get_if<cluster::PutUnmanaged>(&effect))
      changes.push_back(store::PutUnmanaged{{o->experiment, o->trial, o->external_id}});
    else if (const auto* r = std::get_if<cluster::RewindTrial>(&effect))
      changes.push_back(store::RewindTrial{r->trial, r->run_id, r->batches});
    else if (const auto* n = std::get_if<cluster::LogNote>(&effect))
      changes.push_back(store::AddOwnLogs{{own_line(*n, now)}});
  }
  return changes;
}

json::value to_remember(const std::string& by, const cluster::Event& event) {
  return json::object{{"by", by}, {"event", json::to_json(event)}};
}

Result<RememberedEvent> remembered(const json::value& body) {
  const auto* whole = body.if_object();
  const auto* inner = whole == nullptr ? nullptr : whole->if_contains("event");
  const auto* by = whole == nullptr ? nullptr : whole->if_contains("by");
  DET_TRY(auto event, json::from_json<cluster::Event>(inner == nullptr ? body : *inner));
  return RememberedEvent{by != nullptr && by->is_string() ? std::string(by->get_string()) : "",
                         std::move(event)};
}

asio::awaitable<Result<Ledger::Handled>> Ledger::handle(cluster::Event event, std::vector<store::Change> also,
                                                        std::string by) {
  const auto time = now();
  auto outcome = cluster_.handle(event, time);
  if (outcome.refused) co_return tl::unexpected(*std::move(outcome.refused));
  auto changes = remember(outcome, event, time, std::move(also), by);
  co_await commit(std::move(changes), std::move(outcome.effects));
  if (changes_what_runs(event)) ring(cluster_key());
  co_return Handled{outcome.experiment, outcome.trial};
}

asio::awaitable<Result<Ledger::Handled>> Ledger::handle(cluster::Event event, std::string by) {
  std::vector<store::Change> nothing;
  co_return co_await handle(std::move(event), std::move(nothing), std::move(by));
}

Result<void> Ledger::handle_soon(cluster::Event event, std::vector<store::Change> also, std::string by) {
  const auto time = now();
  auto outcome = cluster_.handle(event, time);
  if (outcome.refused) return tl::unexpected(*std::move(outcome.refused));
  auto changes = remember(outcome, event, time, std::move(also), by);
  auto then = add_to(changes);
  const bool first = soon_.done.empty();
  std::ranges::move(changes, std::back_inserter(soon_.changes));
  soon_.done.push_back(
      [this, then = std::move(then), effects = std::move(outcome.effects), shown = changes_what_runs(event)] {
        for (const auto& next : then) next();
        act(effects);
        if (shown) ring(cluster_key());
      });
  if (!first) return {};
  soon_timer_.expires_after(kSoon);
  soon_timer_.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled && !soon_.done.empty()) queue({}, [] {});
  });
  return {};
}

std::vector<store::Change> Ledger::remember(cluster::Outcome& outcome, const cluster::Event& event, Time time,
                                            std::vector<store::Change> also, const std::string& by) {
  auto changes = rows(outcome.effects, time);
  changes.push_back(store::AppendEvent{{++sequence_, time, to_remember(by, event)}});
  std::ranges::move(also, std::back_inserter(changes));
  note_versions(outcome.effects);
  return changes;
}

std::vector<std::function<void()>> Ledger::add_to(std::vector<store::Change>& changes) const {
  std::vector<std::function<void()>> then;
  for (const auto& add : on_commit_)
    if (auto go_on = add(changes)) then.push_back(std::move(go_on));
  return then;
}

void Ledger::act(const std::vector<cluster::Effect>& effects) {
  for (const auto& effect : effects) {
    if (const auto* agent = std::get_if<cluster::WakeAgent>(&effect))
      ring(agent_key(agent->agent));
    else if (const auto* search = std::get_if<cluster::WakeSearch>(&effect))
      ring(search_key(search->id));
    else if (const auto* trial = std::get_if<cluster::WakeTrial>(&effect))
      ring(trial_key(trial->trial));
    else if (const auto* allocation = std::get_if<cluster::WakeAllocation>(&effect)) {
      ring(allocation_key(allocation->allocation));
      if (const auto* found = cluster_.allocation(allocation->allocation);
          found != nullptr && found->of_trial())
        ring(trial_key(found->record.trial_id));  // it may wait for operations
    } else if (const auto* put = std::get_if<cluster::PutExperiment>(&effect)) {
      ring(experiment_key(put->record.id));
      ring(experiments_key());
    } else if (const auto* trial_row = std::get_if<cluster::PutTrial>(&effect)) {
      ring(experiment_key(trial_row->record.experiment_id));
      ring(experiments_key());
      // Who follows the trial's log or metrics learns from it that no more will come.
      ring(task_log_key(trial_row->record.task_id));
      ring(metric_key(trial_row->record.id));
    } else if (const auto* task_row = std::get_if<cluster::PutTask>(&effect)) {
      ring(task_key(task_row->record.id));
      ring(task_log_key(task_row->record.id));
    } else if (const auto* allocation_row = std::get_if<cluster::PutAllocation>(&effect)) {
      act(*allocation_row);
    } else if (const auto* provider = std::get_if<cluster::WakeProvider>(&effect)) {
      ring(provider_key(provider->pool));
    } else if (const auto* collect = std::get_if<cluster::CollectCheckpoints>(&effect)) {
      if (collect_) collect_(collect->id);
    }
  }
}

void Ledger::act(const cluster::PutAllocation& put) {
  if (put.record.trial_id) {  // whether it waits, starts or runs is shown as the state of both
    ring(experiment_key(put.record.experiment_id));
    ring(experiments_key());
    ring(metric_key(put.record.trial_id));
  }
  if (put.record.state != experiment::AllocationState::Terminated) return;
  ring(trial_key(put.record.trial_id));  // whoever of it waits for operations is told that it is over
  for (const auto& forget : forget_allocation_) forget(put.record.id);
}

// One counter for all, so that a version is never used twice even for an agent that was forgotten between.
void Ledger::note_versions(const std::vector<cluster::Effect>& effects) {
  for (const auto& effect : effects)
    if (const auto* wake = std::get_if<cluster::WakeAgent>(&effect)) versions_[wake->agent] = ++version_;
  if (versions_.size() > cluster_.agents().size())
    std::erase_if(versions_, [&](const auto& entry) { return !cluster_.agents().contains(entry.first); });
}

asio::awaitable<void> Ledger::write(std::vector<store::Change> changes) {
  std::vector<cluster::Effect> nothing;
  co_await commit(std::move(changes), std::move(nothing));
}

asio::awaitable<void> Ledger::durable() {
  if (done_ == queued_ && soon_.done.empty()) co_return;
  std::vector<store::Change> nothing;
  co_await write(std::move(nothing));
}

asio::awaitable<void> Ledger::durable_but_soon() {
  if (done_ == queued_) co_return;
  auto begin = [this](auto handler) {
    auto resume = std::make_shared<decltype(handler)>(std::move(handler));
    store_.commit({}, [resume, durable = durable_] { durable->call([resume] { std::move (*resume)(); }); });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(begin), asio::use_awaitable);
}

/// Together with what waits for the next commit.
void Ledger::queue(std::vector<store::Change> changes, std::function<void()> done) {
  soon_timer_.cancel();
  auto soon = std::exchange(soon_, {});
  std::ranges::move(changes, std::back_inserter(soon.changes));
  store_.commit(std::move(soon.changes),
                [told = std::move(soon.done), done = std::move(done), durable = durable_] {
                  for (const auto& tell : told) durable->call(tell);
                  done();
                });
}

// The effects are acted upon when the commit is durable, whether or not the
// caller is still there: a client that hangs up takes nothing back.
asio::awaitable<void> Ledger::commit(std::vector<store::Change> changes,
                                     std::vector<cluster::Effect> effects) {
  auto begin = [this](auto handler, std::vector<store::Change> batch, std::vector<cluster::Effect> then) {
    struct Pending {
      decltype(handler) resume;
      std::vector<cluster::Effect> effects;
      std::vector<std::string> keys;
      std::vector<std::function<void()>> go_on;
      std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    };
    auto keys = keys_of(batch);
    auto pending = std::make_shared<Pending>(
        Pending{std::move(handler), std::move(then), std::move(keys), add_to(batch)});
    ++queued_;
    queue(std::move(batch), [this, pending, durable = durable_] {
      const auto took = std::chrono::steady_clock::now() - pending->begun;
      durable->call([this, pending, took] {
        ++done_;
        if (on_durable_) on_durable_(took);
        for (const auto& next : pending->go_on) next();
        for (const auto& key : pending->keys) ring(key);
        act(pending->effects);
        std::move(pending->resume)();
      });
    });
    if (sequence_ - snapshot_sequence_ >= kEventsPerSnapshot) save_snapshot();
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      std::move(begin), asio::use_awaitable, std::move(changes), std::move(effects));
}

asio::awaitable<void> Ledger::wait(std::string key, std::chrono::milliseconds limit) {
  Watch watch(*this, std::move(key));
  co_await watch.wait(limit);
}

void Ledger::ring(const std::string& key) {
  const auto [first, last] = watches_->equal_range(key);
  for (auto it = first; it != last; ++it) {
    it->second->rung_ = true;
    it->second->rang_.insert(key);
    it->second->timer_.cancel();
  }
}

std::int64_t Ledger::desired_version(const std::string& agent) const {
  const auto found = versions_.find(agent);
  return found == versions_.end() ? 0 : found->second;
}

void Ledger::save_snapshot() {
  snapshot_sequence_ = sequence_;
  std::vector<store::Change> changes;
  changes.push_back(store::SaveSnapshot{{sequence_, cluster_.snapshot()}});
  queue(std::move(changes), [] {});
}

}  // namespace det::master
