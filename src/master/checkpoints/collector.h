#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "det/master/ledger/ledger.h"
#include "det/master/models/registry.h"
#include "det/store/store.h"

namespace boost::asio {
class thread_pool;
}

namespace det::master {

/// Deletes checkpoints that the policy no longer keeps, and deleted experiments.
///
/// It works when an experiment is over, so that what a running or restorable trial may need
/// is never touched. Files first, then the row: after a crash the same work is found again
/// and done again, which is harmless (I-7).
///
/// A checkpoint that a model version names, that a live experiment needs or that is held is never
/// deleted: that is looked at on the strand right before its files go, and whoever begins to need one
/// holds it first and then looks whether it is still there.
///
/// What was begun and never reported goes with it: a process that was killed while it saved could not.
///
/// Where deletions can be taken back, only rows say at first that a checkpoint is deleted; its files go
/// when the time is over, and their row last.
class Collector {
 public:
  Collector(asio::any_io_executor strand, Ledger& ledger, store::Store& store, const Registry& registry,
            asio::thread_pool& pool);

  /// Applies the policy of a finished experiment, then lets the cluster forget it.
  void collect(ExperimentId id);
  /// Deletes what the experiment's trials wrote for TensorBoard.
  asio::awaitable<Result<void>> remove_tensorboard_files(experiment::ExperimentRecord record);
  /// Deletes all checkpoints of the experiment and its event files, then its rows.
  void delete_experiment(experiment::ExperimentRecord record);
  /// Whether it works on that, or is about to: `delete_experiment` was called, or `announce_deletion`.
  bool deletes(ExperimentId id) const { return to_delete_.contains(id); }
  void announce_deletion(ExperimentId id) { to_delete_.insert(id); }
  enum class Needed { Skip, Refuse };
  /// When files go: AsConfigured leaves them for as long as `keep_deleted` says.
  enum class Files { AsConfigured, Now };
  /// Deletes these checkpoints: files, then rows. Those that are needed stay; with Refuse the first of
  /// them is an error and ends the work.
  asio::awaitable<Result<void>> remove(std::vector<experiment::CheckpointRecord> checkpoints, Needed needed,
                                       Files files = Files::AsConfigured);

  /// For how long what is deleted can be brought back; 0: not at all.
  void keep_deleted(std::int64_t seconds) { undo_seconds_ = seconds; }
  /// Until when what is deleted now can be brought back; nothing: it cannot.
  std::optional<Time> can_undo_until() const {
    return undo_seconds_ > 0 ? std::optional(undo_until()) : std::nullopt;
  }
  /// Makes a deleted checkpoint what it was. FailedPrecondition says why that is not possible.
  asio::awaitable<Result<void>> bring_back(std::string uuid);
  /// Deletes the files of what nobody brought back in time; returns at once.
  void finish_deletions();
  /// Deletes those of its files whose names match one of the globs, and remembers what is left. Without globs
  /// it only looks what is there.
  asio::awaitable<Result<void>> remove_files(experiment::CheckpointRecord checkpoint,
                                             std::vector<std::string> globs);
  /// Why the checkpoint may not be deleted now, in words for a sentence: "version 2 of model 'x'".
  std::optional<std::string> need_of(const std::string& uuid) const;
  /// Somebody else who may need one; answers as `need_of` does.
  using Need = std::function<std::optional<std::string>(const std::string&)>;
  void also_needed(Need need) { also_needed_ = std::move(need); }
  /// Checkpoints that others need: live experiments, to go on or to start from, and models.
  std::set<std::string> needed() const;

  /// Keeps a checkpoint for as long as the object lives. Null: it is being deleted at this moment.
  class Hold;
  std::shared_ptr<Hold> hold(const std::string& uuid);
  /// Returns once the cluster has forgotten the finished experiment.
  asio::awaitable<void> finished(ExperimentId id);

 private:
  asio::awaitable<void> collect_now(ExperimentId id);
  asio::awaitable<void> delete_now(experiment::ExperimentRecord record);
  asio::awaitable<void> finish_deletions_now();
  /// Deletes what trials of the experiment began to save and never reported. Requires: none of them runs.
  asio::awaitable<Result<void>> remove_begun(ExperimentId id);
  Time undo_until() const { return ledger_.now() + undo_seconds_ * kSecond; }

  asio::any_io_executor strand_;
  Ledger& ledger_;
  store::Store& store_;
  const Registry& registry_;
  asio::thread_pool& pool_;
  std::shared_ptr<std::multiset<std::string>> held_ = std::make_shared<std::multiset<std::string>>();
  Need also_needed_;
  std::set<std::string> being_deleted_;
  std::set<ExperimentId> at_work_, to_delete_;
  std::int64_t undo_seconds_ = 0;
  bool finishing_ = false;
};

class Collector::Hold {
 public:
  using All = std::shared_ptr<std::multiset<std::string>>;  // a hold may outlive the collector
  Hold(All all, std::string uuid) : all_(std::move(all)), uuid_(std::move(uuid)) { all_->insert(uuid_); }
  ~Hold() { all_->erase(all_->find(uuid_)); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const All all_;
  const std::string uuid_;
};

/// The checkpoints of an experiment that its policy (checkpoint_storage.save_*) lets go.
/// Reads the store; `pinned` are kept whatever the policy says.
std::vector<experiment::CheckpointRecord> collectable(store::Store& store,
                                                      const experiment::ExperimentRecord& record,
                                                      const std::set<std::string>& pinned);

}  // namespace det::master
