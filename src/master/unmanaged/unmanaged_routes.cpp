// What processes outside the cluster call about their trials: docs/reference/protocols.md §2.

#include "det/master/objects.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using experiment::State;
using http::Context;
using http::Doc;
using http::Verb;

constexpr std::size_t kNameBytesMax = 256;

struct UnmanagedCreateRequest {
  ExperimentId experiment_id;
  json::value hparams;
  bool unmanaged = false;
  static bool required(std::string_view name) { return name == "experiment_id"; }
};
BOOST_DESCRIBE_STRUCT(UnmanagedCreateRequest, (), (experiment_id, hparams, unmanaged))
struct UnmanagedPutRequest {
  UnmanagedCreateRequest create_trial_request;
  std::string external_trial_id;
  static bool required(std::string_view name) {
    return name == "create_trial_request" || name == "external_trial_id";
  }
};
BOOST_DESCRIBE_STRUCT(UnmanagedPutRequest, (), (create_trial_request, external_trial_id))
struct UnmanagedTrialReply {
  api::Trial trial;
};
BOOST_DESCRIBE_STRUCT(UnmanagedTrialReply, (), (trial))
struct ByNames {
  std::string external_experiment_id, external_trial_id;
};
BOOST_DESCRIBE_STRUCT(ByNames, (), (external_experiment_id, external_trial_id))
struct UnmanagedPatchRequest {
  TrialId trial_id;
  std::string state;              ///< empty: only a sign of life
  std::string error;              ///< ours: why it is in state ERROR
  std::int32_t trial_run_id = 0;  ///< ours: the run that says so; 0: it does not say which it is
};
BOOST_DESCRIBE_STRUCT(UnmanagedPatchRequest, (), (trial_id, state, error, trial_run_id))
struct StartRequest {
  TrialId trial_id;
  bool resume = false;
};
BOOST_DESCRIBE_STRUCT(StartRequest, (), (trial_id, resume))
struct StartReply {
  std::int32_t trial_run_id = 0;
  std::optional<std::string> latest_checkpoint;
  std::int32_t steps_completed = 0;
};
BOOST_DESCRIBE_STRUCT(StartReply, (), (trial_run_id, latest_checkpoint, steps_completed))
struct PrepareRequest {
  TrialId run_id;
  json::value checkpoint_storage;
};
BOOST_DESCRIBE_STRUCT(PrepareRequest, (), (run_id, checkpoint_storage))
struct PrepareReply {
  std::optional<std::int32_t> storage_id;
};
BOOST_DESCRIBE_STRUCT(PrepareReply, (), (storage_id))

/// That the trial is one that its processes, and not the cluster, start and end.
asio::awaitable<Result<void>> check(Services& s, TrialId id) {
  if (s.unmanaged.has(id)) co_return Result<void>{};
  auto read = [&s, id] { return s.store.trial(id).has_value(); };
  const auto known = co_await offload(s, std::move(read));
  if (!known) co_return not_found("trial '{}' not found", id);
  co_return failed_precondition(
      "trial {} runs on the cluster, which starts it and tracks its state; this call is for unmanaged trials",
      id);
}

asio::awaitable<Result<UnmanagedTrialReply>> shown(Services& s, TrialId id) {
  auto trial = co_await find_trial(s, id);
  if (!trial) co_return tl::unexpected(trial.error());
  co_return UnmanagedTrialReply{*std::move(trial)};
}

asio::awaitable<Result<UnmanagedTrialReply>> create(Services& s, Context context,
                                                    UnmanagedCreateRequest request, std::string external_id) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto id = request.experiment_id;
  if (!request.unmanaged)
    co_return invalid_argument(
        "unmanaged is false; this call creates unmanaged trials only, because the search of an experiment "
        "creates the others");
  if (external_id.size() > kNameBytesMax)
    co_return invalid_argument("externalTrialId has {} bytes; at most {} are allowed", external_id.size(),
                               kNameBytesMax);
  if (!request.hparams.is_null() && !request.hparams.is_object())
    co_return invalid_argument("hparams is {}; it must be an object", json::serialize(request.hparams));
  if (!s.unmanaged.has(id)) {
    auto read = [&s, id] { return s.store.experiment(id).has_value(); };
    const auto known = co_await offload(s, std::move(read));
    if (!known) co_return not_found("experiment '{}' not found", id);
    co_return failed_precondition(
        "experiment {} runs on the cluster, where its search creates the trials; this call is for unmanaged "
        "experiments",
        id);
  }
  auto hparams = request.hparams.is_object() ? std::move(request.hparams.get_object()) : json::object();
  auto by = principal_name(context.principal);
  const auto trial =
      co_await s.unmanaged.create_trial(id, std::move(hparams), std::move(external_id), std::move(by));
  if (!trial) co_return tl::unexpected(trial.error());
  co_return co_await shown(s, *trial);
}

asio::awaitable<Result<UnmanagedTrialReply>> patch(Services& s, Context context,
                                                   UnmanagedPatchRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto ours = co_await check(s, request.trial_id);
  if (!ours) co_return tl::unexpected(ours.error());
  std::optional<State> state;
  if (!request.state.empty() && request.state != "STATE_UNSPECIFIED") {
    std::vector<std::string> names = {request.state};
    const auto parsed = parse_states(names);
    if (!parsed) co_return tl::unexpected(parsed.error());
    state = parsed->front();
    if (*state != State::Active && *state != State::Completed && *state != State::Canceled &&
        *state != State::Error)
      co_return invalid_argument(
          "state is '{}'; the state of an unmanaged trial must be STATE_RUNNING, STATE_COMPLETED, "
          "STATE_CANCELED or "
          "STATE_ERROR",
          request.state);
  }
  const auto done = co_await s.unmanaged.heard(request.trial_id, state, request.error.substr(0, 4000),
                                               request.trial_run_id);
  if (!done) co_return tl::unexpected(done.error());
  co_return co_await shown(s, request.trial_id);
}

asio::awaitable<Result<StartReply>> start(Services& s, Context context, StartRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto ours = co_await check(s, request.trial_id);
  if (!ours) co_return tl::unexpected(ours.error());
  const auto run = co_await s.unmanaged.start(request.trial_id, request.resume);
  if (!run) co_return tl::unexpected(run.error());
  StartReply reply{.trial_run_id = static_cast<std::int32_t>(run->id),
                   .latest_checkpoint = std::nullopt,
                   .steps_completed = static_cast<std::int32_t>(run->steps)};
  if (!run->checkpoint.empty()) reply.latest_checkpoint = run->checkpoint;
  co_return reply;
}

asio::awaitable<Result<UnmanagedTrialReply>> by_names(Services& s, ByNames in) {
  const auto experiment = s.unmanaged.named(in.external_experiment_id);
  const auto trial = experiment ? s.unmanaged.named(*experiment, in.external_trial_id) : std::nullopt;
  if (!trial)
    co_return not_found(
        "trial with the external id '{}' not found in the experiment with the external id '{}'",
        in.external_trial_id, in.external_experiment_id);
  co_return co_await shown(s, *trial);
}

}  // namespace

void add_unmanaged_routes(http::Router& router, Services& s) {
  const std::string tag = "Outside the cluster";
  const std::vector<ErrorCode> errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition};
  router.add<UnmanagedCreateRequest, UnmanagedTrialReply>(
      Verb::Post, "/api/v1/trials",
      [&s](Context c, UnmanagedCreateRequest r) { return create(s, std::move(c), std::move(r), ""); },
      Doc{.summary = "Create a trial of an unmanaged experiment", .tag = tag, .errors = errors});
  router.add<UnmanagedPutRequest, UnmanagedTrialReply>(
      Verb::Put, "/api/v1/trials",
      [&s](Context c, UnmanagedPutRequest r) -> asio::awaitable<Result<UnmanagedTrialReply>> {
        if (r.external_trial_id.empty())
          co_return invalid_argument(
              "externalTrialId is empty; use POST /api/v1/trials for a trial without an external id");
        co_return co_await create(s, std::move(c), std::move(r.create_trial_request),
                                  std::move(r.external_trial_id));
      },
      Doc{.summary = "Get or create the trial of an unmanaged experiment with this external id",
          .tag = tag,
          .errors = errors});
  router.add<ByNames, UnmanagedTrialReply>(
      Verb::Get, "/api/v1/trials/by-external-id/{externalExperimentId}/{externalTrialId}",
      [&s](Context, ByNames q) { return by_names(s, std::move(q)); },
      Doc{.summary = "Get a trial by the external ids of its experiment and itself",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<UnmanagedPatchRequest, UnmanagedTrialReply>(
      Verb::Patch, "/api/v1/trials/{trialId}",
      [&s](Context c, UnmanagedPatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report the state of an unmanaged trial, or, without a state, that its process is alive",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition, ErrorCode::AlreadyExists}});
  router.add<StartRequest, StartReply>(
      Verb::Post, "/api/v1/trials/{trialId}/start",
      [&s](Context c, StartRequest r) { return start(s, std::move(c), std::move(r)); },
      Doc{.summary = "Start a run of an unmanaged trial; `resume` continues from its latest checkpoint",
          .tag = tag,
          .errors = errors});
  router.add<PrepareRequest, PrepareReply>(
      Verb::Post, "/api/v1/runs/start",
      [&s](Context c, PrepareRequest r) -> asio::awaitable<Result<PrepareReply>> {
        const auto who = co_await reporter(s, c.principal, r.run_id);
        if (!who) co_return tl::unexpected(who.error());
        co_return PrepareReply{};
      },
      Doc{.summary = "Announce that an unmanaged trial is about to report; its checkpoints are where its "
                     "configuration says",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
}

}  // namespace det::master
