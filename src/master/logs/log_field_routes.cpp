// By what a log can be filtered, and for how long it is kept.

#include <set>

#include "det/master/experiments/experiment_actions.h"
#include "det/master/policies/policy_book.h"
#include "det/master/services.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::ItemWriter;
using http::Verb;

struct OfTrial {
  TrialId trial_id;
  bool follow = false;
};
BOOST_DESCRIBE_STRUCT(OfTrial, (), (trial_id, follow))
struct OfTask {
  std::string task_id;
  bool follow = false;
};
BOOST_DESCRIBE_STRUCT(OfTask, (), (task_id, follow))
struct Fields {
  std::vector<std::string> agent_ids, container_ids, allocation_ids, stdtypes, sources;
  std::vector<std::int32_t> rank_ids;
};
BOOST_DESCRIBE_STRUCT(Fields, (), (agent_ids, container_ids, allocation_ids, stdtypes, sources, rank_ids))

struct ById {
  TrialId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct RemainingReply {
  std::optional<std::int32_t> remaining_days;  ///< -1: kept for ever
};
BOOST_DESCRIBE_STRUCT(RemainingReply, (), (remaining_days))
struct RetainRequest {
  TrialId trial_id;
  ExperimentId experiment_id;
  std::int32_t num_days = 0;
  static bool required(std::string_view name) { return name == "num_days"; }
};
BOOST_DESCRIBE_STRUCT(RetainRequest, (), (trial_id, experiment_id, num_days))

struct CleanupReply {
  std::string removed_count;  ///< lines, as a number
};
BOOST_DESCRIBE_STRUCT(CleanupReply, (), (removed_count))

asio::awaitable<Result<http::Empty>> retain(Services& s, RetainRequest request) {
  if (request.num_days < -1 || request.num_days > 32'767)
    co_return invalid_argument("numDays is {}; it must be from -1 (forever) to 32767", request.num_days);
  const bool of_trial = request.trial_id.value() != 0;
  auto read = [&s, request, of_trial]() -> std::optional<std::int64_t> {
    const auto trial = of_trial ? s.store.trial(request.trial_id) : std::nullopt;
    if (of_trial && !trial) return std::nullopt;
    const auto record = s.store.experiment(of_trial ? trial->experiment_id : request.experiment_id);
    return record ? std::optional(record->project_id) : std::nullopt;
  };
  const auto project = co_await offload(s, std::move(read));
  if (!project)
    co_return of_trial ? not_found("trial '{}' not found", request.trial_id)
                       : not_found("experiment '{}' not found", request.experiment_id);
  if (const auto fine = check_log_retention(s, ProjectId(*project), request.num_days); !fine)
    co_return tl::unexpected(fine.error());
  store::SetLogRetention change{.days = request.num_days};
  if (of_trial)
    change.trial = request.trial_id;
  else
    change.experiment = request.experiment_id;
  std::vector<store::Change> changes;
  changes.push_back(change);
  co_await s.ledger.write(std::move(changes));
  co_return http::Empty{};
}

asio::awaitable<Result<RemainingReply>> remaining(Services& s, TrialId id) {
  struct Found {
    std::optional<Time> ended;
    int days = -1;
  };
  auto read = [&s, id]() -> std::optional<Found> {
    const auto trial = s.store.trial(id);
    if (!trial) return std::nullopt;
    return Found{trial->end_time, s.store.log_retention(id).value_or(s.log_retention.days)};
  };
  const auto found = co_await offload(s, std::move(read));
  if (!found) co_return not_found("trial '{}' not found", id);
  co_return RemainingReply{remaining_days(found->days, found->ended, s.ledger.now())};
}

Fields fields_of(const std::vector<experiment::LogRecord>& origins) {
  std::set<std::string> agents, containers, allocations, types, sources;
  std::set<int> ranks;
  const auto add = [](std::set<std::string>& all, const std::string& one) {
    if (!one.empty()) all.insert(one);
  };
  for (const auto& origin : origins) {
    add(agents, origin.agent_id);
    add(containers, origin.container_id);
    add(allocations, origin.allocation_id);
    add(types, origin.stdtype);
    add(sources, origin.source);
    if (origin.rank) ranks.insert(*origin.rank);
  }
  Fields fields;
  fields.agent_ids.assign(agents.begin(), agents.end());
  fields.container_ids.assign(containers.begin(), containers.end());
  fields.allocation_ids.assign(allocations.begin(), allocations.end());
  fields.stdtypes.assign(types.begin(), types.end());
  fields.sources.assign(sources.begin(), sources.end());
  fields.rank_ids.assign(ranks.begin(), ranks.end());
  return fields;
}

asio::awaitable<Result<void>> send(Services& s, std::string task, ItemWriter<Fields>& out) {
  auto read = [&s, task] { return s.store.log_origins(task); };
  const auto origins = co_await offload(s, std::move(read));
  const auto fields = fields_of(origins);
  co_await out.write(fields);
  co_return Result<void>{};
}

}  // namespace

asio::awaitable<Result<http::Empty>> retain_logs(Services& s, ExperimentId id, std::int32_t days) {
  return retain(s, RetainRequest{.trial_id = {}, .experiment_id = id, .num_days = days});
}

void add_log_field_routes(http::Router& router, Services& s) {
  router.add<ById, RemainingReply>(
      Verb::Get, "/api/v1/trials/{id}/remaining_log_retention_days",
      [&s](Context, ById q) { return remaining(s, q.id); },
      Doc{.summary = "Get for how many more days the log of a trial is kept; -1 for as long as the "
                     "experiment exists",
          .tag = "Logs",
          .errors = {ErrorCode::NotFound}});
  for (const auto* path :
       {"/api/v1/trials/{trialId}/retain_logs", "/api/v1/experiments/{experimentId}/retain_logs"})
    router.add<RetainRequest, http::Empty>(
        Verb::Put, path, [&s](Context, RetainRequest r) { return retain(s, r); },
        Doc{.summary = "Set how many days a log is kept after the end; -1 keeps it as long as the experiment "
                       "exists, 0 until the next cleanup",
            .tag = "Logs",
            .errors = {ErrorCode::NotFound, ErrorCode::InvalidArgument}});
  router.add<http::Empty, CleanupReply>(
      Verb::Post, "/api/v1/cleanup_logs",
      [&s](Context, http::Empty) -> asio::awaitable<Result<CleanupReply>> {
        const auto lines = co_await clean_logs(s);
        co_return CleanupReply{std::to_string(lines)};
      },
      Doc{.summary = "Delete all expired logs now", .tag = "Logs"});
  router.add_stream<OfTrial, Fields>(
      Verb::Get, "/api/v1/trials/{trialId}/logs/fields",
      [&s](Context, OfTrial in, ItemWriter<Fields>& out) -> asio::awaitable<Result<void>> {
        auto read = [&s, id = in.trial_id] { return s.store.trial(id); };
        const auto trial = co_await offload(s, std::move(read));
        if (!trial) co_return not_found("trial '{}' not found", in.trial_id);
        co_return co_await send(s, trial->task_id, out);
      },
      Doc{.summary = "List the values by which the log of a trial can be filtered",
          .tag = "Logs",
          .errors = {ErrorCode::NotFound}});
  router.add_stream<OfTask, Fields>(
      Verb::Get, "/api/v1/tasks/{taskId}/logs/fields",
      [&s](Context, OfTask in, ItemWriter<Fields>& out) -> asio::awaitable<Result<void>> {
        auto read = [&s, id = in.task_id] { return s.store.trial_of_task(id).has_value(); };
        const auto known = co_await offload(s, std::move(read));
        if (!known) {
          const auto task = co_await find_task(s, in.task_id);
          if (!task) co_return tl::unexpected(task.error());
        }
        co_return co_await send(s, in.task_id, out);
      },
      Doc{.summary = "List the values by which the log of a task can be filtered",
          .tag = "Logs",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
