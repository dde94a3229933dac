// Finished experiments that go on, under another configuration.

#include <algorithm>

#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/experiments/experiment_actions.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using experiment::CheckpointRecord;
using experiment::CheckpointState;
using experiment::ExperimentRecord;
using experiment::TrialOperation;
using experiment::TrialRecord;
using http::Context;
using http::Doc;
using http::Verb;

struct ContinueRequest {
  ExperimentId id;
  std::string override_config;  ///< YAML, over the experiment's own configuration
};
BOOST_DESCRIBE_STRUCT(ContinueRequest, (), (id, override_config))
struct ContinueReply {
  api::Experiment experiment;
  std::vector<std::string> warnings;
};
BOOST_DESCRIBE_STRUCT(ContinueReply, (), (experiment, warnings))

/// All that is known of a finished experiment.
struct Stored {
  std::optional<ExperimentRecord> record;
  std::vector<TrialRecord> trials;
  std::vector<CheckpointRecord> checkpoints;
  std::optional<json::value> search;
};

/// The experiment's configuration with the override over it, as at a submission.
Result<config::ExperimentConfig> overridden(Services& s, const ExperimentRecord& record,
                                            const std::string& yaml) {
  const auto resolved_with = [&](const std::string& user,
                                 const config::Policies& policies) -> Result<config::ExperimentConfig> {
    const config::Layers layers{
        .master = s.defaults, .template_yaml = config::emit_yaml(record.config), .user_yaml = user};
    DET_TRY(auto resolved, resolve(s, layers, policies));
    return std::move(resolved.config);
  };
  DET_TRY(const auto as_it_was, resolved_with("{}", {}));
  if (as_it_was.document != record.config)
    return failed_precondition(
        "the configuration of experiment {} was written for an earlier release and has another meaning in "
        "this one; fork "
        "it",
        record.id);
  DET_TRY(const auto policies, policies_of(s, ProjectId(record.project_id)));
  return resolved_with(yaml.find_first_not_of(" \t\r\n") == std::string::npos ? "{}" : yaml, policies);
}

/// Checkpoints stay where they are, and with them what goes on from one.
Result<void> check_storage(const ExperimentRecord& record, const config::ExperimentConfig& config) {
  static constexpr std::string_view kMayChange[] = {"save_experiment_best", "save_trial_best",
                                                    "save_trial_latest"};
  const auto place = [](const json::object& document) {
    auto storage = document.at("checkpoint_storage");
    if (storage.is_object())
      for (const auto key : kMayChange) storage.get_object().erase(key);
    return storage;
  };
  if (place(record.config) != place(config.document))
    return invalid_argument(
        "checkpoint_storage of experiment {} cannot be changed, because its checkpoints are stored there; "
        "only save_experiment_best, save_trial_best and save_trial_latest can be changed",
        record.id);
  return {};
}

Result<void> check(const Stored& stored, ExperimentId id) {
  if (!stored.record || stored.record->state == experiment::State::Deleted)
    return not_found("experiment '{}' not found", id);
  const auto name = experiment::searcher_name(stored.record->config);
  if (config::decided_outside(name) || name == "pbt")
    return failed_precondition(
        "experiment {} cannot be continued: it uses the searcher {}, {}", id, name,
        name == "pbt" ? "whose trials start from checkpoints that are deleted when the experiment ends"
                      : "whose operations come from a client that was told that the search is over");
  if (name == "single" && stored.trials.size() != 1)
    return failed_precondition(
        "experiment {} has {} trials; only an experiment with one trial can be continued", id,
        stored.trials.size());
  const auto* search = stored.search ? stored.search->if_object() : nullptr;
  if (name != "single" && (search == nullptr || search->contains("search_method_state")))
    return failed_precondition(
        "experiment {} cannot be continued: it ended under an earlier release, which did not store the state "
        "of its search; submit a new experiment instead",
        id);
  return {};
}

/// A search goes on as it was: its trials are those of its seed, its hyperparameters and its sizes.
Result<void> check_search(const ExperimentRecord& record, const config::ExperimentConfig& config) {
  for (const auto* section : {"searcher", "hyperparameters", "reproducibility"})
    if (record.config.at(section) != config.document.at(section))
      return invalid_argument(
          "{} of experiment {} cannot be changed, because its search continues where it ended; to change the "
          "size of the search, use `det experiment set` once the experiment is active",
          section, record.id);
  return {};
}

/// What the trial had completed. An experiment of an earlier release does not say.
Result<std::vector<TrialOperation>> completed(const Stored& stored) {
  if (stored.search) return json::from_json<std::vector<TrialOperation>>(*stored.search);
  if (stored.record->state != experiment::State::Completed) return std::vector<TrialOperation>{};
  DET_TRY(const auto config, config::from_document(stored.record->config));
  return std::vector<TrialOperation>{{.length = config.searcher.max_length.count,
                                      .batches = stored.trials.front().batches,
                                      .completed = true}};
}

using Checkpoints = std::map<TrialId, experiment::NewestCheckpoint>;

/// The newest checkpoint of each trial that is there, and stays until `holds` are gone.
Checkpoints newest(Services& s, const Stored& stored, std::vector<std::shared_ptr<Collector::Hold>>& holds) {
  std::map<TrialId, const CheckpointRecord*> found;
  for (const auto& checkpoint : stored.checkpoints) {
    if (checkpoint.state != CheckpointState::Completed) continue;
    auto& one = found[checkpoint.trial_id];
    if (one == nullptr || checkpoint.report_time >= one->report_time) one = &checkpoint;
  }
  Checkpoints all;
  for (const auto& [trial, checkpoint] : found) {
    auto hold = s.collector.hold(checkpoint->uuid);
    if (hold == nullptr) continue;
    holds.push_back(std::move(hold));
    all[trial] = {checkpoint->uuid, checkpoint->batches};
  }
  return all;
}

/// Of one trial, which may be trained longer now.
Result<cluster::Event> one_goes_on(Stored stored, std::vector<TrialOperation> done,
                                   const Checkpoints& checkpoints) {
  auto& trial = stored.trials.front();
  const auto checkpoint = checkpoints.find(trial.id);
  if (checkpoint == checkpoints.end() && stored.record->state == experiment::State::Completed)
    return failed_precondition("experiment {} cannot be continued: none of its checkpoints is left",
                               stored.record->id);
  cluster::ExperimentContinued continued{*std::move(stored.record), std::move(trial), 0, std::move(done)};
  continued.trial.latest_checkpoint = checkpoint == checkpoints.end() ? "" : checkpoint->second.uuid;
  continued.checkpoint_batches = checkpoint == checkpoints.end() ? 0 : checkpoint->second.batches;
  return continued;
}

asio::awaitable<Result<ContinueReply>> go_on(Services& s, Context context, ContinueRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto id = request.id;
  if (s.unmanaged.has(id))
    co_return failed_precondition(
        "experiment {} is unmanaged: it runs outside the cluster, so the cluster cannot continue it", id);
  if (const auto* live = s.ledger.cluster().experiment(id); live != nullptr) {
    if (!live->finished())
      co_return failed_precondition(
          "experiment {} is still running; pause and activate it, or wait until it ends", id);
    co_await s.collector.finished(id);
  }
  if (s.collector.deletes(id)) co_return failed_precondition("experiment {} is being deleted", id);
  auto read = [&s, id] {
    Stored stored{
        .record = s.store.experiment(id), .trials = {}, .checkpoints = {}, .search = s.store.search(id)};
    stored.trials = s.store.trials(id);
    stored.checkpoints = s.store.checkpoints_of_experiment(id);
    return stored;
  };
  auto stored = co_await offload(s, std::move(read));
  if (const auto fine = check(stored, id); !fine) co_return tl::unexpected(fine.error());
  auto config = overridden(s, *stored.record, request.override_config);
  if (!config) co_return tl::unexpected(config.error());
  if (const auto same = check_storage(*stored.record, *config); !same) co_return tl::unexpected(same.error());
  const bool single = experiment::searcher_name(stored.record->config) == "single";
  if (!single)
    if (const auto same = check_search(*stored.record, *config); !same)
      co_return tl::unexpected(same.error());
  auto done = single ? completed(stored) : std::vector<TrialOperation>();
  if (!done) co_return tl::unexpected(done.error());
  std::vector<std::shared_ptr<Collector::Hold>> holds;
  auto checkpoints = newest(s, stored, holds);

  auto& record = *stored.record;
  // It may have been renamed since it was submitted: that name stays, unless the override says another.
  const auto* named = record.config.if_contains("name");
  if (named == nullptr || *named != json::value(config->name)) record.name = config->name;
  record.config = std::move(config->document);
  record.resource_pool = pool_in(s, ProjectId(record.project_id), *config);
  if (const auto open = check_pool(s, ProjectId(record.project_id), record.resource_pool); !open)
    co_return tl::unexpected(open.error());
  Result<cluster::Event> event =
      single ? one_goes_on(std::move(stored), *std::move(done), checkpoints)
             : Result<cluster::Event>(cluster::SearchContinued{std::move(record), *std::move(stored.search),
                                                               std::move(checkpoints)});
  if (!event) co_return tl::unexpected(event.error());
  auto by = principal_name(context.principal);
  const auto handled = co_await s.ledger.handle(*std::move(event), std::move(by));
  if (!handled) co_return tl::unexpected(handled.error());
  auto again = [&s, id] { return s.store.experiment(id); };
  const auto now = co_await offload(s, std::move(again));
  if (!now) co_return not_found("experiment '{}' not found", id);
  co_return ContinueReply{.experiment = to_api(s, *now), .warnings = {}};
}

}  // namespace

void add_continue_routes(http::Router& router, Services& s) {
  router.add<ContinueRequest, ContinueReply>(
      Verb::Post, "/api/v1/experiments/continue",
      [&s](Context c, ContinueRequest r) { return go_on(s, std::move(c), std::move(r)); },
      Doc{.summary =
              "Continue a finished experiment from the newest checkpoints of its trials, under the same id",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
}

}  // namespace det::master
