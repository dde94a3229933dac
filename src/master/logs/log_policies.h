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

/// What experiments want to happen when their trials print certain lines: `log_policies`.
///
/// It only looks; what follows is decided by the experiment, which remembers for each trial what was found,
/// so that the same lines may be looked at twice.
class LogPolicies {
 public:
  struct Policy {
    std::string name;    ///< the pattern, where it has none
    std::string action;  ///< cancel_retries, exclude_node, or empty: it is only noted
    std::shared_ptr<re2::RE2> pattern;
  };
  /// InvalidArgument: a pattern is no regular expression (RE2's syntax).
  static Result<std::vector<Policy>> of(const json::object& config);

  /// What these lines of the allocation say that is not known of its trial yet. Nothing where it is over, or
  /// of no trial.
  std::vector<cluster::LogPolicyMatched> found(const cluster::Cluster& cluster,
                                               const std::string& allocation_id, const std::string& agent,
                                               const std::vector<store::Change>& lines);

 private:
  std::map<ExperimentId, std::vector<Policy>> policies_;
};

}  // namespace det::master
