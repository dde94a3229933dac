#pragma once

#include <deque>
#include <map>

#include "det/search/search_method.h"

namespace det::search {

/// What happened in a search that somebody outside drives, for them to read.
struct SearchEvent {
  enum class Kind {
    InitialOperations,
    TrialCreated,
    TrialProgress,
    ValidationCompleted,
    TrialExitedEarly,
    TrialClosed,
    ExperimentInactive,
  };
  std::int64_t id = 0;  ///< from 1, ascending
  Kind kind = Kind::InitialOperations;
  RequestId request_id{};   ///< of the trial that it is about
  double value = 0;         ///< the metric as the trial reported it, or units trained so far
  std::int64_t length = 0;  ///< of the validation: units in total
  ExitedReason reason = ExitedReason::Errored;
  std::string state{};  ///< of the experiment, which is not active: "PAUSED"
  friend bool operator==(const SearchEvent&, const SearchEvent&) = default;
};
BOOST_DESCRIBE_ENUM(SearchEvent::Kind, InitialOperations, TrialCreated, TrialProgress, ValidationCompleted,
                    TrialExitedEarly, TrialClosed, ExperimentInactive)
BOOST_DESCRIBE_STRUCT(SearchEvent, (), (id, kind, request_id, value, length, reason, state))

/// What they want done, each one thing.
struct SearchWish {
  enum class Kind { Create, ValidateAfter, Close, Shutdown, Progress };
  Kind kind = Kind::Create;
  RequestId request_id{};  ///< chosen by them, for Create, too
  json::object hparams{};
  std::int64_t length = 0;
  bool cancel = false, failure = false;
  double progress = 0;
  std::string checkpoint{};  ///< of Create: the uuid of the one that the trial starts from; empty: none
  std::string reason{};      ///< of Shutdown with failure, for the user; may be empty
};
BOOST_DESCRIBE_ENUM(SearchWish::Kind, Create, ValidateAfter, Close, Shutdown, Progress)
BOOST_DESCRIBE_STRUCT(SearchWish, (),
                      (kind, request_id, hparams, length, cancel, failure, progress, checkpoint, reason))

/// A search that decides nothing: it queues what happens until somebody outside has answered it
/// (searchers.md §13). It never ends by itself, and its progress is what they say.
///
/// Of the progress of a trial only the newest report that is not answered is kept, so that the queue grows
/// with what has to be decided and not with time.
class CustomSearch final : public SearchMethod {
 public:
  explicit CustomSearch(bool smaller_is_better) : smaller_is_better_(smaller_is_better) {}

  const std::deque<SearchEvent>& events() const { return events_; }
  /// The experiment is paused.
  void inactive(const std::string& state);
  /// NotFound: the event is not in the queue, because it never was or because it was answered.
  Result<void> find(std::int64_t event_id) const;
  /// Takes all events up to this one, which is there, out of the queue.
  void answered(std::int64_t event_id);
  void set_progress(double progress) { progress_ = progress; }

  Operations start(Random& random) override;
  Operations trial_created(const RequestId& trial, Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  void trial_progressed(const RequestId& trial, double units) override;
  double progress() const override { return progress_; }
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;
  CustomSearch* custom() override { return this; }

 private:
  void add(SearchEvent event);

  bool smaller_is_better_;
  std::deque<SearchEvent> events_;  // ids ascending, without gaps
  std::int64_t next_event_ = 1;
  double progress_ = 0;
  std::map<RequestId, std::int64_t> reports_;  // derived: the unanswered TrialProgress of each trial
};

/// Whether it may name a trial: a UUID in lower case. It becomes part of names of files.
bool is_request_id(std::string_view text);

Result<std::unique_ptr<SearchMethod>> make_custom(const config::ExperimentConfig& config);

}  // namespace det::search
