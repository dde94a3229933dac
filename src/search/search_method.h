#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "det/base/json.h"
#include "det/base/random.h"
#include "det/base/uuid.h"
#include "det/config/experiment_config.h"

namespace det::search {

/// No search has more trials that want to train at once, whatever its max_concurrent_trials says: each takes
/// time and memory of the master, and no cluster here has as many slots.
inline constexpr std::int64_t kTrialsAtOnceMax = 10'000;

/// Names a trial between its creation by the search and its row in the store:
/// a UUID drawn from the search's own stream.
using RequestId = std::string;

/// The same in 16 bytes, for what a search keeps. Requires: it is a UUID, as all that are given or taken are.
inline Uuid uuid_of(const RequestId& trial) {
  const auto uuid = parse_uuid(trial);
  DET_ASSERT(uuid);
  return *uuid;
}

/// Start a trial with these hyperparameters.
struct Create {
  static constexpr const char* kName = "Create";
  RequestId request_id;
  std::int64_t trial_seed = 0;  ///< in [0, 2^31)
  json::object hparams;         ///< sampled values by name; nested maps stay nested
  RequestId parent{};           ///< the trial whose latest checkpoint it starts from; empty: none
  std::string checkpoint{};     ///< the uuid of the one that it starts from; empty: none is named
  friend bool operator==(const Create&, const Create&) = default;
};
BOOST_DESCRIBE_STRUCT(Create, (), (request_id, trial_seed, hparams, parent, checkpoint))

/// Train until `length` units in total, then validate and report.
struct ValidateAfter {
  static constexpr const char* kName = "ValidateAfter";
  RequestId request_id;
  std::int64_t length = 0;
  friend bool operator==(const ValidateAfter&, const ValidateAfter&) = default;
};
BOOST_DESCRIBE_STRUCT(ValidateAfter, (), (request_id, length))

/// No more operations for this trial: it ends once it has done those it has.
struct Close {
  static constexpr const char* kName = "Close";
  RequestId request_id;
  friend bool operator==(const Close&, const Close&) = default;
};
BOOST_DESCRIBE_STRUCT(Close, (), (request_id))

/// The search is over. Always the last operation, and given once.
struct Shutdown {
  static constexpr const char* kName = "Shutdown";
  bool cancel = false;   ///< every trial was cancelled by its user
  bool failure = false;  ///< every trial failed
  std::string reason{};  ///< of the failure, where a search method outside says it
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};
BOOST_DESCRIBE_STRUCT(Shutdown, (), (cancel, failure, reason))

using Operation = std::variant<Create, ValidateAfter, Close, Shutdown>;
using Operations = std::vector<Operation>;

enum class ExitedReason : std::uint8_t { Errored, UserCanceled, InvalidHp, InitInvalidHp, UserRequestedStop };
BOOST_DESCRIBE_ENUM(ExitedReason, Errored, UserCanceled, InvalidHp, InitInvalidHp, UserRequestedStop)

/// What a trial that ended without a result counts as; only a result that is infinite or NaN ranks behind it.
constexpr double kWorstMetric = std::numeric_limits<double>::max();

constexpr bool says_invalid_hyperparameters(ExitedReason reason) {
  return reason == ExitedReason::InvalidHp || reason == ExitedReason::InitInvalidHp;
}

/// A trial that ended before it was done, and is to go on.
struct Again {
  Create create;                              ///< as it was
  std::int64_t validations = 0;               ///< that it was asked for and has completed
  ExitedReason exit = ExitedReason::Errored;  ///< as what its end was told
  friend bool operator==(const Again&, const Again&) = default;
};
BOOST_DESCRIBE_STRUCT(Again, (), (create, validations, exit))

class CustomSearch;

/// Decides which trials an experiment runs, how far each trains, and which to stop.
///
/// A method is told what happened and answers with what to do next. It does no
/// I/O, reads no clock and keeps no hidden state, so a search can be simulated
/// in microseconds, replayed from its snapshot, and tested without a cluster.
///
/// Order of calls: `start` once, first; then for each trial it created
/// `trial_created` once, `validation_completed` once for each ValidateAfter,
/// possibly `trial_exited_early` once, and `trial_closed` once, last. When its
/// experiment is being stopped a trial is closed although it neither exited nor
/// was to be closed, while others may still report. Nobody speaks of a trial
/// after its close: a method may forget it, so that what a search holds grows
/// with the trials that are open and not with those that were. Only `run_again`
/// brings one back, and says of it what has to be known.
///
/// Determinism: two instances given the same stream and the same calls return
/// equal operations.
///
/// Threads: not safe; the experiment that owns it calls it from one strand.
class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  virtual Operations start(Random& random) = 0;
  virtual Operations trial_created(const RequestId& trial, Random& random);
  /// `metric` is oriented so that smaller is better; NaN ranks worst. `length` is the total so far.
  virtual Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                          Random& random);
  virtual Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random);
  virtual Operations trial_closed(const RequestId& trial, Random& random);

  /// The trial has trained `units` in total. Only `progress` may depend on it.
  virtual void trial_progressed(const RequestId& trial, double units);
  /// Fraction done, from 0 to 1. In constant time: it is asked after every event.
  virtual double progress() const = 0;

  /// What follows from other sizes (trials, concurrency) than those that the restored state grew up with:
  /// called after `restore` from the state of a method with another configuration, see Searcher::reconfigure.
  virtual Operations resized(Random& random);

  /// Trials that were closed after they exited early go on as if they had not: takes those that it can have
  /// back out of `trials`, creates each of them again, under its own name, once there is room, and asks it
  /// for what is left. What followed from their end until now stays.
  virtual Operations run_again(std::vector<Again>& trials, Random& random);

  /// This, where somebody outside decides; else nullptr.
  virtual CustomSearch* custom() { return nullptr; }

  /// Everything that `restore` needs to go on exactly as the original would.
  virtual json::value snapshot() const = 0;
  virtual Result<void> restore(const json::value& snapshot) = 0;
};

/// The method that the configuration names, for its generation. Methods that this
/// build does not have are answered with Unimplemented and the list of those that it has.
Result<std::unique_ptr<SearchMethod>> make_search_method(const config::ExperimentConfig& config);

}  // namespace det::search
