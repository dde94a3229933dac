#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/time.h"

namespace det::store {

class Connection;

/// For how many days after its end the log of a trial is kept; -1: as long as its experiment. Of an
/// experiment: for all its trials, also those that said otherwise before.
struct SetLogRetention {
  std::optional<ExperimentId> experiment;
  std::optional<TrialId> trial;
  int days = -1;
};

/// Removes the present lines from the logs of these tasks. They are invisible at once and deleted in small
/// steps; later lines are kept.
struct DropLogs {
  std::vector<std::string> task_ids;
};

/// A log of something that is over, with lines in it.
struct EndedLog {
  std::string task_id;
  std::optional<TrialId> trial;  ///< nothing: another task
  Time ended{};                  ///< of a task that is no trial: when its last line came
  std::optional<int> days;       ///< what was said of the trial, or of its experiment
};

void set_log_retention(Connection& connection, const SetLogRetention& change);
/// What an experiment's configuration says, unless somebody has said otherwise since.
void put_configured_retention(Connection& connection, ExperimentId experiment, std::optional<int> days);
void delete_log_retention(Connection& connection, ExperimentId experiment);
void drop_logs(Connection& connection, const DropLogs& change);

std::optional<int> read_log_retention(Connection& connection, TrialId trial);
std::vector<EndedLog> read_ended_logs(Connection& connection);
/// How many lines these tasks' logs have.
std::int64_t count_log_lines(Connection& connection, const std::vector<std::string>& task_ids);

}  // namespace det::store
