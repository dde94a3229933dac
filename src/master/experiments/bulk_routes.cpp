// The same done to many experiments, or to the experiments of many runs, at once. Each is answered on its
// own.

#include <functional>

#include "det/master/experiments/experiment_actions.h"
#include "det/master/experiments/experiment_rules.h"
#include "det/master/lists/find.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct BulkFilters {
  std::string name, description;
  std::vector<std::string> labels, states;
  std::optional<bool> archived;
  std::vector<UserId> user_ids;
  std::optional<std::int64_t> project_id;
  std::vector<ExperimentId> excluded_experiment_ids;
};
BOOST_DESCRIBE_STRUCT(BulkFilters, (),
                      (name, description, labels, states, archived, user_ids, project_id,
                       excluded_experiment_ids))
struct BulkRequest {
  std::int64_t project_id = 0;
  std::vector<ExperimentId> experiment_ids;
  std::optional<BulkFilters> filters;  ///< instead of ids
  std::int64_t destination_project_id = 0;
  std::optional<std::int32_t> num_days;  ///< for which logs are kept
};
BOOST_DESCRIBE_STRUCT(BulkRequest, (),
                      (project_id, experiment_ids, filters, destination_project_id, num_days))
struct ExperimentResult {
  std::string error;
  ExperimentId id;
};
BOOST_DESCRIBE_STRUCT(ExperimentResult, (), (error, id))
struct BulkReply {
  std::vector<ExperimentResult> results;
};
BOOST_DESCRIBE_STRUCT(BulkReply, (), (results))

struct RunsRequest {
  std::vector<TrialId> run_ids;
  std::string filter;  ///< instead of ids: all that match
  std::int64_t project_id = 0, source_project_id = 0, destination_project_id = 0;
  bool skip_multitrial = false;  ///< leave out runs that are not the only one of their experiment
};
BOOST_DESCRIBE_STRUCT(RunsRequest, (),
                      (run_ids, filter, project_id, source_project_id, destination_project_id,
                       skip_multitrial))
struct RunResult {
  std::string error;
  TrialId id;
};
BOOST_DESCRIBE_STRUCT(RunResult, (), (error, id))
struct BulkRunsReply {
  std::vector<RunResult> results;
};
BOOST_DESCRIBE_STRUCT(BulkRunsReply, (), (results))

/// What is done to each, and what one needs for it.
struct Action {
  std::function<asio::awaitable<Result<Empty>>(Context, ExperimentId, std::int64_t destination)> act;
  access::Permission permission;
};

/// The action, where the caller may.
asio::awaitable<Result<Empty>> act(Services& s, Context context, const Action& action, ExperimentId id,
                                   std::int64_t destination) {
  const auto allowed = co_await may(s, context.principal, action.permission, Kind::Experiment, id.value());
  if (!allowed) co_return tl::unexpected(allowed.error());
  if (destination > 0) {
    const auto open =
        co_await may(s, context.principal, access::Permission::CreateExperiment, Kind::Project, destination);
    if (!open) co_return tl::unexpected(open.error());
  }
  co_return co_await action.act(std::move(context), id, destination);
}

asio::awaitable<Result<std::vector<ExperimentId>>> chosen(Services& s, const std::any& principal,
                                                          const BulkRequest& request) {
  if (!request.filters) {
    if (const auto fine = check_bulk_size("experimentIds", request.experiment_ids.size()); !fine)
      co_return tl::unexpected(fine.error());
    co_return request.experiment_ids;
  }
  const auto& in = *request.filters;
  auto states = parse_states(in.states);
  if (!states) co_return tl::unexpected(states.error());
  store::ExperimentQuery query{.states = *std::move(states), .archived = in.archived};
  query.name = in.name;
  query.description = in.description;
  query.labels = in.labels;
  query.owners = in.user_ids;
  query.not_ids = in.excluded_experiment_ids;
  query.project_id = in.project_id;
  if (!query.project_id && request.project_id > 0) query.project_id = request.project_id;
  query.projects = Sight(s, principal, access::Permission::ViewExperimentMetadata).projects();
  query.page.limit = static_cast<std::int64_t>(kBulkMax);
  auto read = [&s, query] { return s.store.list_experiments(query); };
  const auto found = co_await offload(s, std::move(read));
  std::vector<ExperimentId> ids;
  for (const auto& experiment : found.experiments) ids.push_back(experiment.id);
  co_return ids;
}

asio::awaitable<Result<BulkReply>> each(Services& s, Context context, BulkRequest request, Action action) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto ids = co_await chosen(s, context.principal, request);
  if (!ids) co_return tl::unexpected(ids.error());
  BulkReply reply;
  for (const auto id : *ids) {
    const auto done = co_await act(s, context, action, id, request.destination_project_id);
    reply.results.push_back({done ? "" : done.error().message(), id});
  }
  co_return reply;
}

asio::awaitable<Result<ExperimentId>> experiment_of(Services& s, TrialId id) {
  auto read = [&s, id]() -> Result<ExperimentId> {
    const auto trial = s.store.trial(id);
    const auto runs = trial ? s.store.trials(trial->experiment_id).size() : 0;
    return experiment_of_run(id, trial, runs);
  };
  co_return co_await offload(s, std::move(read));
}

/// The runs that the request names, or whose filter they match.
asio::awaitable<Result<std::vector<TrialId>>> chosen_runs(Services& s, std::any principal,
                                                          const RunsRequest& request) {
  if (request.filter.empty()) {
    if (const auto fine = check_bulk_size("runIds", request.run_ids.size()); !fine)
      co_return tl::unexpected(fine.error());
    co_return request.run_ids;
  }
  if (!request.run_ids.empty())
    co_return invalid_argument("both runIds and filter are given; give one of them");
  const auto from = request.project_id > 0 ? request.project_id : request.source_project_id;
  const auto project = from > 0 ? std::optional(from) : std::nullopt;
  co_return co_await find_run_ids(s, std::move(principal), project, request.filter,
                                  static_cast<std::int32_t>(kBulkMax));
}

asio::awaitable<Result<BulkRunsReply>> each_run(Services& s, Context context, RunsRequest request,
                                                Action action) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto ids = co_await chosen_runs(s, context.principal, request);
  if (!ids) co_return tl::unexpected(ids.error());
  BulkRunsReply reply;
  for (const auto id : *ids) {
    const auto experiment = co_await experiment_of(s, id);
    if (!experiment && request.skip_multitrial && experiment.error().code() == ErrorCode::FailedPrecondition)
      continue;
    std::string error = experiment ? "" : experiment.error().message();
    if (experiment) {
      const auto done = co_await act(s, context, action, *experiment, request.destination_project_id);
      if (!done) error = done.error().message();
    }
    reply.results.push_back({std::move(error), id});
  }
  co_return reply;
}

asio::awaitable<Result<BulkRunsReply>> kill_runs(Services& s, Context context, RunsRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto ids = co_await chosen_runs(s, context.principal, request);
  if (!ids) co_return tl::unexpected(ids.error());
  BulkRunsReply reply;
  for (const auto id : *ids) {
    const auto allowed =
        co_await may(s, context.principal, access::Permission::UpdateExperiment, Kind::Trial, id.value());
    if (!allowed) {
      reply.results.push_back({allowed.error().message(), id});
      continue;
    }
    const auto done = co_await kill_trial(s, context, id);
    reply.results.push_back({done ? "" : done.error().message(), id});
  }
  co_return reply;
}

}  // namespace

void add_bulk_routes(http::Router& router, Services& s) {
  using enum access::Permission;
  const auto command = [&s](cluster::Verb verb) {
    return Action{[&s, verb](Context c, ExperimentId id, std::int64_t) {
                    return command_experiment(s, std::move(c), id, verb);
                  },
                  UpdateExperiment};
  };
  const auto archive = [&s](bool on) {
    return Action{[&s, on](Context c, ExperimentId id, std::int64_t) {
                    return archive_experiment(s, std::move(c), id, on);
                  },
                  UpdateExperimentMetadata};
  };
  const Action move{[&s](Context c, ExperimentId id, std::int64_t to) {
                      return move_experiment(s, std::move(c), id, store::ProjectId(to));
                    },
                    UpdateExperiment};
  const Action remove{
      [&s](Context c, ExperimentId id, std::int64_t) { return delete_experiment(s, std::move(c), id); },
      DeleteExperiment};
  const std::vector<std::pair<std::string, Action>> actions = {{"activate", command(cluster::Verb::Activate)},
                                                               {"pause", command(cluster::Verb::Pause)},
                                                               {"cancel", command(cluster::Verb::Cancel)},
                                                               {"kill", command(cluster::Verb::Kill)},
                                                               {"archive", archive(true)},
                                                               {"unarchive", archive(false)},
                                                               {"move", move},
                                                               {"delete", remove}};
  for (const auto& [word, action] : actions) {
    const bool deletes = word == "delete";
    router.add<BulkRequest, BulkReply>(
        deletes ? Verb::Delete : Verb::Post, "/api/v1/projects/{projectId}/experiments/" + word,
        [&s, action = action](Context c, BulkRequest r) {
          return each(s, std::move(c), std::move(r), action);
        },
        Doc{.summary = word + " several experiments: those listed, or all that match `filters`; reports one "
                              "result for each",
            .tag = "Experiments",
            .takes_body = deletes});
    const auto of_runs = run_action(word);
    if (!of_runs) continue;
    router.add<RunsRequest, BulkRunsReply>(
        Verb::Post, "/api/v1/runs/" + *of_runs,
        [&s, action = action](Context c, RunsRequest r) {
          return each_run(s, std::move(c), std::move(r), action);
        },
        Doc{.summary =
                *of_runs +
                " the experiments of runs: those listed, or all that match `filter`; each must be the only "
                "run of its experiment",

            .tag = "Trials"});
  }
  router.add<BulkRequest, BulkReply>(
      Verb::Put, "/api/v1/projects/{projectId}/experiments/retain_logs",
      [&s](Context c, BulkRequest r) -> asio::awaitable<Result<BulkReply>> {
        if (!r.num_days)
          co_return invalid_argument(
              "numDays is required; give the number of days to keep logs, or -1 to keep them forever");
        const Action keep{[&s, days = *r.num_days](Context, ExperimentId id, std::int64_t) {
                            return retain_logs(s, id, days);
                          },
                          UpdateExperiment};
        co_return co_await each(s, std::move(c), std::move(r), keep);
      },
      Doc{.summary = "Set how many days the logs of several experiments are kept after they end; reports one "
                     "result for each",
          .tag = "Logs"});
  router.add<RunsRequest, BulkRunsReply>(
      Verb::Post, "/api/v1/runs/kill",
      [&s](Context c, RunsRequest r) { return kill_runs(s, std::move(c), std::move(r)); },
      Doc{.summary = "Kill several trials: those listed, or all that match `filter`", .tag = "Trials"});
}

}  // namespace det::master
