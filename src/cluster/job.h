#pragma once

#include <compare>
#include <string>
#include <utility>

#include "det/base/id.h"

namespace det::cluster {

/// Who stands in the queue of a pool: an experiment, or a task that is no trial.
struct Job {
  ExperimentId experiment{};
  std::string task{};  ///< its id, where it is no experiment

  Job(ExperimentId id) : experiment(id) {}  // NOLINT: either is a job
  explicit Job(std::string id) : task(std::move(id)) {}
  friend auto operator<=>(const Job&, const Job&) = default;
  friend bool operator==(const Job&, const Job&) = default;
};

}  // namespace det::cluster
