#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "det/base/json.h"

namespace det::searcher {

/// Start a trial with these hyperparameters. It trains once a ValidateAfter says how far.
struct Create {
  std::string request_id;  ///< Chosen by the method: new_request_id().
  json::object hparams;
  /// The checkpoint, of whatever trial, whose weights it starts from; empty: from nothing. It stays for as
  /// long as the trial needs it. One that is not there is refused, with all that is asked for at the same
  /// time.
  std::string checkpoint{};
};
/// Train until `length` units in total (searcher.unit of the configuration), then validate.
struct ValidateAfter {
  std::string request_id;
  std::int64_t length = 0;
};
/// The trial ends once it has done what it was asked.
struct Close {
  std::string request_id;
};
/// The search is over. Without it the experiment never ends.
struct Shutdown {
  bool cancel = false;
  bool failure = false;
};

using Operation = std::variant<Create, ValidateAfter, Close, Shutdown>;
using Operations = std::vector<Operation>;

/// A random UUID, as ids of trials have to be.
std::string new_request_id();

enum class ExitedReason { Errored, UserCanceled, InvalidHparams };

/// What the runner knows of the search; saved and restored by it.
struct SearchState {
  std::optional<std::int64_t> experiment_id;
  std::set<std::string> trials_created, trials_closed, failures;
  std::map<std::string, double> trial_progress;  ///< Units trained, by trial.
  std::int64_t last_event_id = 0;
  bool completed = false;  ///< The experiment is over,
  bool failed = false;     ///< with an error.
};
BOOST_DESCRIBE_STRUCT(SearchState, (),
                      (experiment_id, trials_created, trials_closed, failures, trial_progress, last_event_id,
                       completed, failed))

/// Decides which trials to run. Each function is told what happened, and returns what it wants done.
///
/// What it throws ends SearchRunner::run; the event is told again when the search goes on.
class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  virtual Operations initial_operations(const SearchState& state) = 0;  ///< Called once, first.
  virtual Operations on_trial_created(const SearchState& /*state*/, const std::string& /*request_id*/) {
    return {};
  }
  /// The trial has trained `length` units in total; `metric` is the searcher's, NaN included.
  virtual Operations on_validation_completed(const SearchState& state, const std::string& request_id,
                                             double metric, std::int64_t length) = 0;
  virtual Operations on_trial_closed(const SearchState& state, const std::string& request_id) = 0;
  virtual Operations on_trial_exited_early(const SearchState& state, const std::string& request_id,
                                           ExitedReason reason) = 0;
  virtual double progress(const SearchState& state) = 0;  ///< How much is done, from 0 to 1.

  /// What the method itself knows, over a restart of the runner: `load` is given what `save` returned last.
  virtual json::value save() const = 0;
  virtual void load(const json::value& saved) = 0;
};

}  // namespace det::searcher
