#include "det/master/checkpoints/collector.h"

#include <fnmatch.h>
#include "det/logging/log.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <filesystem>

#include "det/checkpoint/gc.h"
#include "det/checkpoint/storage.h"
#include "det/checkpoint/tensorboard_files.h"
#include "det/config/experiment_config.h"
#include "det/http/offload.h"
#include "det/master/checkpoints/experiment_storages.h"

namespace det::master {
namespace {

using experiment::CheckpointRecord;

void log_failure(std::exception_ptr failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    logging::error("cannot delete unneeded checkpoints: {}", error.what());
  }
}

/// Whether `glob` names the file: * and ? stay within a directory, **/ is any number of directories.
bool matches_glob(const std::string& glob, const std::string& name) {
  if (!glob.starts_with("**/")) return ::fnmatch(glob.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  const auto rest = glob.substr(3);
  if (matches_glob(rest, name)) return true;
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (matches_glob(rest, name.substr(slash + 1))) return true;
  return false;
}

Result<void> remove_event_files(store::Store& store, const experiment::ExperimentRecord& record) {
  DET_TRY(const auto config, config::from_document(record.config));
  return checkpoint::remove_tensorboard_files(config.checkpoint_storage, store.setting("cluster_id").value(),
                                              record.id.value());
}

}  // namespace

std::set<std::string> Collector::needed() const {
  std::set<std::string> uuids(held_->begin(), held_->end());
  for (const auto& [id, experiment] : ledger_.cluster().experiments())
    for (const auto& [trial_id, trial] : experiment.trials()) {
      uuids.insert(trial.record.warm_start_checkpoint);
      if (!experiment.finished()) uuids.insert(trial.record.latest_checkpoint);
    }
  for (const auto& uuid : registry_.checkpoints()) uuids.insert(uuid);
  return uuids;
}

std::optional<std::string> Collector::need_of(const std::string& uuid) const {
  if (auto use = registry_.use_of(uuid)) return use;
  if (auto need = also_needed_ ? also_needed_(uuid) : std::nullopt) return need;
  for (const auto& [id, experiment] : ledger_.cluster().experiments())
    for (const auto& [trial_id, trial] : experiment.trials()) {
      if (trial.record.warm_start_checkpoint == uuid)
        return fmt::format("the checkpoint from which trial {} of experiment {} starts", trial_id, id);
      if (trial.record.latest_checkpoint == uuid && !experiment::is_terminal(trial.record.state))
        return fmt::format("the latest checkpoint of trial {}, which is not finished and will resume from it",
                           trial_id);
    }
  if (held_->contains(uuid)) return "about to be used by another request";
  return std::nullopt;
}

std::shared_ptr<Collector::Hold> Collector::hold(const std::string& uuid) {
  if (being_deleted_.contains(uuid)) return nullptr;
  return std::make_shared<Hold>(held_, uuid);
}

std::vector<CheckpointRecord> collectable(store::Store& store, const experiment::ExperimentRecord& record,
                                          const std::set<std::string>& pinned) {
  const auto config = config::from_document(record.config);
  if (!config) return {};
  std::map<TrialId, std::map<std::int64_t, double>> metric_at;
  for (const auto& trial : store.trials(record.id))
    for (const auto& report : store.metrics({.trial = trial.id, .group = "validation"}))
      if (const auto* value = report.avg_metrics.if_contains(config->searcher.metric))
        if (const auto number = json::to_double(*value)) metric_at[trial.id][report.batches] = *number;
  std::map<std::string, CheckpointRecord> by_uuid;
  std::vector<checkpoint::Candidate> candidates;
  std::int64_t sequence = 0;
  for (const auto& checkpoint : store.checkpoints_of_experiment(record.id)) {
    if (checkpoint.state != experiment::CheckpointState::Completed) continue;
    checkpoint::Candidate candidate{
        .uuid = checkpoint.uuid, .trial = checkpoint.trial_id, .sequence = sequence++};
    const auto& metrics = metric_at[checkpoint.trial_id];
    if (const auto found = metrics.find(checkpoint.batches); found != metrics.end())
      candidate.metric = found->second;
    candidate.pinned = pinned.contains(checkpoint.uuid);
    candidates.push_back(std::move(candidate));
    by_uuid.emplace(checkpoint.uuid, checkpoint);
  }
  const auto& storage = config->checkpoint_storage;
  const checkpoint::Retention retention{.experiment_best = storage.save_experiment_best,
                                        .trial_best = storage.save_trial_best,
                                        .trial_latest = storage.save_trial_latest};
  std::vector<CheckpointRecord> chosen;
  for (const auto& uuid : checkpoint::to_delete(candidates, retention, config->searcher.smaller_is_better))
    chosen.push_back(by_uuid.at(uuid));
  return chosen;
}

Collector::Collector(asio::any_io_executor strand, Ledger& ledger, store::Store& store,
                     const Registry& registry, asio::thread_pool& pool)
    : strand_(std::move(strand)), ledger_(ledger), store_(store), registry_(registry), pool_(pool) {}

void Collector::collect(ExperimentId id) {
  // Not by a destructor inside the coroutine: its frame may outlive this object when all ends.
  const auto done = [this, id](std::exception_ptr failure) {
    at_work_.erase(id);
    log_failure(std::move(failure));
  };
  if (at_work_.insert(id).second) asio::co_spawn(strand_, collect_now(id), done);
}

void Collector::delete_experiment(experiment::ExperimentRecord record) {
  to_delete_.insert(record.id);
  asio::co_spawn(strand_, delete_now(std::move(record)), log_failure);
}

asio::awaitable<Result<void>> Collector::remove(std::vector<CheckpointRecord> checkpoints, Needed needed,
                                                Files files) {
  std::vector<store::Change> changes;
  std::vector<std::string> marked;
  ExperimentStorages storages(store_);
  const bool can_come_back = files == Files::AsConfigured && undo_seconds_ > 0;
  Result<void> result;
  for (auto& checkpoint : checkpoints) {
    if (const auto need = need_of(checkpoint.uuid)) {
      if (needed == Needed::Skip) continue;
      result = failed_precondition("checkpoint {} cannot be deleted: it is {}", checkpoint.uuid, *need);
      break;
    }
    // From here to the row of its deletion nobody can begin to need it.
    if (being_deleted_.insert(checkpoint.uuid).second) marked.push_back(checkpoint.uuid);
    if (can_come_back) {
      changes.push_back(store::PutDeletion{{.uuid = checkpoint.uuid,
                                            .experiment_id = checkpoint.experiment_id,
                                            .state = checkpoint.state,
                                            .resources = checkpoint.resources,
                                            .due = undo_until()}});
    } else {
      auto work = [&storages, &checkpoint] {
        return storages.delete_files(checkpoint.experiment_id, checkpoint.uuid);
      };
      result = co_await http::offload(pool_, std::move(work));
      if (!result) break;
      changes.push_back(store::EndDeletion{checkpoint.uuid});
    }
    checkpoint.state = experiment::CheckpointState::Deleted;
    checkpoint.resources.clear();
    changes.push_back(store::PutCheckpoint{checkpoint});
  }
  co_await ledger_.write(std::move(changes));
  for (const auto& uuid : marked) being_deleted_.erase(uuid);
  co_return result;
}

asio::awaitable<Result<void>> Collector::remove_files(CheckpointRecord checkpoint,
                                                      std::vector<std::string> globs) {
  if (!being_deleted_.insert(checkpoint.uuid).second)
    co_return failed_precondition("checkpoint {} is being deleted", checkpoint.uuid);
  auto work = [this, checkpoint, globs]() -> Result<checkpoint::Resources> {
    const auto record = store_.experiment(checkpoint.experiment_id);
    if (!record) return not_found("experiment {} not found", checkpoint.experiment_id);
    DET_TRY(const auto config, config::from_document(record->config));
    DET_TRY(const auto storage, checkpoint::open_storage(config.checkpoint_storage));
    std::vector<std::string> names;
    for (const auto& [name, bytes] : checkpoint.resources)
      for (const auto& glob : globs)
        if (matches_glob(glob, name)) names.push_back(name);
    return storage->remove_files(checkpoint.uuid, names);
  };
  auto left = co_await http::offload(pool_, std::move(work));
  if (left) {
    const auto before = checkpoint.resources.size();
    checkpoint.resources = *std::move(left);
    const bool empty =
        std::ranges::all_of(checkpoint.resources, [](const auto& r) { return r.first.ends_with('/'); });
    if (empty) checkpoint.resources.clear();
    if (empty || checkpoint.resources.size() < before)
      checkpoint.state =
          empty ? experiment::CheckpointState::Deleted : experiment::CheckpointState::PartiallyDeleted;
    std::vector<store::Change> changes;
    changes.push_back(store::PutCheckpoint{checkpoint});
    co_await ledger_.write(std::move(changes));
  }
  being_deleted_.erase(checkpoint.uuid);
  if (!left) co_return tl::unexpected(left.error());
  co_return Result<void>{};
}

asio::awaitable<void> Collector::collect_now(ExperimentId id) {
  const auto* experiment = ledger_.cluster().experiment(id);
  if (experiment == nullptr) co_return;
  auto keep = needed();
  auto choose = [this, record = experiment->record(), keep] { return collectable(store_, record, keep); };
  auto chosen = co_await http::offload(pool_, std::move(choose));
  const auto count = chosen.size();
  const auto removed = co_await remove(std::move(chosen), Needed::Skip);
  if (!removed)
    logging::warn("experiment {}: a checkpoint could not be deleted and is kept: {}", id,
                  removed.error().message());
  else if (count > 0)
    logging::info("experiment {}: deleted {} checkpoints that its policy does not keep", id, count);
  if (const auto gone = co_await remove_begun(id); !gone)
    logging::warn("experiment {}: cannot delete an unfinished checkpoint; the files are kept for now: {}", id,
                  gone.error().message());
  cluster::Event done = cluster::CheckpointsCollected{id};
  co_await ledger_.handle(std::move(done));
  ledger_.ring(Ledger::experiment_key(id));
}

asio::awaitable<void> Collector::delete_now(experiment::ExperimentRecord record) {
  auto list = [this, id = record.id] {
    std::set<std::string> still_there;
    for (const auto& deletion : store_.deletions_of_experiment(id)) still_there.insert(deletion.uuid);
    auto all = store_.checkpoints_of_experiment(id);
    std::erase_if(all, [&](const auto& checkpoint) {
      return checkpoint.state == experiment::CheckpointState::Deleted &&
             !still_there.contains(checkpoint.uuid);
    });
    return all;
  };
  auto all = co_await http::offload(pool_, std::move(list));
  auto removed = co_await remove(std::move(all), Needed::Refuse, Files::Now);
  if (removed) removed = co_await remove_begun(record.id);
  if (removed) removed = co_await remove_tensorboard_files(record);
  std::vector<store::Change> changes;
  if (removed) {
    changes.push_back(store::DeleteExperiment{record.id});
  } else {
    record.state = experiment::State::DeleteFailed;
    record.error = removed.error().message();
    logging::warn("experiment {} could not be deleted: {}", record.id, record.error);
    changes.push_back(store::PutExperiment{record});
  }
  co_await ledger_.write(std::move(changes));
  to_delete_.erase(record.id);
  ledger_.ring(Ledger::experiment_key(record.id));
}

asio::awaitable<Result<void>> Collector::remove_tensorboard_files(experiment::ExperimentRecord record) {
  auto work = [this, record = std::move(record)] { return remove_event_files(store_, record); };
  co_return co_await http::offload(pool_, std::move(work));
}

asio::awaitable<void> Collector::finished(ExperimentId id) {
  while (ledger_.cluster().experiment(id) != nullptr)
    co_await ledger_.wait(Ledger::experiment_key(id), std::chrono::milliseconds(1000));
}

}  // namespace det::master
