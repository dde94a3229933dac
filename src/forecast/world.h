#pragma once

#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "det/base/random.h"
#include "det/forecast/forecast.h"

namespace det::forecast {

/// The cluster, its machines and its trials in virtual time, without faults. One for each question.
class World {
 public:
  explicit World(const Question& question);
  Result<Forecast> run(const std::function<bool()>& give_up);

 private:
  /// A run of a trial that has its slots.
  struct Run {
    TrialId trial;
    ExperimentId experiment;
    std::int64_t batches = 0;  ///< trained
    Time since{};              ///< when it began to train from there
    bool training = false, leaving = false;
    std::int64_t number = 0;  ///< of what it does now; what was planned before is void
  };
  struct Tally {
    ExperimentForecast forecast;
    std::map<std::int64_t, std::int64_t> rows;
    double waited = 0;
    std::int64_t slots = 0;
    std::int64_t next_curve = 0;
  };

  void at(Time when, std::function<void()> what);
  Result<void> submit();
  void tell(const cluster::Event& event);
  void take(const cluster::Effect& effect);
  void take(const experiment::AllocationRecord& record);
  void take(const experiment::ExperimentRecord& record);
  void start(const std::string& id);
  void step(const std::string& id);
  void complete(const std::string& id, std::int64_t number, std::int64_t batches);
  void give_way(const std::string& id);
  void leave(const std::string& id, double seconds);
  void exited(const std::string& id);
  double seconds_per_batch(const std::string& id) const;
  double metric(const Run& run);
  void note_usage(std::int64_t slots, std::int64_t waiting);
  void close(ExperimentId id);
  Forecast result();

  const Question& question_;
  cluster::Cluster cluster_;
  Time now_{};
  struct Planned {
    Time when;
    std::int64_t order;
    std::function<void()> what;
    bool operator>(const Planned& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> queue_;
  std::int64_t order_ = 0, events_ = 0, checkpoints_ = 0;
  std::map<std::string, Run> runs_;  // by allocation
  std::map<ExperimentId, Tally> tallies_;
  std::map<TrialId, std::size_t> curve_of_;
  std::map<TrialId, double> quality_of_;
  Random random_;
  std::vector<Moment> usage_;  // at each change
  std::int64_t slots_used_ = 0, waiting_ = 0;
};

}  // namespace det::forecast
