#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "det/cluster/cluster.h"

/// What experiments would do on a cluster, without running them (`det simulate`): the production code of
/// searcher, experiment, queue and scheduler decides, in virtual time; what training costs is assumed.
namespace det::forecast {

/// A validation's result on the way of one trial.
struct Point {
  std::int64_t batches = 0;
  double metric = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// What things cost.
struct Costs {
  /// Of the whole trial, with the slots that it asks for. Where it asks for a range and keeps the global
  /// batch: with the most; with half of them a batch takes twice as long.
  double seconds_per_batch = 0.1;
  double start_seconds = 3;  ///< from its slots to its first batch, at each start
  double validation_seconds = 1;
  double checkpoint_seconds = 1;  ///< before it gives its slots back
  /// Curves of results from earlier trials, each ascending by batches; the simulated trials use them in turn.
  /// Empty: each trial has one constant result, drawn from the seed.
  std::vector<std::vector<Point>> curves{};
};
BOOST_DESCRIBE_STRUCT(Costs, (), (seconds_per_batch, start_seconds, validation_seconds, checkpoint_seconds))

struct Machine {
  std::string id;
  int slots = 1;
  std::string label{};
  std::map<std::string, std::string> attributes{};
};

struct Question {
  std::vector<config::ExperimentConfig> experiments;  ///< submitted at the beginning, in this order
  std::vector<Machine> machines;
  /// All machines are in it, and all experiments, whatever pool they name.
  cluster::PoolSettings pool{};
  Costs costs{};
  std::uint32_t seed = 0;  ///< of the results
};

/// Trials that ended at the same number of batches.
struct Row {
  std::int64_t trials = 0, batches = 0;
  friend bool operator==(const Row&, const Row&) = default;
};
BOOST_DESCRIBE_STRUCT(Row, (), (trials, batches))

struct ExperimentForecast {
  std::string name, searcher;
  bool completed = false;
  std::string waits_for;  ///< why it never ends, in words
  std::int64_t trials = 0, batches = 0;
  std::vector<Row> rows;               ///< ascending by batches
  double first_start = 0;              ///< seconds from the submission to its first slots
  double end = 0;                      ///< seconds from the submission
  double slot_seconds = 0;             ///< that its trials held slots
  std::int64_t runs = 0;               ///< how often a trial was started
  std::int64_t preemptions = 0;        ///< by the scheduler, for others
  double wait_mean = 0, wait_max = 0;  ///< seconds from a trial's wish for slots to its slots
  std::int64_t slots_max = 0;          ///< held at once
};
BOOST_DESCRIBE_STRUCT(ExperimentForecast, (),
                      (name, searcher, completed, waits_for, trials, batches, rows, first_start, end,
                       slot_seconds, runs, preemptions, wait_mean, wait_max, slots_max))

/// A moment from which on so many slots are used and so many trials wait.
struct Moment {
  double seconds = 0;
  std::int64_t slots_used = 0, waiting = 0;
};
BOOST_DESCRIBE_STRUCT(Moment, (), (seconds, slots_used, waiting))

struct Forecast {
  std::vector<ExperimentForecast> experiments;  ///< in the order of the question
  std::int64_t slots = 0;
  double end = 0;             ///< seconds until everything that ends has ended
  double slot_seconds = 0;    ///< used
  std::vector<Moment> usage;  ///< means over equal parts of the time, at most kMoments
  std::int64_t events = 0;
};
BOOST_DESCRIBE_STRUCT(Forecast, (), (experiments, slots, end, slot_seconds, usage, events))

constexpr std::size_t kMoments = 60;
/// The most events of a simulation; a longer one is refused.
constexpr std::int64_t kEventsMax = 1'000'000;

/// InvalidArgument: costs that make no sense, no machines, a search that cannot be foreseen (custom).
/// ResourceExhausted: more than kEventsMax events, or `give_up`, which is asked now and then, has said so.
Result<Forecast> forecast(const Question& question, std::function<bool()> give_up = {});

// ---- costs, from what was measured ----------------------------------------

/// One run of a trial, as the store has it.
struct MeasuredRun {
  std::int64_t trial = 0;
  std::optional<Time> start;                           ///< of the run
  std::vector<std::pair<std::int64_t, Time>> reports;  ///< batches in total, and when
  std::vector<Point> validations;
  std::vector<Time> validated;  ///< when each was told, in order
  std::optional<Time> end;      ///< of the run
};

/// Medians over the runs: seconds a batch between reports without a validation between them, what a
/// validation adds to that (nothing, where there is one between all of them: then it is part of the pace),
/// seconds from the start of a run to its first batch and from its last report to its end; where no run
/// reported twice, seconds a batch from the start on. What the runs do not tell stays as in `otherwise`.
/// InvalidArgument: no run reported that it had trained.
Result<Costs> learn(const std::vector<MeasuredRun>& runs, Costs otherwise = {});

}  // namespace det::forecast
