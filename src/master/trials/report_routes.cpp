// What the processes of a trial call: docs/reference/protocols.md §2.

#include <cmath>
#include <limits>

#include "det/master/services.h"
#include "det/master/trials/allocations.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct OperationQuery {
  TrialId trial_id;
  std::int32_t known = 0;
  double timeout_seconds = 60;
  bool or_preempted = false;  ///< answer, too, when the allocation is asked to give way
};
BOOST_DESCRIBE_STRUCT(OperationQuery, (), (trial_id, known, timeout_seconds, or_preempted))
struct OperationItem {
  std::int64_t length = 0;
  bool completed = false;
};
BOOST_DESCRIBE_STRUCT(OperationItem, (), (length, completed))
struct OperationReply {
  std::vector<OperationItem> operations;
  bool closed = false;
  std::string unit = "batches";
};
BOOST_DESCRIBE_STRUCT(OperationReply, (), (operations, closed, unit))

struct ValidateAfter {
  std::int64_t length = 0;
};
BOOST_DESCRIBE_STRUCT(ValidateAfter, (), (length))
struct CompletedOp {
  ValidateAfter validate_after;
};
BOOST_DESCRIBE_STRUCT(CompletedOp, (), (validate_after))
struct CompletedRequest {
  TrialId trial_id;
  CompletedOp op;
  double searcher_metric = 0;
  static bool required(std::string_view name) { return name == "op" || name == "searcher_metric"; }
};
BOOST_DESCRIBE_STRUCT(CompletedRequest, (), (trial_id, op, searcher_metric))

struct ReportedMetrics {
  json::object avg_metrics;
  json::array batch_metrics;
  std::int64_t num_inputs = 0;  ///< ours: records, over all slots
  static bool required(std::string_view name) { return name == "avg_metrics"; }
};
BOOST_DESCRIBE_STRUCT(ReportedMetrics, (), (avg_metrics, batch_metrics, num_inputs))
struct TrialMetrics {
  TrialId trial_id;
  std::int32_t trial_run_id = 0;
  std::int64_t steps_completed = 0;
  std::optional<Time> report_time;
  ReportedMetrics metrics;
  static bool required(std::string_view name) { return name == "metrics"; }
};
BOOST_DESCRIBE_STRUCT(TrialMetrics, (), (trial_id, trial_run_id, steps_completed, report_time, metrics))
struct MetricsRequest {
  TrialId trial_id;
  std::string group;
  TrialMetrics metrics;
  static bool required(std::string_view name) { return name == "group" || name == "metrics"; }
};
BOOST_DESCRIBE_STRUCT(MetricsRequest, (), (trial_id, group, metrics))

constexpr std::size_t kEarlyExitMessageMax = 4000;

struct ProgressRequest {
  TrialId trial_id;
  double progress = 0;
  bool is_raw = false;
};
BOOST_DESCRIBE_STRUCT(ProgressRequest, (), (trial_id, progress, is_raw))
struct EarlyExitRequest {
  TrialId trial_id;
  std::string reason;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(EarlyExitRequest, (), (trial_id, reason, message))
struct RunnerRequest {
  TrialId trial_id;
  std::string state;
};
BOOST_DESCRIBE_STRUCT(RunnerRequest, (), (trial_id, state))

struct BestQuery {
  ExperimentId experiment_id;
};
BOOST_DESCRIBE_STRUCT(BestQuery, (), (experiment_id))
struct BestReply {
  double metric = 0;
};
BOOST_DESCRIBE_STRUCT(BestReply, (), (metric))

asio::awaitable<Result<OperationReply>> operations(Services& s, Context context, OperationQuery query) {
  const auto deadline = deadline_after(query.timeout_seconds);
  while (true) {
    const auto allocation = speaker(s, context.principal, query.trial_id);
    if (!allocation) co_return tl::unexpected(allocation.error());
    const auto* trial = s.ledger.cluster().trial(query.trial_id);
    OperationReply reply{.operations = {}, .closed = trial->closed};
    for (const auto& operation : trial->operations)
      reply.operations.push_back({operation.batches, operation.completed});
    const bool news = reply.closed || static_cast<std::int32_t>(reply.operations.size()) > query.known;
    const bool leaves = query.or_preempted && ((*allocation)->preempt || (*allocation)->kill);
    if (news || leaves || until(deadline).count() == 0) {
      co_await s.ledger.durable();
      co_return reply;
    }
    const auto id = (*allocation)->record.id;  // what it points to may be gone after the wait
    co_await s.ledger.wait(Ledger::trial_key(query.trial_id), until(deadline));
    if (s.ledger.cluster().allocation(id) == nullptr)
      co_return fail(ErrorCode::Gone, "allocation {} is over", id);
  }
}

/// Batches of the newest report of the group; the largest number when there is none, or nobody knows.
std::int64_t newest_batches(const Services& s, const std::string& allocation, const std::string& group) {
  constexpr auto kUnknown = std::numeric_limits<std::int64_t>::max();
  const auto found = s.newest_report.find(allocation);
  if (found == s.newest_report.end()) return kUnknown;
  const auto newest = found->second.find(group);
  return newest == found->second.end() ? kUnknown : newest->second;
}

/// Requires: the allocation is live, so that its end will take this away again.
void note_newest(Services& s, const std::string& allocation, const experiment::MetricRecord& report) {
  constexpr std::size_t kGroupsMax = 256;  // those beyond are compared with what is stored, each time
  auto& groups = s.newest_report[allocation];
  if (groups.size() >= kGroupsMax && !groups.contains(report.group)) return;
  auto& newest = groups[report.group];
  newest = std::max(newest, report.batches);
}

/// The report as it is kept; its run is the one that it names, 0 if it names none.
Result<experiment::MetricRecord> read_report(MetricsRequest request, Time now) {
  if (request.group.empty() || request.group.size() > 256 || request.group.find('.') != std::string::npos)
    return invalid_argument("group is '{}'; the name of a metric group must have 1 to 256 bytes and no dot",
                            request.group);
  if (request.metrics.steps_completed < 0)
    return invalid_argument("stepsCompleted is {}; it cannot be negative", request.metrics.steps_completed);
  if (request.metrics.steps_completed > std::numeric_limits<std::int32_t>::max())
    return invalid_argument("stepsCompleted is {}; it must be at most {}", request.metrics.steps_completed,
                            std::numeric_limits<std::int32_t>::max());
  if (const auto inputs = request.metrics.metrics.num_inputs;
      inputs < 0 || inputs > std::numeric_limits<std::int32_t>::max())
    return invalid_argument("numInputs is {}; it must be from 0 to 2147483647", inputs);
  return experiment::MetricRecord{.trial_id = request.trial_id,
                                  .run_id = request.metrics.trial_run_id,
                                  .group = std::move(request.group),
                                  .batches = request.metrics.steps_completed,
                                  .avg_metrics = std::move(request.metrics.metrics.avg_metrics),
                                  .batch_metrics = std::move(request.metrics.metrics.batch_metrics),
                                  .records = request.metrics.metrics.num_inputs,
                                  .report_time = request.metrics.report_time.value_or(now)};
}

/// The searcher's metric in a validation; without it the search would wait for ever.
Result<double> searcher_metric(const experiment::MetricRecord& validation, const std::string& name) {
  const auto* value = validation.avg_metrics.if_contains(name);
  const auto number = value == nullptr ? std::nullopt : json::to_double(*value);
  if (number) return *number;
  if (value != nullptr)
    return invalid_argument(
        "searcher metric '{}' is {} in the validation after {} batches; it must be a number", name,
        json::serialize(*value), validation.batches);
  std::vector<std::string> names;
  for (const auto& [other, _] : validation.avg_metrics) names.emplace_back(other);
  return invalid_argument(
      "searcher metric '{1}' is missing from the validation after {0} batches; reported metrics: {2}",
      validation.batches, name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

/// Whether a user reports for a trial that is unmanaged.
bool from_outside(Services& s, const std::any& principal, TrialId trial) {
  return require_user(principal) && s.unmanaged.has(trial);
}

/// The result of a report as an answer that says nothing.
Result<Empty> answer(Result<void> done) {
  if (!done) return tl::unexpected(std::move(done).error());
  return Empty{};
}

/// How far the trial is in what `searcher.max_time` counts, where the search asks for it with each
/// validation.
Result<std::optional<double>> time_of(const experiment::Experiment& experiment,
                                      const store::MetricRecord& record) {
  if (!experiment.hears_validations()) return std::optional<double>();
  const auto& name = experiment.config().searcher.time_metric;
  const auto* value = record.avg_metrics.if_contains(name);
  const auto time = value == nullptr ? std::nullopt : json::to_double(*value);
  if (time && std::isfinite(*time)) return time;
  if (value == nullptr && name == "batches") return static_cast<double>(record.batches);
  if (value == nullptr && (name == "epochs" || name == "records")) return std::optional<double>();
  return invalid_argument(
      "searcher.time_metric '{}' {} the metrics of this validation; each validation must report it as a "
      "number, because searcher.max_time counts it",
      name, value == nullptr ? "is not among" : "is not a finite number in");
}

/// A user's report for a trial of the cluster that does not run: it is kept, and nothing is decided by it.
asio::awaitable<Result<Empty>> keep(Services& s, Context context, experiment::MetricRecord record) {
  const auto who = co_await reporter(s, context.principal, record.trial_id);
  if (!who) co_return tl::unexpected(who.error());
  if (record.run_id != 0 && record.run_id != who->run_id)
    co_return fail(ErrorCode::AlreadyExists, "run {} of trial {} cannot report: its newest run is {}",
                   record.run_id, record.trial_id, who->run_id);
  record.run_id = who->run_id;
  if (s.store.overloaded())
    co_return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
  auto read = [&s, record] { return s.store.check_metrics(record); };
  const auto fits = co_await offload(s, std::move(read));
  if (!fits) co_return tl::unexpected(fits.error());
  std::vector<store::Change> changes;
  changes.push_back(store::AddMetrics{std::move(record)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> metrics(Services& s, Context context, MetricsRequest request) {
  const auto trial = request.trial_id;
  if (const auto said = request.metrics.trial_id; said && said != trial)
    co_return invalid_argument("metrics.trialId is {}, but the path names trial {}; they must be equal", said,
                               trial);
  const bool outside = from_outside(s, context.principal, trial);
  const auto found =
      outside ? Result<const cluster::Allocation*>(nullptr) : speaker(s, context.principal, trial);
  if (!found && !require_user(context.principal)) co_return tl::unexpected(found.error());
  auto read_in = read_report(std::move(request), s.ledger.now());
  if (!read_in) co_return tl::unexpected(read_in.error());
  auto record = *std::move(read_in);
  if (!found) co_return co_await keep(s, std::move(context), std::move(record));
  if (outside) {
    if (s.store.overloaded())
      co_return fail(ErrorCode::Unavailable,
                     "the database cannot keep up with the reports; retry in a moment");
    co_return answer(co_await s.unmanaged.report(std::move(record)));
  }
  const auto& allocation = **found;
  if (record.run_id != 0 && record.run_id != allocation.record.run_id)
    co_return fail(ErrorCode::AlreadyExists, "run {} of trial {} cannot report: run {} has replaced it",
                   record.run_id, trial, allocation.record.run_id);
  record.run_id = allocation.record.run_id;
  const auto id = allocation.record.id;
  const auto& config = s.ledger.cluster().experiment(allocation.record.experiment_id)->config();
  std::optional<cluster::Event> event;
  if (record.group == "training") event = cluster::TrialProgressed{id, record.batches, ""};
  if (record.group == "validation") {
    const auto number = searcher_metric(record, config.searcher.metric);
    if (number) {
      const auto& experiment = *s.ledger.cluster().experiment(allocation.record.experiment_id);
      DET_CO_TRY(const auto time, time_of(experiment, record));
      event = cluster::ValidationReported{id, record.batches, *number, time};
    } else if (config.searcher.name == "single" && !record.avg_metrics.contains(config.searcher.metric)) {
      // Nothing is decided by it, so a trial may also report other validations.
      event = cluster::TrialProgressed{id, record.batches, ""};
    } else {
      co_return tl::unexpected(number.error());
    }
  }
  if (s.store.overloaded())
    co_return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
  // Reports that go forward cannot contradict what is stored; others are compared first.
  if (record.batches <= newest_batches(s, id, record.group)) {
    auto read = [&s, record] { return s.store.check_metrics(record); };
    const auto fits = co_await offload(s, std::move(read));
    if (!fits) co_return tl::unexpected(fits.error());
    if (s.ledger.cluster().allocation(id) == nullptr)
      co_return fail(ErrorCode::Gone, "allocation {} is over", id);
  }
  note_newest(s, id, record);
  std::vector<store::Change> changes;
  changes.push_back(store::AddMetrics{std::move(record)});
  if (event) {
    auto by = principal_name(context.principal);
    const auto done = co_await s.ledger.handle(*std::move(event), std::move(changes), std::move(by));
    if (!done) co_return tl::unexpected(done.error());
  } else {
    co_await s.ledger.write(std::move(changes));
  }
  co_return Empty{};
}

asio::awaitable<Result<Empty>> early_exit(Services& s, Context context, EarlyExitRequest request) {
  if (from_outside(s, context.principal, request.trial_id)) {
    // No search waits for it; only what went wrong is news.
    if (request.reason != "EXITED_REASON_ERRORED") co_return Empty{};
    co_return answer(co_await s.unmanaged.heard(request.trial_id, experiment::State::Error,
                                                request.message.substr(0, kEarlyExitMessageMax)));
  }
  const auto allocation = speaker(s, context.principal, request.trial_id);
  if (!allocation) co_return tl::unexpected(allocation.error());
  cluster::EarlyExitReported event{(*allocation)->record.id, search::ExitedReason::InvalidHp, {}};
  if (request.reason == "EXITED_REASON_USER_REQUESTED_STOP")
    event.reason = search::ExitedReason::UserRequestedStop;
  else if (request.reason == "EXITED_REASON_INIT_INVALID_HP")
    event.reason = search::ExitedReason::InitInvalidHp;
  else if (request.reason == "EXITED_REASON_ERRORED")
    event = {event.allocation_id, search::ExitedReason::Errored,
             request.message.substr(0, kEarlyExitMessageMax)};
  else if (request.reason != "EXITED_REASON_INVALID_HP")
    co_return invalid_argument(
        "reason is '{}'; it must be EXITED_REASON_INVALID_HP, EXITED_REASON_INIT_INVALID_HP, "
        "EXITED_REASON_USER_REQUESTED_STOP or EXITED_REASON_ERRORED",
        request.reason);
  cluster::Event what = event;
  co_return co_await heard(s, std::move(context), std::move(what));
}

}  // namespace

void add_report_routes(http::Router& router, Services& s) {
  const std::string tag = "Trial processes";
  router.add<OperationQuery, OperationReply>(
      Verb::Get, "/api/v1/trials/{trialId}/searcher/operation",
      [&s](Context c, OperationQuery q) { return operations(s, std::move(c), std::move(q)); },
      Doc{.summary = "Get the length to which a trial must train; waits for the next operation",
          .tag = tag,
          .errors = {ErrorCode::Gone}});
  router.add<CompletedRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/searcher/completed_operation",
      [&s](Context c, CompletedRequest r) -> asio::awaitable<Result<Empty>> {
        const auto allocation = speaker(s, c.principal, r.trial_id);
        if (!allocation) co_return tl::unexpected(allocation.error());
        if (std::isnan(r.searcher_metric))
          co_return invalid_argument(
              "searcherMetric of trial {} at length {} is NaN, which the search cannot compare; the trial "
              "must fail",
              r.trial_id, r.op.validate_after.length);
        cluster::OperationCompleted event{(*allocation)->record.id, r.op.validate_after.length,
                                          r.searcher_metric};
        cluster::Event what = event;
        co_return co_await heard(s, std::move(c), std::move(what));
      },
      Doc{.summary = "Report that a trial has completed its searcher operation",
          .tag = tag,
          .errors = {ErrorCode::Gone}});
  router.add<MetricsRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/metrics",
      [&s](Context c, MetricsRequest r) { return metrics(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report metrics of a trial; durable when the call returns",
          .tag = tag,
          .errors = {ErrorCode::Gone, ErrorCode::AlreadyExists}});
  for (const std::string group : {"training", "validation"})
    router.add<TrialMetrics, Empty>(
        Verb::Post, fmt::format("/api/v1/trials/{{trialId}}/{}_metrics", group),
        [&s, group](Context c, TrialMetrics r) {
          const auto trial = r.trial_id;
          return metrics(s, std::move(c), MetricsRequest{trial, group, std::move(r)});
        },
        Doc{.summary = "Report metrics of the group " + group,
            .tag = tag,
            .errors = {ErrorCode::Gone, ErrorCode::AlreadyExists}});
  router.add<ProgressRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/progress",
      [&s](Context c, ProgressRequest r) -> asio::awaitable<Result<Empty>> {
        if (from_outside(s, c.principal, r.trial_id)) {
          if (!(r.progress >= 0 && r.progress <= 1))
            co_return invalid_argument("progress is {}; it must be from 0 to 1", r.progress);
          co_return answer(co_await s.unmanaged.progressed(r.trial_id, r.progress));
        }
        const auto allocation = speaker(s, c.principal, r.trial_id);
        if (!allocation) co_return tl::unexpected(allocation.error());
        if (!std::isfinite(r.progress) || r.progress < 0 || (r.is_raw && r.progress > 1))
          co_return invalid_argument("progress is {}; it must be from 0 to 1", r.progress);
        co_return Empty{};  // progress is told by the batches of training reports
      },
      Doc{.summary = "Report the progress of a trial, from 0 to 1", .tag = tag, .errors = {ErrorCode::Gone}});
  router.add<EarlyExitRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/early_exit",
      [&s](Context c, EarlyExitRequest r) { return early_exit(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report that a trial ends early", .tag = tag, .errors = {ErrorCode::Gone}});
  router.add<RunnerRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/runner/metadata",
      [&s](Context c, RunnerRequest r) -> asio::awaitable<Result<Empty>> {
        if (from_outside(s, c.principal, r.trial_id))
          co_return answer(co_await s.unmanaged.runner_state(r.trial_id, r.state.substr(0, 256)));
        const auto allocation = speaker(s, c.principal, r.trial_id);
        if (!allocation) co_return tl::unexpected(allocation.error());
        cluster::TrialProgressed event{(*allocation)->record.id, 0, r.state};
        cluster::Event what = event;
        co_return co_await heard(s, std::move(c), std::move(what));
      },
      Doc{.summary = "Report what a trial is doing", .tag = tag, .errors = {ErrorCode::Gone}});
  router.add<BestQuery, BestReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/searcher/best_searcher_validation_metric",
      [&s](Context, BestQuery q) -> asio::awaitable<Result<BestReply>> {
        if (s.unmanaged.has(q.experiment_id)) {
          const auto best = co_await s.unmanaged.best(q.experiment_id);
          if (!best) co_return tl::unexpected(best.error());
          if (!*best) co_return not_found("experiment {} has no validation yet", q.experiment_id);
          co_return BestReply{**best};
        }
        const auto* experiment = s.ledger.cluster().experiment(q.experiment_id);
        std::optional<double> best;
        if (experiment == nullptr) {  // it has ended
          const store::ExperimentQuery query{.ids = {q.experiment_id}};
          auto read = [&s, query] { return s.store.list_experiments(query).experiments; };
          const auto found = co_await offload(s, std::move(read));
          if (found.empty()) co_return not_found("experiment '{}' not found", q.experiment_id);
          best = found.front().best_metric;
          if (!best) co_return not_found("experiment {} has no validation", q.experiment_id);
          co_return BestReply{*best};
        }
        const bool smaller = experiment->config().searcher.smaller_is_better;
        for (const auto& [id, trial] : experiment->trials()) {
          const auto& metric = trial.record.best_metric;
          if (metric && !std::isnan(*metric) && (!best || (smaller ? *metric < *best : *metric > *best)))
            best = metric;
        }
        if (!best) co_return not_found("experiment {} has no validation yet", q.experiment_id);
        co_await s.ledger.durable();
        co_return BestReply{*best};
      },
      Doc{.summary = "Get the best searcher metric of an experiment so far",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
