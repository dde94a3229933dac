// What the processes of unmanaged trials say while they run.

#include "det/http/offload.h"
#include "det/master/objects.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using experiment::State;

constexpr std::size_t kGroupsMax =
    256;  // of a trial; those beyond are compared with what is stored, each time

}  // namespace

Result<void> Unmanaged::check_newest(const Trial& trial, std::int64_t run) {
  if (run == 0 || run == trial.record.run_id) return {};
  return fail(ErrorCode::AlreadyExists, "run {} of trial {} cannot report: run {} has replaced it", run,
              trial.record.id, trial.record.run_id);
}

asio::awaitable<Result<void>> Unmanaged::heard(TrialId id, std::optional<State> state, std::string error,
                                               std::int64_t run) {
  const auto known = co_await open(id);
  if (!known) co_return tl::unexpected(known.error());
  if (auto newest = check_newest(*known->trial, run); !newest) co_return tl::unexpected(newest.error());
  const auto found = co_await alive(id);
  if (!found) co_return tl::unexpected(found.error());
  auto& trial = *found->trial;
  const auto before = trial.record.state;
  Changes changes;
  if (state && *state == State::Active) {
    trial.record.state = State::Active;
    trial.record.error.clear();
    trial.record.end_time.reset();
  } else if (state && (!experiment::is_terminal(before) || *state != before)) {
    if (*state == State::Error && error.empty()) error = "its process reported a failure";
    end(trial, *state, error, changes);
  }
  if (!state && !found->revived) co_return Result<void>{};  // a heartbeat, as expected
  co_await write(found->experiment->record.id, id, std::move(changes));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Unmanaged::progressed(TrialId id, double progress) {
  const auto found = co_await alive(id);
  if (!found) co_return tl::unexpected(found.error());
  found->trial->progress = progress;
  const auto row = found->revived ? std::optional(id) : std::nullopt;
  Changes nothing;
  co_await write(found->experiment->record.id, row, std::move(nothing));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Unmanaged::set_hparams(TrialId id, json::object hparams) {
  const auto found = co_await alive(id);
  if (!found) co_return tl::unexpected(found.error());
  found->trial->record.hparams = std::move(hparams);
  Changes nothing;
  co_await write(found->experiment->record.id, id, std::move(nothing));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Unmanaged::runner_state(TrialId id, std::string state) {
  const auto found = co_await alive(id);
  if (!found) co_return tl::unexpected(found.error());
  found->trial->record.runner_state = std::move(state);
  Changes nothing;
  co_await write(found->experiment->record.id, id, std::move(nothing));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Unmanaged::report(experiment::MetricRecord record) {
  const auto id = record.trial_id;
  auto found = co_await open(id);
  if (!found) co_return tl::unexpected(found.error());
  if (found->trial->record.run_id == 0)
    co_return failed_precondition("trial {} is not started; call POST /api/v1/trials/{}/start first", id, id);
  if (auto newest = check_newest(*found->trial, record.run_id); !newest)
    co_return tl::unexpected(newest.error());
  record.run_id = found->trial->record.run_id;
  const auto& groups = found->trial->newest;
  const auto known = groups.find(record.group);
  if (known == groups.end() || record.batches <= known->second) {
    auto read = [this, record] { return store_.check_metrics(record); };
    const auto fits = co_await http::offload(pool_, std::move(read));
    if (!fits) co_return tl::unexpected(fits.error());
    found = co_await open(id);
    if (!found) co_return tl::unexpected(found.error());
    if (auto newest = check_newest(*found->trial, record.run_id); !newest)
      co_return tl::unexpected(newest.error());
  }
  found = co_await alive(id);  // at once: it is open
  if (!found) co_return tl::unexpected(found.error());
  auto& trial = *found->trial;
  if (trial.newest.contains(record.group) || trial.newest.size() < kGroupsMax) {
    auto& newest = trial.newest[record.group];
    newest = std::max(newest, record.batches);
  }
  if (record.group == "training") trial.record.batches = std::max(trial.record.batches, record.batches);
  if (record.group == "validation")
    if (const auto value = value_of(record, found->experiment->metric)) {
      auto& best = trial.record.best_metric;
      if (!best || better(*value, *best, found->experiment->smaller_is_better)) best = *value;
    }
  Changes changes;
  changes.push_back(store::AddMetrics{std::move(record)});
  co_await write(found->experiment->record.id, id, std::move(changes));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Unmanaged::checkpoint(TrialId id, experiment::CheckpointRecord record) {
  const auto known = co_await open(id);
  if (!known) co_return tl::unexpected(known.error());
  const auto& stored = known->trial->record;
  if (const auto newest = fmt::format("{}.{}", stored.task_id, stored.run_id);
      record.allocation_id.starts_with(stored.task_id + ".") && record.allocation_id != newest)
    co_return fail(ErrorCode::AlreadyExists,
                   "run {} of trial {} cannot save checkpoint {}: run {} has replaced it",
                   record.allocation_id.substr(stored.task_id.size() + 1), id, record.uuid, stored.run_id);
  const auto found = co_await alive(id);  // at once: it is open
  if (!found) co_return tl::unexpected(found.error());
  auto& trial = found->trial->record;
  const auto newest = fmt::format("{}.{}", trial.task_id, trial.run_id);
  record.experiment_id = trial.experiment_id;
  record.trial_id = id;
  record.task_id = trial.task_id;
  record.allocation_id = newest;
  trial.latest_checkpoint = record.uuid;
  trial.batches = std::max(trial.batches, record.batches);
  Changes changes;
  changes.push_back(store::PutCheckpoint{std::move(record)});
  co_await write(found->experiment->record.id, id, std::move(changes));
  co_return Result<void>{};
}

asio::awaitable<Result<std::int64_t>> Unmanaged::newest_run(TrialId id) {
  const auto found = co_await open(id);
  if (!found) co_return tl::unexpected(found.error());
  co_return found->trial->record.run_id;
}

asio::awaitable<Result<std::optional<double>>> Unmanaged::best(ExperimentId id) {
  const auto found = co_await open(id);
  if (!found) co_return tl::unexpected(found.error());
  std::optional<double> best;
  for (const auto& [trial_id, trial] : (*found)->trials) {
    const auto& metric = trial.record.best_metric;
    if (metric && (!best || better(*metric, *best, (*found)->smaller_is_better))) best = metric;
  }
  co_return best;
}

}  // namespace det::master
