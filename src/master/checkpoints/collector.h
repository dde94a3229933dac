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
/// It runs when an experiment has ended, so it never touches what a running or restorable trial may need.
/// Files are deleted before rows: after a crash the same work is found and done again, which is harmless
/// (I-7).
///
/// It never deletes a checkpoint that a model version names, a live experiment needs or a Hold protects. This
/// is checked on the strand right before the files are deleted. Code that starts to need a checkpoint makes a
/// Hold first and then checks that the checkpoint still exists.
///
/// It also deletes checkpoints that were begun and never reported, because the process was killed while
/// saving.
///
/// If deletions can be undone, a deletion first changes rows only; the files are deleted when the time for
/// undoing is over, and the row of the deletion last.
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
  /// Whether the experiment is being deleted: `delete_experiment` or `announce_deletion` was called.
  bool deletes(ExperimentId id) const { return to_delete_.contains(id); }
  void announce_deletion(ExperimentId id) { to_delete_.insert(id); }
  enum class Needed { Skip, Refuse };
  /// When files are deleted: AsConfigured keeps them for the time set by `keep_deleted`.
  enum class Files { AsConfigured, Now };
  /// Deletes these checkpoints: files, then rows. Needed ones are skipped or, with Refuse, the first of them
  /// is an error that ends the work.
  asio::awaitable<Result<void>> remove(std::vector<experiment::CheckpointRecord> checkpoints, Needed needed,
                                       Files files = Files::AsConfigured);

  /// How long a deletion can be undone; 0: not at all.
  void keep_deleted(std::int64_t seconds) { undo_seconds_ = seconds; }
  /// Until when a deletion made now can be undone; nothing if it cannot.
  std::optional<Time> can_undo_until() const {
    return undo_seconds_ > 0 ? std::optional(undo_until()) : std::nullopt;
  }
  /// Restores a deleted checkpoint. FailedPrecondition says why that is not possible.
  asio::awaitable<Result<void>> bring_back(std::string uuid);
  /// Deletes the files of deletions that can no longer be undone; returns at once.
  void finish_deletions();
  /// Deletes the files of the checkpoint that match a glob, and stores which files are left. Without globs it
  /// only lists the files.
  asio::awaitable<Result<void>> remove_files(experiment::CheckpointRecord checkpoint,
                                             std::vector<std::string> globs);
  /// Why the checkpoint cannot be deleted now, to follow "it is": "version 2 of model 'x'". Nothing if it
  /// can.
  std::optional<std::string> need_of(const std::string& uuid) const;
  /// Sets another source of needs, which answers as `need_of` does.
  using Need = std::function<std::optional<std::string>(const std::string&)>;
  void also_needed(Need need) { also_needed_ = std::move(need); }
  /// The checkpoints that live experiments (to resume or to start from) and models need.
  std::set<std::string> needed() const;

  /// Protects a checkpoint from deletion for as long as the object lives. Null: it is already being deleted.
  class Hold;
  std::shared_ptr<Hold> hold(const std::string& uuid);
  /// Returns once the cluster has forgotten the finished experiment.
  asio::awaitable<void> finished(ExperimentId id);

 private:
  asio::awaitable<void> collect_now(ExperimentId id);
  asio::awaitable<void> delete_now(experiment::ExperimentRecord record);
  asio::awaitable<void> finish_deletions_now();
  /// Deletes checkpoints that trials of the experiment began and never reported. Requires: none of the trials
  /// runs.
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

/// The checkpoints of an experiment that its policy (checkpoint_storage.save_*) does not keep.
/// Reads the store; `pinned` are kept whatever the policy says.
std::vector<experiment::CheckpointRecord> collectable(store::Store& store,
                                                      const experiment::ExperimentRecord& record,
                                                      const std::set<std::string>& pinned);

}  // namespace det::master
