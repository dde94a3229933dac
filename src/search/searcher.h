#pragma once

#include "det/search/search_method.h"

namespace det::search {

/// A search method with its stream and the bookkeeping that all methods share
/// (searchers.md §4.2): orients the metric, ignores what is told twice, keeps
/// progress, and says when the search is over.
class Searcher {
 public:
  static Result<Searcher> make(const config::ExperimentConfig& config);
  static Result<Searcher> restore(const config::ExperimentConfig& config, const json::value& snapshot);

  Operations start();
  Operations trial_created(const RequestId& trial);
  /// `metric` as the user reported it. Told twice for the same length: no operations.
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length);
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason);
  Operations trial_closed(const RequestId& trial);

  void set_trial_progress(const RequestId& trial, double units);
  double progress() const;  ///< 0 to 1; NaN and infinity become 0
  json::value snapshot() const;

 private:
  Searcher(const config::ExperimentConfig& config, std::unique_ptr<SearchMethod> method);
  Operations finished_if_all_closed(Operations operations);

  struct Bookkeeping {
    std::int64_t trials_requested = 0;
    std::set<RequestId> created, closed;
    std::map<RequestId, ExitedReason> exits;
    std::map<RequestId, double> units;
    std::map<RequestId, std::int64_t> validated;  ///< the greatest length told
    bool shutdown = false;
    BOOST_DESCRIBE_CLASS(Bookkeeping, (), (trials_requested, created, closed, exits, units, validated, shutdown), (), ())
  };
  std::unique_ptr<SearchMethod> method_;
  Random random_;
  bool smaller_is_better_ = true;
  Bookkeeping book_;
};

}  // namespace det::search
