// What the processes of a trial call: docs/reference/protocols.md §2.

#include "det/master/services.h"
#include "det/master/trials/allocations.h"
#include "det/master/trials/reports.h"
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

OperationReply operations_of(Services& s, TrialId id) {
  const auto* trial = s.ledger.cluster().trial(id);
  OperationReply reply;
  if (trial == nullptr) return reply;
  reply.closed = trial->closed;
  for (const auto& operation : trial->operations)
    reply.operations.push_back({operation.batches, operation.completed});
  return reply;
}

asio::awaitable<Result<OperationReply>> operations(Services& s, Context context, OperationQuery query) {
  const auto deadline = deadline_after(query.timeout_seconds);
  while (true) {
    const auto allocation = speaker(s, context.principal, query.trial_id);
    if (!allocation) co_return tl::unexpected(allocation.error());
    const auto reply = operations_of(s, query.trial_id);
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

/// Whether a user reports for a trial that is unmanaged.
bool from_outside(Services& s, const std::any& principal, TrialId trial) {
  return require_user(principal) && s.unmanaged.has(trial);
}

/// The result of a report as an answer that says nothing.
Result<Empty> answer(Result<void> done) {
  if (!done) return tl::unexpected(std::move(done).error());
  return Empty{};
}

Result<void> check_not_overloaded(const Services& s) {
  if (!s.store.overloaded()) return {};
  return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
}

/// A user's report for a trial of the cluster that does not run: it is kept, and nothing is decided by it.
asio::awaitable<Result<Empty>> keep(Services& s, Context context, experiment::MetricRecord record) {
  const auto who = co_await reporter(s, context.principal, record.trial_id);
  if (!who) co_return tl::unexpected(who.error());
  if (const auto newest = check_reported_run(record, who->run_id, false); !newest)
    co_return tl::unexpected(newest.error());
  record.run_id = who->run_id;
  if (const auto keeps_up = check_not_overloaded(s); !keeps_up) co_return tl::unexpected(keeps_up.error());
  auto read = [&s, record] { return s.store.check_metrics(record); };
  const auto fits = co_await offload(s, std::move(read));
  if (!fits) co_return tl::unexpected(fits.error());
  std::vector<store::Change> changes;
  changes.push_back(store::AddMetrics{std::move(record)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

/// Several measurements of one second are kept beside each other, the later ones as if they were of the next.
asio::awaitable<void> put_after_others(Services& s, experiment::MetricRecord& record) {
  constexpr std::size_t kRemembered = 10'000;
  const std::pair key(record.trial_id, record.group);
  if (!s.newest_in_time.contains(key)) {
    const store::MetricQuery query{
        .trial = record.trial_id, .group = record.group, .after_batches = record.batches - 1};
    auto read = [&s, query] { return s.store.metrics(query); };
    const auto later = co_await offload(s, std::move(read));
    if (s.newest_in_time.size() >= kRemembered) s.newest_in_time.clear();
    auto& newest = s.newest_in_time[key];
    for (const auto& one : later) newest = std::max(newest, one.batches);
  }
  auto& newest = s.newest_in_time[key];
  record.batches = std::max(record.batches, newest + 1);
  newest = record.batches;
}

asio::awaitable<Result<Empty>> metrics(Services& s, Context context, MetricsRequest request) {
  const auto trial = request.trial_id;
  if (const auto same = check_reported_trial(request); !same) co_return tl::unexpected(same.error());
  const bool outside = from_outside(s, context.principal, trial);
  const auto found =
      outside ? Result<const cluster::Allocation*>(nullptr) : speaker(s, context.principal, trial);
  if (!found && !require_user(context.principal)) co_return tl::unexpected(found.error());
  const bool in_time = !has_steps(request);
  auto read_in = read_report(std::move(request), s.ledger.now());
  if (!read_in) co_return tl::unexpected(read_in.error());
  auto record = *std::move(read_in);
  if (in_time) co_await put_after_others(s, record);
  if (!found) co_return co_await keep(s, std::move(context), std::move(record));
  if (outside) {
    if (const auto keeps_up = check_not_overloaded(s); !keeps_up) co_return tl::unexpected(keeps_up.error());
    co_return answer(co_await s.unmanaged.report(std::move(record)));
  }
  const auto& allocation = **found;
  if (const auto newest = check_reported_run(record, allocation.record.run_id, true); !newest)
    co_return tl::unexpected(newest.error());
  record.run_id = allocation.record.run_id;
  const auto id = allocation.record.id;
  const auto& experiment = *s.ledger.cluster().experiment(allocation.record.experiment_id);
  DET_CO_TRY(auto event,
             report_event(id, record, experiment.config().searcher, experiment.hears_validations()));
  if (const auto keeps_up = check_not_overloaded(s); !keeps_up) co_return tl::unexpected(keeps_up.error());
  // Reports that go forward cannot contradict what is stored; others are compared first.
  if (!goes_forward(s.newest_report, id, record)) {
    auto read = [&s, record] { return s.store.check_metrics(record); };
    const auto fits = co_await offload(s, std::move(read));
    if (!fits) co_return tl::unexpected(fits.error());
    if (s.ledger.cluster().allocation(id) == nullptr)
      co_return fail(ErrorCode::Gone, "allocation {} is over", id);
  }
  note_newest(s.newest_report, id, record);  // the end of the allocation, which is live, takes it away
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
    auto error = unmanaged_error(request.reason, request.message);
    if (!error) co_return Empty{};
    co_return answer(
        co_await s.unmanaged.heard(request.trial_id, experiment::State::Error, *std::move(error)));
  }
  const auto allocation = speaker(s, context.principal, request.trial_id);
  if (!allocation) co_return tl::unexpected(allocation.error());
  DET_CO_TRY(auto what, early_exit_event((*allocation)->record.id, request.reason, request.message));
  co_return co_await heard(s, std::move(context), std::move(what));
}

/// Of an experiment that has ended.
asio::awaitable<Result<BestReply>> stored_best(Services& s, ExperimentId id) {
  const store::ExperimentQuery query{.ids = {id}};
  auto read = [&s, query] { return s.store.list_experiments(query).experiments; };
  const auto found = co_await offload(s, std::move(read));
  if (found.empty()) co_return not_found("experiment '{}' not found", id);
  const auto metric = found.front().best_metric;
  if (!metric) co_return not_found("experiment {} has no validation", id);
  co_return BestReply{*metric};
}

asio::awaitable<Result<BestReply>> best(Services& s, ExperimentId id) {
  if (s.unmanaged.has(id)) {
    const auto metric = co_await s.unmanaged.best(id);
    if (!metric) co_return tl::unexpected(metric.error());
    if (!*metric) co_return not_found("experiment {} has no validation yet", id);
    co_return BestReply{**metric};
  }
  const auto* experiment = s.ledger.cluster().experiment(id);
  if (experiment == nullptr) co_return co_await stored_best(s, id);
  const auto metric =
      best_searcher_metric(experiment->trials(), experiment->config().searcher.smaller_is_better);
  if (!metric) co_return not_found("experiment {} has no validation yet", id);
  co_await s.ledger.durable();
  co_return BestReply{*metric};
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
  router.add<CompletedRequest, OperationReply>(
      Verb::Post, "/api/v1/trials/{trialId}/searcher/completed_operation",
      [&s](Context c, CompletedRequest r) -> asio::awaitable<Result<OperationReply>> {
        const auto allocation = speaker(s, c.principal, r.trial_id);
        if (!allocation) co_return tl::unexpected(allocation.error());
        DET_CO_TRY(auto what, completion_event((*allocation)->record.id, r.trial_id,
                                               r.op.validate_after.length, r.searcher_metric));
        const auto id = r.trial_id;
        const auto done = co_await heard(s, std::move(c), std::move(what));
        if (!done) co_return tl::unexpected(done.error());
        co_return operations_of(s, id);
      },
      Doc{.summary =
              "Report that a trial has completed its searcher operation; the answer has what is known of the "
              "next",
          .tag = tag,
          .errors = {ErrorCode::Gone}});
  router.add<MetricsRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/metrics",
      [&s](Context c, MetricsRequest r) { return metrics(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report metrics of a trial; durable when the call returns",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone, ErrorCode::AlreadyExists}});
  for (const std::string group : {"training", "validation"})
    router.add<TrialMetrics, Empty>(
        Verb::Post, fmt::format("/api/v1/trials/{{trialId}}/{}_metrics", group),
        [&s, group](Context c, TrialMetrics r) {
          const auto trial = r.trial_id;
          return metrics(s, std::move(c), MetricsRequest{trial, group, std::move(r)});
        },
        Doc{.summary = "Report metrics of the group " + group,
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::Gone, ErrorCode::AlreadyExists}});
  router.add<ProgressRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/progress",
      [&s](Context c, ProgressRequest r) -> asio::awaitable<Result<Empty>> {
        if (from_outside(s, c.principal, r.trial_id)) {
          if (const auto fine = check_progress(r.progress, true); !fine)
            co_return tl::unexpected(fine.error());
          co_return answer(co_await s.unmanaged.progressed(r.trial_id, r.progress));
        }
        const auto allocation = speaker(s, c.principal, r.trial_id);
        if (!allocation) co_return tl::unexpected(allocation.error());
        if (const auto fine = check_progress(r.progress, r.is_raw); !fine)
          co_return tl::unexpected(fine.error());
        co_return Empty{};  // progress is told by the batches of training reports
      },
      Doc{.summary = "Report the progress of a trial, from 0 to 1",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
  router.add<EarlyExitRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/early_exit",
      [&s](Context c, EarlyExitRequest r) { return early_exit(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report that a trial ends early",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
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
      Doc{.summary = "Report what a trial is doing",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
  router.add<BestQuery, BestReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/searcher/best_searcher_validation_metric",
      [&s](Context, BestQuery q) { return best(s, q.experiment_id); },
      Doc{.summary = "Get the best searcher metric of an experiment so far",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
