// Searches that somebody outside drives: what happened, and what they want done.

#include <algorithm>
#include <limits>
#include <map>

#include "det/master/experiments/warm_start.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;
using search::SearchEvent;
using search::SearchWish;

struct EventsQuery {
  ExperimentId experiment_id;
  double timeout_seconds = 60;
};
BOOST_DESCRIBE_STRUCT(EventsQuery, (), (experiment_id, timeout_seconds))
struct InitialOperationsEvent {
  std::int32_t placeholder = 0;
};
BOOST_DESCRIBE_STRUCT(InitialOperationsEvent, (), (placeholder))
/// A trial was created, or closed.
struct TrialEvent {
  std::string request_id;
};
BOOST_DESCRIBE_STRUCT(TrialEvent, (), (request_id))
struct TrialProgressEvent {
  std::string request_id;
  double partial_units = 0;
};
BOOST_DESCRIBE_STRUCT(TrialProgressEvent, (), (request_id, partial_units))
struct ValidationCompletedEvent {
  std::string request_id;
  double metric = 0;
  std::int64_t validate_after_length = 0;
  json::object metrics;  ///< all that the validation reported
};
BOOST_DESCRIBE_STRUCT(ValidationCompletedEvent, (), (request_id, metric, validate_after_length, metrics))
struct TrialExitedEarlyEvent {
  std::string request_id, exited_reason;
};
BOOST_DESCRIBE_STRUCT(TrialExitedEarlyEvent, (), (request_id, exited_reason))
struct ExperimentInactiveEvent {
  std::string experiment_state;
};
BOOST_DESCRIBE_STRUCT(ExperimentInactiveEvent, (), (experiment_state))
/// One thing that happened: exactly one of the members after `id` is set.
struct SearcherEvent {
  std::int32_t id = 0;
  std::optional<InitialOperationsEvent> initial_operations;
  std::optional<TrialEvent> trial_created;
  std::optional<TrialProgressEvent> trial_progress;
  std::optional<ValidationCompletedEvent> validation_completed;
  std::optional<TrialExitedEarlyEvent> trial_exited_early;
  std::optional<TrialEvent> trial_closed;
  std::optional<ExperimentInactiveEvent> experiment_inactive;
};
BOOST_DESCRIBE_STRUCT(SearcherEvent, (),
                      (id, initial_operations, trial_created, trial_progress, validation_completed,
                       trial_exited_early, trial_closed, experiment_inactive))
struct EventsReply {
  std::vector<SearcherEvent> searcher_events;
};
BOOST_DESCRIBE_STRUCT(EventsReply, (), (searcher_events))

struct CreateTrial {
  std::string request_id, hyperparams;  ///< a JSON object as text
  std::string checkpoint_uuid;          ///< what the trial's weights start from; empty: from nothing
};
BOOST_DESCRIBE_STRUCT(CreateTrial, (), (request_id, hyperparams, checkpoint_uuid))
struct ValidateAfter {
  std::string request_id;
  std::int64_t length = 0;
};
BOOST_DESCRIBE_STRUCT(ValidateAfter, (), (request_id, length))
struct TrialOperation {
  std::optional<ValidateAfter> validate_after;
};
BOOST_DESCRIBE_STRUCT(TrialOperation, (), (validate_after))
struct CloseTrial {
  std::string request_id;
};
BOOST_DESCRIBE_STRUCT(CloseTrial, (), (request_id))
struct ShutDown {
  bool cancel = false, failure = false;
  std::string reason;  ///< of the failure; becomes the experiment's error
};
BOOST_DESCRIBE_STRUCT(ShutDown, (), (cancel, failure, reason))
struct SetProgress {
  double progress = 0;
};
BOOST_DESCRIBE_STRUCT(SetProgress, (), (progress))
/// Exactly one of them.
struct SearcherOperation {
  std::optional<CreateTrial> create_trial;
  std::optional<TrialOperation> trial_operation;
  std::optional<CloseTrial> close_trial;
  std::optional<ShutDown> shut_down;
  std::optional<SetProgress> set_searcher_progress;
};
BOOST_DESCRIBE_STRUCT(SearcherOperation, (),
                      (create_trial, trial_operation, close_trial, shut_down, set_searcher_progress))
struct TriggeredBy {
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(TriggeredBy, (), (id))
struct AnswerRequest {
  ExperimentId experiment_id;
  std::vector<SearcherOperation> searcher_operations;
  TriggeredBy triggered_by_event;
  static bool required(std::string_view name) { return name == "triggered_by_event"; }
};
BOOST_DESCRIBE_STRUCT(AnswerRequest, (), (experiment_id, searcher_operations, triggered_by_event))

const char* reason_name(search::ExitedReason reason) {
  switch (reason) {
    case search::ExitedReason::Errored: return "EXITED_REASON_UNSPECIFIED";
    case search::ExitedReason::UserCanceled: return "EXITED_REASON_USER_REQUESTED_STOP";
    case search::ExitedReason::InvalidHp: return "EXITED_REASON_INVALID_HP";
    case search::ExitedReason::InitInvalidHp: return "EXITED_REASON_INVALID_HP";
    case search::ExitedReason::UserRequestedStop: return "EXITED_REASON_USER_REQUESTED_STOP";
  }
  return "EXITED_REASON_UNSPECIFIED";
}

SearcherEvent to_api(const SearchEvent& event) {
  using Kind = SearchEvent::Kind;
  SearcherEvent shown{.id = static_cast<std::int32_t>(event.id)};
  const auto& trial = event.request_id;
  switch (event.kind) {
    case Kind::InitialOperations: shown.initial_operations.emplace(); break;
    case Kind::TrialCreated: shown.trial_created = TrialEvent{trial}; break;
    case Kind::TrialProgress: shown.trial_progress = TrialProgressEvent{trial, event.value}; break;
    case Kind::ValidationCompleted:
      shown.validation_completed = ValidationCompletedEvent{trial, event.value, event.length, {}};
      break;
    case Kind::TrialExitedEarly:
      shown.trial_exited_early = TrialExitedEarlyEvent{trial, reason_name(event.reason)};
      break;
    case Kind::TrialClosed: shown.trial_closed = TrialEvent{trial}; break;
    case Kind::ExperimentInactive:
      shown.experiment_inactive = ExperimentInactiveEvent{"STATE_" + event.state};
      break;
  }
  return shown;
}

constexpr std::size_t kReasonMax = 4'096;

/// `number`: of the operation, from 1.
Result<SearchWish> to_wish(const SearcherOperation& operation, std::size_t number) {
  const int given = operation.create_trial.has_value() + operation.trial_operation.has_value() +
                    operation.close_trial.has_value() + operation.shut_down.has_value() +
                    operation.set_searcher_progress.has_value();
  if (given != 1)
    return invalid_argument(
        "operation {} has {} kinds; give exactly one of createTrial, trialOperation, closeTrial, shutDown "
        "and "
        "setSearcherProgress",
        number, given);
  SearchWish wish;
  if (operation.create_trial) {
    wish.request_id = operation.create_trial->request_id;
    const auto parsed = json::parse(operation.create_trial->hyperparams);
    if (!parsed || !parsed->is_object())
      return invalid_argument("hyperparams of trial {} is {}; it must be a JSON object", wish.request_id,
                              operation.create_trial->hyperparams.substr(0, 200));
    wish.hparams = parsed->get_object();
    wish.checkpoint = operation.create_trial->checkpoint_uuid;
  } else if (operation.trial_operation) {
    if (!operation.trial_operation->validate_after)
      return invalid_argument(
          "operation {} is a trialOperation without validateAfter; give the length to train", number);
    wish.kind = SearchWish::Kind::ValidateAfter;
    wish.request_id = operation.trial_operation->validate_after->request_id;
    wish.length = operation.trial_operation->validate_after->length;
  } else if (operation.close_trial) {
    wish.kind = SearchWish::Kind::Close;
    wish.request_id = operation.close_trial->request_id;
  } else if (operation.shut_down) {
    wish.kind = SearchWish::Kind::Shutdown;
    wish.cancel = operation.shut_down->cancel;
    wish.failure = operation.shut_down->failure;
    wish.reason = operation.shut_down->reason;
    if (wish.reason.size() > kReasonMax)
      return invalid_argument("the reason of shutDown has {} bytes; at most {} are allowed",
                              wish.reason.size(), kReasonMax);
  } else {
    wish.kind = SearchWish::Kind::Progress;
    wish.progress = operation.set_searcher_progress->progress;
  }
  return wish;
}

/// Events in one answer: a runner takes them in order, and asks again.
constexpr std::size_t kEventsMax = 1'000;
/// The id of the event that says that the search is over: it is the last, and nobody answers it.
constexpr std::int64_t kLastEvent = std::numeric_limits<std::int32_t>::max();

SearcherEvent over(Services& s, const experiment::ExperimentRecord& record) {
  SearchEvent event{.id = kLastEvent, .kind = SearchEvent::Kind::ExperimentInactive};
  event.state = state_name(s, record).substr(std::string_view("STATE_").size());
  return to_api(event);
}

Error decides_by_itself(ExperimentId id) {
  return Error(ErrorCode::FailedPrecondition,
               fmt::format("experiment {} has a built-in searcher; only experiments with searcher.name "
                           "'custom' or 'optuna' have searcher events",
                           id));
}

/// The queue of a live experiment; while it stops nothing can be answered, and nothing is there.
Result<EventsReply> events_now(Services& s, const experiment::Experiment& live) {
  EventsReply reply;
  const auto* queue = live.search_events();
  if (queue == nullptr) return tl::unexpected(decides_by_itself(live.record().id));
  if (live.finished()) {
    reply.searcher_events.push_back(over(s, live.record()));
  } else if (!experiment::is_stopping(live.record().state)) {
    for (std::size_t i = 0; i < std::min(queue->size(), kEventsMax); ++i)
      reply.searcher_events.push_back(to_api((*queue)[i]));
  }
  return reply;
}

/// A validation of which an event tells.
struct Validation {
  std::size_t event = 0;  ///< its place in the reply
  TrialId trial;
  std::int64_t batches = 0;
};

std::vector<Validation> validations_of(const experiment::Experiment& live, const EventsReply& reply) {
  const auto& events = reply.searcher_events;
  if (std::ranges::none_of(events, [](const auto& event) { return event.validation_completed.has_value(); }))
    return {};  // most polls: the trials need not be looked through
  std::map<std::string, const experiment::Trial*> trials;
  for (const auto& [id, trial] : live.trials()) trials.emplace(trial.record.request_id, &trial);
  std::vector<Validation> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& told = events[i].validation_completed;
    if (!told) continue;
    const auto trial = trials.find(told->request_id);
    if (trial == trials.end()) continue;
    const auto& operations = trial->second->operations;
    const auto operation =
        std::ranges::find(operations, told->validate_after_length, &experiment::TrialOperation::length);
    if (operation != operations.end()) found.push_back({i, trial->second->record.id, operation->batches});
  }
  return found;
}

/// What the newest run said at that number of batches; a script may count otherwise: then its newest
/// validation. Reads the store: on the pool.
json::object metrics_of(store::Store& store, const Validation& validation) {
  store::MetricQuery query{.trial = validation.trial,
                           .group = "validation",
                           .after_batches = validation.batches - 1,
                           .up_to_batches = validation.batches};
  auto reports = store.metrics(query);
  if (reports.empty()) reports = store.metrics({.trial = validation.trial, .group = "validation"});
  return reports.empty() ? json::object{} : std::move(reports.back().avg_metrics);
}

asio::awaitable<Result<experiment::ExperimentRecord>> stored(Services& s, ExperimentId id) {
  auto read = [&s, id] { return s.store.experiment(id); };
  auto record = co_await offload(s, std::move(read));
  if (!record || record->state == experiment::State::Deleted)
    co_return not_found("experiment '{}' not found", id);
  if (!config::decided_outside(experiment::searcher_name(record->config)))
    co_return tl::unexpected(decides_by_itself(id));
  co_return *std::move(record);
}

asio::awaitable<Result<EventsReply>> events(Services& s, Context context, EventsQuery q) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto deadline = deadline_after(q.timeout_seconds);
  Watch watch(s.ledger, Ledger::search_key(q.experiment_id));
  while (true) {
    const auto* live = s.ledger.cluster().experiment(q.experiment_id);
    if (live == nullptr) {
      auto record = co_await stored(s, q.experiment_id);
      if (!record) co_return tl::unexpected(record.error());
      EventsReply last;
      last.searcher_events.push_back(over(s, *record));
      co_return last;
    }
    auto reply = events_now(s, *live);
    if (!reply) co_return tl::unexpected(reply.error());
    if (!reply->searcher_events.empty() || until(deadline).count() == 0) {
      auto validations = validations_of(*live, *reply);
      co_await s.ledger.durable();
      auto read = [&s, validations, reply = *std::move(reply)]() mutable {
        for (const auto& one : validations)
          reply.searcher_events[one.event].validation_completed->metrics = metrics_of(s.store, one);
        return std::move(reply);
      };
      if (validations.empty()) co_return read();
      co_return co_await offload(s, std::move(read));
    }
    co_await watch.wait(until(deadline));
  }
}

using Holds = std::map<std::string, std::shared_ptr<Collector::Hold>>;

/// Keeps the checkpoints that trials to be created start from, until they are created. An answer that is
/// refused anyway, since its event was answered before, is not asked what became of them since.
asio::awaitable<Result<Holds>> hold_sources(Services& s, std::any principal, ExperimentId id,
                                            std::int64_t event_id, const std::vector<SearchWish>& wishes) {
  Holds holds;
  const auto* live = s.ledger.cluster().experiment(id);
  const auto* queue = live->search_events();
  if (queue == nullptr || queue->empty() || event_id < queue->front().id) co_return holds;
  const auto config = config::from_document(live->record().config);
  if (!config) co_return tl::unexpected(config.error());
  for (const auto& wish : wishes) {
    if (wish.checkpoint.empty() || holds.contains(wish.checkpoint)) continue;
    json::value name(wish.checkpoint);
    const auto allowed =
        co_await may(s, principal, access::Permission::ViewExperimentArtifacts, Kind::Checkpoint, name);
    if (!allowed && allowed.error().code() != ErrorCode::NotFound) co_return tl::unexpected(allowed.error());
    // Not 404, which means of an answer that its event was answered before.
    if (!allowed)
      co_return invalid_argument("trial {}: no checkpoint found with UUID {}", wish.request_id,
                                 wish.checkpoint);
    auto held = co_await hold_source(s, config->checkpoint_storage, wish.checkpoint);
    if (!held) co_return tl::unexpected(std::move(held).error().within("trial " + wish.request_id));
    holds.emplace(wish.checkpoint, *std::move(held));
  }
  co_return holds;
}

asio::awaitable<Result<Empty>> answer(Services& s, Context context, AnswerRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto* live = s.ledger.cluster().experiment(request.experiment_id);
  if (live == nullptr || live->finished()) {
    co_await s.ledger.durable();
    auto record = co_await stored(s, request.experiment_id);
    if (!record) co_return tl::unexpected(record.error());
    co_return failed_precondition("experiment {} is {}; its search accepts no more operations",
                                  request.experiment_id,
                                  state_name(s, *record).substr(std::string_view("STATE_").size()));
  }
  cluster::SearchAnswered answered{
      .id = request.experiment_id, .event_id = request.triggered_by_event.id, .wishes = {}};
  for (const auto& operation : request.searcher_operations) {
    auto wish = to_wish(operation, answered.wishes.size() + 1);
    if (!wish) co_return tl::unexpected(wish.error());
    answered.wishes.push_back(*std::move(wish));
  }
  const auto holds =
      co_await hold_sources(s, context.principal, request.experiment_id, answered.event_id, answered.wishes);
  if (!holds) co_return tl::unexpected(holds.error());
  cluster::Event event = std::move(answered);
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

}  // namespace

void add_search_routes(http::Router& router, Services& s) {
  router.add<EventsQuery, EventsReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/searcher_events",
      [&s](Context c, EventsQuery q) { return events(s, std::move(c), std::move(q)); },
      Doc{.summary = "Wait for the unanswered events of a custom search",
          .tag = "Custom searchers",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<AnswerRequest, Empty>(
      Verb::Post, "/api/v1/experiments/{experimentId}/searcher_operations",
      [&s](Context c, AnswerRequest r) { return answer(s, std::move(c), std::move(r)); },
      Doc{.summary = "Answer an event of a custom search, and all events before it, with operations",
          .tag = "Custom searchers",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
}

}  // namespace det::master
