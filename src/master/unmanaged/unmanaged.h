#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "det/master/ledger/ledger.h"

namespace det::master {

/// Experiments whose processes run outside the cluster, on machines that we know nothing of.
///
/// The cluster gives such an experiment and its trials their numbers and decides nothing more. What is said
/// of them changes their rows, and here are those that are not over, in memory. An experiment is active while
/// a trial of it is; it is over as its trials are: with an error if one has, else completed. A trial is
/// active from its start until its process says that it ended, or nothing of it was heard for `kSilence`. If
/// it is heard of again, it is active again.
///
/// A trial is started any number of times, each a run with a number. Only the newest run may report.
///
/// Names given from outside are unique: of experiments among all, of trials in their experiment.
///
/// Threads: not safe; on the master's strand. Everything returns once it is durable.
class Unmanaged {
 public:
  /// How long a process may be silent; clients send a word each minute.
  static constexpr std::int64_t kSilence = 5 * 60 * kSecond;
  /// How the external ids of experiments begin whose clients speak MLflow: they send no heartbeat, so their
  /// silence means nothing.
  static constexpr const char* kMlflow = "mlflow:";

  Unmanaged(Ledger& ledger, store::Store& store, asio::thread_pool& pool);

  /// Reads the store, at the start of a master. Silence counts from `now`.
  void load(Time now);

  bool has(ExperimentId id) const { return names_.contains(id); }
  bool has(TrialId id) const { return experiment_of_.contains(id); }
  std::optional<ExperimentId> named(const std::string& external_id) const;
  std::optional<TrialId> named(ExperimentId experiment, const std::string& external_id) const;
  /// The external ids of all experiments, and the trials that have one.
  const std::map<ExperimentId, std::string>& names() const { return names_; }
  const std::map<std::pair<ExperimentId, std::string>, TrialId>& named_trials() const {
    return trials_named_;
  }
  /// Empty: it has none.
  std::string name_of(ExperimentId id) const;

  /// A new experiment; the one of that name, where there is one already.
  asio::awaitable<Result<ExperimentId>> create(experiment::ExperimentRecord record, std::string external_id,
                                               std::string by);
  /// A new trial, which waits to be started; the one of that name, where there is one already.
  asio::awaitable<Result<TrialId>> create_trial(ExperimentId experiment, json::object hparams,
                                                std::string external_id, std::string by);
  struct Run {
    std::int64_t id = 0;
    std::string checkpoint;  ///< to go on from; empty: from the beginning
    std::int64_t steps = 0;  ///< that it has
  };
  /// Begins a run of the trial; earlier ones are over. With `resume` it goes on from the latest checkpoint.
  asio::awaitable<Result<Run>> start(TrialId trial, bool resume);
  /// The process reports its state, or without a state that it is alive. `run` 0: it does not say which run
  /// it is.
  asio::awaitable<Result<void>> heard(TrialId trial, std::optional<experiment::State> state,
                                      std::string error = "", std::int64_t run = 0);
  asio::awaitable<Result<void>> progressed(TrialId trial, double progress);
  /// Replaces the hyperparameters that the trial shows.
  asio::awaitable<Result<void>> set_hparams(TrialId trial, json::object hparams);
  asio::awaitable<Result<void>> runner_state(TrialId trial, std::string state);
  /// `record.run_id` 0: whichever run is the newest.
  asio::awaitable<Result<void>> report(experiment::MetricRecord record);
  /// Trial and experiment are filled in from `record.task_id`. `record.allocation_id`: "<task>.<run>" or
  /// empty.
  asio::awaitable<Result<void>> checkpoint(TrialId trial, experiment::CheckpointRecord record);
  asio::awaitable<Result<std::int64_t>> newest_run(TrialId trial);
  /// The best searcher metric of all trials.
  asio::awaitable<Result<std::optional<double>>> best(ExperimentId id);

  /// The record as the next change will write it; null where it is over or not one of these. Whoever changes
  /// what users may change (its name …) changes this one, too, before the next co_await.
  experiment::ExperimentRecord* open_record(ExperimentId id);
  bool active(TrialId id) const;
  /// What an active trial would resume from.
  std::optional<TrialId> needs(const std::string& checkpoint) const;
  /// It is being deleted: its name is free again.
  void forget(ExperimentId id);

  /// Ends trials that were silent for too long and forgets what is over. Called each second.
  asio::awaitable<void> tick(Time now);

 private:
  struct Trial {
    experiment::TrialRecord record;
    Time heard{};
    double progress = 0;
    std::map<std::string, std::int64_t> newest{};  ///< batches of the newest report of each group
  };
  struct Open {
    experiment::ExperimentRecord record;
    std::string metric;
    bool smaller_is_better = true;
    std::map<TrialId, Trial> trials{};
    Time since{};
  };
  struct Found {
    Open* experiment = nullptr;
    Trial* trial = nullptr;
    bool revived = false;  ///< an end for silence was taken back
  };
  using Changes = std::vector<store::Change>;

  static Open made_open(experiment::ExperimentRecord record, std::vector<experiment::TrialRecord> trials,
                        Time now);
  /// In memory from now on. What it returns is good until the next co_await.
  asio::awaitable<Result<Open*>> open(ExperimentId id);
  asio::awaitable<Result<Found>> open(TrialId id);
  /// The same for one whose process speaks right now: an end for silence is taken back.
  asio::awaitable<Result<Found>> alive(TrialId id);
  static Result<void> check_newest(const Trial& trial, std::int64_t run);
  void end(Trial& trial, experiment::State state, const std::string& why, Changes& changes);
  static void settle(Open& experiment, Time now, Changes& changes);
  asio::awaitable<void> write(ExperimentId id, std::optional<TrialId> trial, Changes changes);
  void note(const Trial& trial, std::string text, Changes& changes);

  Ledger& ledger_;
  store::Store& store_;
  asio::thread_pool& pool_;
  std::map<ExperimentId, std::string> names_;  // of all
  std::map<std::string, ExperimentId> named_;
  std::map<TrialId, ExperimentId> experiment_of_;
  std::map<std::pair<ExperimentId, std::string>, TrialId> trials_named_;
  std::set<std::string> being_made_;  // names that somebody takes at this moment
  std::map<ExperimentId, Open> open_;
};

}  // namespace det::master
