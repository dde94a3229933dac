// Finished experiments of one trial that go on, under another configuration.

#include <algorithm>

#include "det/config/experiment_config.h"
#include "det/config/yaml.h"
#include "det/master/collector.h"
#include "det/master/experiment_actions.h"
#include "det/master/objects.h"
#include "det/master/policy_book.h"
#include "det/master/unmanaged.h"

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
        "the configuration of experiment {} is of an earlier release and would mean something else now; fork "
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
        "checkpoint_storage of experiment {} cannot be changed, but for save_experiment_best, "
        "save_trial_best and "
        "save_trial_latest: its checkpoints are where they are",
        record.id);
  return {};
}

Result<void> check(const Stored& stored, ExperimentId id) {
  if (!stored.record || stored.record->state == experiment::State::Deleted)
    return not_found("experiment '{}' not found", id);
  if (const auto name = experiment::searcher_name(stored.record->config); name != "single")
    return failed_precondition(
        "experiment {} has the searcher {}; only those with searcher.name single can be continued", id, name);
  if (stored.trials.size() != 1)
    return failed_precondition("experiment {} has {} trials; only those with one can be continued", id,
                               stored.trials.size());
  return {};
}

/// The newest that is there; null: none is.
const CheckpointRecord* newest(const std::vector<CheckpointRecord>& checkpoints) {
  const CheckpointRecord* found = nullptr;
  for (const auto& checkpoint : checkpoints)
    if (checkpoint.state == CheckpointState::Completed &&
        (found == nullptr || checkpoint.report_time >= found->report_time))
      found = &checkpoint;
  return found;
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

asio::awaitable<Result<ContinueReply>> go_on(Services& s, Context context, ContinueRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto id = request.id;
  if (s.unmanaged.has(id))
    co_return failed_precondition("experiment {} runs outside the cluster (unmanaged); nobody here runs it",
                                  id);
  if (const auto* live = s.ledger.cluster().experiment(id); live != nullptr) {
    if (!live->finished())
      co_return failed_precondition("experiment {} is not over; pause and activate it, or wait for its end",
                                    id);
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
  auto stored = co_await blocking(s, std::move(read));
  if (const auto fine = check(stored, id); !fine) co_return tl::unexpected(fine.error());
  auto config = overridden(s, *stored.record, request.override_config);
  if (!config) co_return tl::unexpected(config.error());
  if (const auto same = check_storage(*stored.record, *config); !same) co_return tl::unexpected(same.error());
  auto done = completed(stored);
  if (!done) co_return tl::unexpected(done.error());

  auto& trial = stored.trials.front();
  const auto* checkpoint = newest(stored.checkpoints);
  std::shared_ptr<Collector::Hold> hold;
  if (checkpoint != nullptr) hold = s.collector.hold(checkpoint->uuid);
  if (hold == nullptr && stored.record->state == experiment::State::Completed)
    co_return failed_precondition("experiment {} has no checkpoint any more to go on from", id);
  trial.latest_checkpoint = hold == nullptr ? "" : checkpoint->uuid;

  cluster::ExperimentContinued continued{*std::move(stored.record), std::move(trial),
                                         hold == nullptr ? 0 : checkpoint->batches, *std::move(done)};
  // It may have been renamed since it was submitted: that name stays, unless the override says another.
  const auto* named = continued.record.config.if_contains("name");
  if (named == nullptr || *named != json::value(config->name)) continued.record.name = config->name;
  continued.record.config = std::move(config->document);
  continued.record.resource_pool = s.ledger.cluster().pool_for(*config);
  cluster::Event event = std::move(continued);
  auto by = principal_name(context.principal);
  const auto handled = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!handled) co_return tl::unexpected(handled.error());
  auto again = [&s, id] { return s.store.experiment(id); };
  const auto record = co_await blocking(s, std::move(again));
  if (!record) co_return not_found("experiment '{}' not found", id);
  co_return ContinueReply{.experiment = to_api(s, *record), .warnings = {}};
}

}  // namespace

void add_continue_routes(http::Router& router, Services& s) {
  router.add<ContinueRequest, ContinueReply>(
      Verb::Post, "/api/v1/experiments/continue",
      [&s](Context c, ContinueRequest r) { return go_on(s, std::move(c), std::move(r)); },
      Doc{.summary =
              "A finished experiment of one trial goes on from its newest checkpoint, under its own id",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
}

}  // namespace det::master
