// Experiments as users see and command them.

#include <charconv>
#include <sstream>

#include "det/base/text.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/experiments/experiment_actions.h"
#include "det/master/experiments/experiment_patch.h"
#include "det/master/experiments/experiment_rules.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using experiment::ExperimentRecord;
using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct ListQuery {
  std::vector<std::string> states, users, labels;
  std::vector<UserId> user_ids;
  std::optional<bool> archived;
  std::string name, description, search, sort_by, order_by;
  std::optional<std::int32_t> project_id;
  std::optional<std::int64_t> experiment_id_filter_gt, experiment_id_filter_gte, experiment_id_filter_lt,
      experiment_id_filter_lte;
  std::vector<ExperimentId> experiment_id_filter_incl, experiment_id_filter_not_in;
  std::int32_t offset = 0, limit = 0;
  bool omit_config = false;
  bool show_trial_data = false;  ///< the best trial is always shown
};
BOOST_DESCRIBE_STRUCT(ListQuery, (),
                      (states, users, labels, user_ids, archived, name, description, search, sort_by,
                       order_by, project_id, experiment_id_filter_gt, experiment_id_filter_gte,
                       experiment_id_filter_lt, experiment_id_filter_lte, experiment_id_filter_incl,
                       experiment_id_filter_not_in, offset, limit, omit_config, show_trial_data))
struct ExperimentListReply {
  std::vector<api::Experiment> experiments;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(ExperimentListReply, (), (experiments, pagination))
struct ById {
  ExperimentId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct ExperimentReply {
  api::Experiment experiment;
  Nullable<JobSummary> job_summary;
  json::value config;
};
BOOST_DESCRIBE_STRUCT(ExperimentReply, (), (experiment, job_summary, config))

struct LabelRequest {
  ExperimentId id;
  std::string label;
};
BOOST_DESCRIBE_STRUCT(LabelRequest, (), (id, label))
struct LabelReply {
  std::vector<std::string> labels;
};
BOOST_DESCRIBE_STRUCT(LabelReply, (), (labels))
struct ExperimentPatchReply {
  api::Experiment experiment;
};
BOOST_DESCRIBE_STRUCT(ExperimentPatchReply, (), (experiment))
struct ModelDefinitionReply {
  std::string b64_tgz;
};
BOOST_DESCRIBE_STRUCT(ModelDefinitionReply, (), (b64_tgz))

Error no_experiment(ExperimentId id) {
  return Error(ErrorCode::NotFound, fmt::format("experiment '{}' not found", id));
}

/// "COMPLETED", for sentences.
std::string state_word(Services& s, const ExperimentRecord& record) {
  return state_name(s, record).substr(std::string_view("STATE_").size());
}

/// The newest record: the live one, else the stored one.
asio::awaitable<Result<ExperimentRecord>> find(Services& s, ExperimentId id) {
  if (const auto* live = s.ledger.cluster().experiment(id)) co_return live->record();
  if (const auto* open = s.unmanaged.open_record(id)) co_return *open;
  auto read = [&s, id] { return s.store.experiment(id); };
  auto record = co_await offload(s, std::move(read));
  if (!record || record->state == experiment::State::Deleted) co_return tl::unexpected(no_experiment(id));
  co_return *std::move(record);
}

store::ExperimentSort sort_of(const std::string& name) {
  using S = store::ExperimentSort;
  static const std::map<std::string, S> kSorts = {{"SORT_BY_ID", S::Id},
                                                  {"SORT_BY_NAME", S::Name},
                                                  {"SORT_BY_DESCRIPTION", S::Description},
                                                  {"SORT_BY_STATE", S::State},
                                                  {"SORT_BY_START_TIME", S::StartTime},
                                                  {"SORT_BY_END_TIME", S::EndTime},
                                                  {"SORT_BY_PROGRESS", S::Progress},
                                                  {"SORT_BY_USER", S::Owner},
                                                  {"SORT_BY_RESOURCE_POOL", S::ResourcePool},
                                                  {"SORT_BY_ARCHIVED", S::Archived},
                                                  {"SORT_BY_NUM_TRIALS", S::NumTrials},
                                                  {"SORT_BY_FORKED_FROM", S::ForkedFrom},
                                                  {"SORT_BY_PROJECT_ID", S::ProjectId},
                                                  {"SORT_BY_CHECKPOINT_COUNT", S::CheckpointCount},
                                                  {"SORT_BY_CHECKPOINT_SIZE", S::CheckpointSize},
                                                  {"SORT_BY_SEARCHER_METRIC_VAL", S::BestMetric},
                                                  {"SORT_BY_SEARCHER", S::Searcher},
                                                  {"SORT_BY_DURATION", S::Duration}};
  const auto found = kSorts.find(name);
  return found == kSorts.end() ? S::Id : found->second;
}

/// Both bounds of both kinds count; of two the narrower.
void bound_ids(store::ExperimentQuery& query, const ListQuery& in) {
  const auto at_least = [&](std::int64_t id) {
    query.min_id = ExperimentId(std::max(query.min_id.value_or(ExperimentId(id)).value(), id));
  };
  const auto at_most = [&](std::int64_t id) {
    query.max_id = ExperimentId(std::min(query.max_id.value_or(ExperimentId(id)).value(), id));
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (in.experiment_id_filter_gte) at_least(*in.experiment_id_filter_gte);
  if (in.experiment_id_filter_gt) at_least(std::min(*in.experiment_id_filter_gt, kMost - 1) + 1);
  if (in.experiment_id_filter_lte) at_most(*in.experiment_id_filter_lte);
  if (in.experiment_id_filter_lt) at_most(std::max(*in.experiment_id_filter_lt, -kMost) - 1);
  query.ids = in.experiment_id_filter_incl;
  query.not_ids = in.experiment_id_filter_not_in;
}

/// The words of a search; `#12` and `12` are also a number, and part of a user's name is whoever has it.
std::vector<store::SearchWord> words_of(Services& s, const std::string& search) {
  std::vector<store::SearchWord> words;
  std::istringstream stream(search);
  for (std::string text; stream >> text;) {
    store::SearchWord word{.text = text, .id = std::nullopt, .owners = {}};
    const auto digits = std::string_view(text).substr(text.starts_with('#') ? 1 : 0);
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc{} && end == digits.data() + digits.size()) word.id = ExperimentId{number};
    const auto part = to_lower(text);
    for (const auto& [id, user] : s.auth.users())
      if (to_lower(user.username).find(part) != std::string::npos) word.owners.push_back(id);
    words.push_back(std::move(word));
  }
  return words;
}

asio::awaitable<Result<ExperimentListReply>> list(Services& s, Context context, ListQuery in) {
  store::ExperimentQuery query;
  auto states = parse_states(in.states);
  if (!states) co_return tl::unexpected(states.error());
  query.states = *std::move(states);
  query.archived = in.archived;
  query.name = in.name;
  query.description = in.description;
  query.labels = in.labels;
  query.words = words_of(s, in.search);
  query.owners = in.user_ids;
  for (auto name : in.users) {
    if (name == "me") {
      const auto me = require_user(context.principal);
      if (me) name = me->username;
    }
    const auto* user = s.auth.user(name);
    query.owners.push_back(user != nullptr ? user->id : UserId{-1});
  }
  if (in.project_id) query.project_id = *in.project_id;
  query.projects = Sight(s, context.principal, access::Permission::ViewExperimentMetadata).projects();
  if (const auto known = check_order(in.sort_by, in.order_by); !known)
    co_return tl::unexpected(known.error());
  query.sort = sort_of(in.sort_by);
  bound_ids(query, in);
  query.page.descending = is_descending(in.order_by);
  query.page.offset = in.offset;
  query.page.limit = std::max(in.limit, 0);
  if (in.offset < 0) {  // counts from the end
    auto read = [&s, query] {
      auto only_count = query;
      only_count.page = {.offset = 0, .limit = 1};
      return s.store.list_experiments(only_count);
    };
    const auto total = (co_await offload(s, std::move(read))).total;
    query.page.offset = std::max<std::int64_t>(0, total + in.offset);
  }
  auto read_2 = [&s, query, with_config = !in.omit_config] {
    auto page = s.store.list_experiments(query);
    std::vector<ExperimentId> ids;
    if (with_config)
      for (const auto& summary : page.experiments) ids.push_back(summary.id);
    return std::pair(std::move(page), s.store.experiments(ids));
  };
  const auto [found, whole] = co_await offload(s, std::move(read_2));
  ExperimentListReply reply;
  for (const auto& summary : found.experiments) {
    auto& experiment = reply.experiments.emplace_back(to_api(s, summary));
    const auto record = whole.find(summary.id);
    if (record == whole.end()) continue;
    auto full = to_api(s, record->second);
    experiment.config = std::move(full.config);
    experiment.original_config = std::move(full.original_config);
    experiment.hyperparameters = std::move(full.hyperparameters);
  }
  const auto begin = std::min(query.page.offset, found.total);
  reply.pagination = {
      .offset = in.offset,
      .limit = in.limit,
      .start_index = static_cast<std::int32_t>(begin),
      .end_index = static_cast<std::int32_t>(begin + static_cast<std::int64_t>(found.experiments.size())),
      .total = static_cast<std::int32_t>(found.total)};
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<api::Experiment>> one(Services& s, ExperimentId id) {
  const auto record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  auto experiment = to_api(s, *record);
  store::ExperimentQuery query;
  query.ids = {id};
  auto read = [&s, query, id] { return std::pair(s.store.list_experiments(query), s.store.trials(id)); };
  const auto [summary, trials] = co_await offload(s, std::move(read));
  if (!summary.experiments.empty()) {
    const auto sums = to_api(s, summary.experiments.front());
    experiment.num_trials = sums.num_trials;
    experiment.checkpoint_count = sums.checkpoint_count;
    experiment.checkpoint_size = sums.checkpoint_size;
    experiment.best_trial_searcher_metric = sums.best_trial_searcher_metric;
    experiment.best_trial_id = sums.best_trial_id;
  }
  for (const auto& trial : trials) experiment.trial_ids.push_back(trial.id);
  co_await s.ledger.durable();
  co_return experiment;
}

/// In a turn of the caller's.
asio::awaitable<Result<api::Experiment>> patch(Services& s, Context context, ExperimentPatchRequest request) {
  const auto id = request.id;
  auto by = principal_name(context.principal);
  const auto done = co_await patch_experiment(s, std::move(request), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return co_await one(s, id);
}

}  // namespace

asio::awaitable<Result<Empty>> command_experiment(Services& s, Context context, ExperimentId id,
                                                  cluster::Verb verb) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (s.ledger.cluster().experiment(id) == nullptr) {
    const auto record = co_await find(s, id);
    if (!record) co_return tl::unexpected(record.error());
    static constexpr const char* kDone[] = {"activated", "paused", "canceled", "killed"};
    if (s.unmanaged.has(id))
      co_return failed_precondition(
          "experiment {} is unmanaged: it runs outside the cluster and cannot be {} here; start or stop its "
          "processes where they run",
          id, kDone[static_cast<int>(verb)]);
    const bool ending = verb == cluster::Verb::Cancel || verb == cluster::Verb::Kill;
    if (ending && record->state == experiment::State::Canceled) co_return Empty{};
    co_return failed_precondition("experiment {} is {}; it cannot be {}", id, state_word(s, *record),
                                  kDone[static_cast<int>(verb)]);
  }
  cluster::Event event = cluster::ExperimentCommanded{id, verb};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

asio::awaitable<Result<Empty>> archive_experiment(Services& s, Context context, ExperimentId id,
                                                  bool archived) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  auto record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  if (!experiment::is_terminal(record->state))
    co_return failed_precondition("experiment {} is {}; only finished experiments can be archived", id,
                                  state_word(s, *record));
  if (s.ledger.cluster().experiment(id) != nullptr) co_await s.collector.finished(id);
  const auto turn = co_await s.edits.take(id);
  record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  record->archived = archived;
  if (auto* open = s.unmanaged.open_record(id)) open->archived = archived;
  std::vector<store::Change> changes;
  changes.push_back(store::PutExperiment{*std::move(record)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> delete_experiment(Services& s, Context context, ExperimentId id) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  co_return co_await begin_deletion(s, id);
}

asio::awaitable<Result<Empty>> begin_deletion(Services& s, ExperimentId id) {
  auto record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  if (!experiment::is_terminal(record->state))
    co_return failed_precondition("experiment {} is {}; cancel or kill it before you delete it", id,
                                  state_word(s, *record));
  if (s.ledger.cluster().experiment(id) != nullptr) co_await s.collector.finished(id);
  auto read = [&s, id] { return s.store.checkpoints_of_experiment(id); };
  const auto checkpoints = co_await offload(s, std::move(read));
  for (const auto& checkpoint : checkpoints)
    if (const auto need = s.collector.need_of(checkpoint.uuid))
      co_return failed_precondition("experiment {1} cannot be deleted: its checkpoint {0} is {2}",
                                    checkpoint.uuid, id, *need);
  if (s.ledger.cluster().experiment(id) != nullptr)
    co_return failed_precondition(
        "experiment {} was extended and runs again; cancel or kill it before you delete it", id);
  const auto turn = co_await s.edits.take(id);
  record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  s.collector.announce_deletion(id);
  s.unmanaged.forget(id);
  record->state = experiment::State::Deleting;
  std::vector<store::Change> changes;
  changes.push_back(store::PutExperiment{*record});
  co_await s.ledger.write(std::move(changes));
  s.collector.delete_experiment(*record);
  co_return Empty{};
}

namespace {

asio::awaitable<Result<Empty>> remove_tensorboard_files(Services& s, Context context, ExperimentId id) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  auto record = co_await find(s, id);
  if (!record) co_return tl::unexpected(record.error());
  if (!experiment::is_terminal(record->state))
    co_return failed_precondition(
        "experiment {} is {} and its trials still write TensorBoard files; wait until it ends, or cancel it "
        "first",
        id, state_word(s, *record));
  const auto removed = co_await s.collector.remove_tensorboard_files(*std::move(record));
  if (!removed) co_return tl::unexpected(removed.error());
  co_return Empty{};
}

}  // namespace

void add_experiment_routes(http::Router& router, Services& s) {
  const std::string tag = "Experiments";
  router.add<ListQuery, ExperimentListReply>(
      Verb::Get, "/api/v1/experiments",
      [&s](Context c, ListQuery q) { return list(s, std::move(c), std::move(q)); },
      Doc{.summary = "List experiments; each word of `search` must occur in the name, the description, a "
                     "label or the user name, or be the experiment's id",
          .tag = tag});
  router.add<ById, ExperimentReply>(
      Verb::Get, "/api/v1/experiments/{id}",
      [&s](Context, ById q) -> asio::awaitable<Result<ExperimentReply>> {
        auto experiment = co_await one(s, q.id);
        if (!experiment) co_return tl::unexpected(experiment.error());
        ExperimentReply reply{
            .experiment = *std::move(experiment), .job_summary = job_summary(s, q.id), .config = nullptr};
        reply.config = reply.experiment.config;
        co_return reply;
      },
      Doc{.summary = "Get an experiment", .tag = tag, .errors = {ErrorCode::NotFound}});
  for (const auto& [word, verb] :
       {std::pair{"activate", cluster::Verb::Activate}, std::pair{"pause", cluster::Verb::Pause},
        std::pair{"cancel", cluster::Verb::Cancel}, std::pair{"kill", cluster::Verb::Kill}})
    router.add<ById, Empty>(
        Verb::Post, fmt::format("/api/v1/experiments/{{id}}/{}", word),
        [&s, verb = verb](Context c, ById q) { return command_experiment(s, std::move(c), q.id, verb); },
        Doc{.summary = fmt::format("{} an experiment", word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  for (const auto& [word, archived] : {std::pair{"archive", true}, std::pair{"unarchive", false}})
    router.add<ById, Empty>(
        Verb::Post, fmt::format("/api/v1/experiments/{{id}}/{}", word),
        [&s, archived = archived](Context c, ById q) {
          return archive_experiment(s, std::move(c), q.id, archived);
        },
        Doc{.summary = fmt::format("{} an experiment", word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<ById, Empty>(
      Verb::Delete, "/api/v1/experiments/{id}",
      [&s](Context c, ById q) { return delete_experiment(s, std::move(c), q.id); },
      Doc{.summary = "Delete a finished experiment with its checkpoints and TensorBoard files",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<ById, Empty>(
      Verb::Delete, "/api/v1/experiments/{id}/tensorboard-files",
      [&s](Context c, ById q) { return remove_tensorboard_files(s, std::move(c), q.id); },
      Doc{.summary = "Delete the TensorBoard files of a finished experiment",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<ExperimentPatchRequest, ExperimentPatchReply>(
      Verb::Patch, "/api/v1/experiments/{id}",
      [&s](Context c, ExperimentPatchRequest r) -> asio::awaitable<Result<ExperimentPatchReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        const auto turn = co_await s.edits.take(r.id);
        auto experiment = co_await patch(s, std::move(c), std::move(r));
        if (!experiment) co_return tl::unexpected(experiment.error());
        co_return ExperimentPatchReply{*std::move(experiment)};
      },
      Doc{.summary = "Change the name, description, notes, labels, resources, checkpoint policy or size of "
                     "the search of an experiment; a larger size continues a completed search",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  for (const bool put : {true, false})
    router.add<LabelRequest, LabelReply>(
        put ? Verb::Put : Verb::Delete, "/api/v1/experiments/{id}/labels/{label}",
        [&s, put](Context c, LabelRequest r) -> asio::awaitable<Result<LabelReply>> {
          if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
          const auto turn = co_await s.edits.take(r.id);
          const auto record = co_await find(s, r.id);
          if (!record) co_return tl::unexpected(record.error());
          auto labels = put ? with_label(record->labels, r.label) : without_label(record->labels, r.label);
          ExperimentPatchRequest change{.id = r.id,
                                        .labels = std::move(labels),
                                        .resources = nullptr,
                                        .checkpoint_storage = std::nullopt};
          const auto experiment = co_await patch(s, std::move(c), std::move(change));
          if (!experiment) co_return tl::unexpected(experiment.error());
          co_return LabelReply{experiment->labels};
        },
        Doc{.summary = put ? "Add a label to an experiment" : "Remove a label from an experiment",
            .tag = tag,
            .errors = {ErrorCode::NotFound}});
  router.add<ById, ModelDefinitionReply>(
      Verb::Get, "/api/v1/experiments/{id}/model_def",
      [&s](Context, ById q) -> asio::awaitable<Result<ModelDefinitionReply>> {
        const auto record = co_await find(s, q.id);
        if (!record) co_return tl::unexpected(record.error());
        auto read = [&s, digest = record->model_definition] { return s.store.model_definition(digest); };
        const auto archive = co_await offload(s, std::move(read));
        co_return ModelDefinitionReply{archive ? base64_encode(*archive) : ""};
      },
      Doc{.summary = "Get the submitted files of an experiment as a tar.gz archive in base64",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
