#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "det/elastic/elastic.h"
#include "det/scheduler/scheduler.h"

namespace det::cluster {

/// A resource pool, as the master's configuration has it. One that is not there has these defaults.
struct PoolSettings {
  std::string name;
  std::string description{};
  scheduler::Policy policy = scheduler::Policy::Fifo;
  scheduler::Fitting fitting = scheduler::Fitting::Best;
  bool heterogeneous_fits = false;  ///< a gang may take whole agents of several sizes
  bool preemption = false;          ///< of the policy Priority
  int default_priority = 42;        ///< of experiments that name none
  int zero_slot_max = 100;          ///< tasks without slots that an agent runs at once
  /// For how long the processes of a trial that has nothing to do (paused, or waiting for the search) wait on
  /// slots that nobody else needs. 0: they end at once.
  int idle_seconds = 300;
  double price_per_slot_hour = 0;  ///< in the currency of all pools
  /// Of a pool whose machines an engine gives.
  std::optional<elastic::Limits> elastic{};
  std::string provider{};  ///< … in words: "Slurm partition a100"
  friend bool operator==(const PoolSettings&, const PoolSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolSettings, (),
                      (name, description, policy, fitting, heterogeneous_fits, preemption, default_priority,
                       zero_slot_max, idle_seconds, price_per_slot_hour, elastic, provider))

/// Whether each trial and task gets machines of its own there.
inline bool per_task(const PoolSettings& settings) {
  return settings.elastic && settings.elastic->granularity == elastic::Granularity::Task;
}

/// All of them, and where what names none goes.
struct Pools {
  std::vector<PoolSettings> pools;
  std::string default_compute = "default";  ///< for trials with slots
  std::string default_aux = "default";      ///< for those without
  std::string currency = "USD";             ///< of prices, by ISO 4217
  friend bool operator==(const Pools&, const Pools&) = default;
};
BOOST_DESCRIBE_STRUCT(Pools, (), (pools, default_compute, default_aux, currency))

/// How the policy is called in configurations and in the API: "fifo", "round_robin", "fair_share",
/// "priority".
const char* policy_name(scheduler::Policy policy);
scheduler::Options scheduler_options(const PoolSettings& settings);

}  // namespace det::cluster
