#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "det/master/ledger.h"
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
class Collector {
 public:
  Collector(asio::any_io_executor strand, Ledger& ledger, store::Store& store, asio::thread_pool& pool);

  /// Applies the policy of a finished experiment, then lets the cluster forget it.
  void collect(ExperimentId id);
  /// Deletes all checkpoints of the experiment, then its rows.
  void delete_experiment(experiment::ExperimentRecord record);
  /// Deletes these checkpoints: files, then rows.
  asio::awaitable<Result<void>> remove(std::vector<experiment::CheckpointRecord> checkpoints);
  /// Returns once the cluster has forgotten the finished experiment.
  asio::awaitable<void> finished(ExperimentId id);

 private:
  asio::awaitable<void> collect_now(ExperimentId id);
  asio::awaitable<void> delete_now(experiment::ExperimentRecord record);

  asio::any_io_executor strand_;
  Ledger& ledger_;
  store::Store& store_;
  asio::thread_pool& pool_;
  std::set<ExperimentId> at_work_;
};

/// Checkpoints that others need: of live experiments, to go on or to start from.
std::set<std::string> pinned(const cluster::Cluster& cluster);

/// The checkpoints of an experiment that its policy (checkpoint_storage.save_*) lets go.
/// Reads the store; `pinned` are kept whatever the policy says.
std::vector<experiment::CheckpointRecord> collectable(store::Store& store,
                                                      const experiment::ExperimentRecord& record,
                                                      const std::set<std::string>& pinned);

}  // namespace det::master
