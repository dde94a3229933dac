#pragma once

#include <re2/re2.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "det/cluster/cluster.h"
#include "det/cluster/events.h"
#include "det/store/store.h"

namespace det::master {

/// Matches the log lines of trials against the `log_policies` of their experiments.
///
/// It only finds matches. The experiment decides what follows and remembers the matches of each trial, so the
/// same lines may be checked twice.
class LogPolicies {
 public:
  struct Policy {
    std::string name;    ///< the pattern, where it has none
    std::string action;  ///< cancel_retries, exclude_node, or empty: it is only noted
    std::shared_ptr<re2::RE2> pattern;
  };
  /// InvalidArgument: a pattern is no regular expression (RE2's syntax).
  static Result<std::vector<Policy>> of(const json::object& config);

  /// The new matches in these lines of the allocation. Nothing if it is over or does not belong to a trial.
  std::vector<cluster::LogPolicyMatched> found(const cluster::Cluster& cluster,
                                               const std::string& allocation_id, const std::string& agent,
                                               const std::vector<store::Change>& lines);

 private:
  std::map<ExperimentId, std::vector<Policy>> policies_;
};

}  // namespace det::master
