// Checkpoints as their trials report them: begun, then complete in storage. docs/reference/protocols.md §2.

#include <limits>

#include "det/checkpoint/storage.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct BeginRequest {
  TrialId trial_id;
  std::string uuid;
  static bool required(std::string_view name) { return name == "uuid"; }
};
BOOST_DESCRIBE_STRUCT(BeginRequest, (), (trial_id, uuid))
struct CheckpointRequest {
  std::string uuid, task_id, allocation_id;
  std::optional<Time> report_time;
  std::map<std::string, std::int64_t> resources;
  json::object metadata;
  std::string state = "STATE_COMPLETED";
  static bool required(std::string_view name) { return name == "uuid"; }
};
BOOST_DESCRIBE_STRUCT(CheckpointRequest, (),
                      (uuid, task_id, allocation_id, report_time, resources, metadata, state))

/// Whose checkpoint is reported: an unmanaged trial's, or a live allocation's.
struct Saver {
  TrialId unmanaged{};
  std::string allocation_id;
};

asio::awaitable<Result<Saver>> saver(Services& s, std::any principal, CheckpointRequest request) {
  if (!require_user(principal)) {
    auto id = require_task(principal);
    if (!id) co_return tl::unexpected(id.error());
    co_return Saver{.allocation_id = *std::move(id)};
  }
  auto read = [&s, task = request.task_id] { return s.store.trial_of_task(task); };
  const auto trial = co_await offload(s, std::move(read));
  if (!trial) co_return not_found("taskId is '{}'; it must be the task of a trial", request.task_id);
  if (s.unmanaged.has(trial->id)) co_return Saver{trial->id, request.allocation_id};
  const auto allocation = speaker(s, principal, trial->id);
  if (!allocation) co_return tl::unexpected(allocation.error());
  co_return Saver{.allocation_id = (*allocation)->record.id};
}

/// What storage would refuse, so that nobody has a checkpoint that cannot be deleted.
std::optional<Error> check_uuid(const std::string& uuid) {
  if (checkpoint::is_checkpoint_name(uuid)) return std::nullopt;
  return Error(ErrorCode::InvalidArgument, fmt::format("uuid is '{}'; it must have 1 to 128 letters, digits "
                                                       "and the characters \"-_.\", and not begin with a dot",
                                                       uuid));
}

/// Remembers a checkpoint that is about to be saved, so that its files can be found if nobody ever reports
/// it.
asio::awaitable<Result<Empty>> begin_checkpoint(Services& s, Context context, BeginRequest request) {
  const auto found = speaker(s, context.principal, request.trial_id);
  if (!found) co_return tl::unexpected(found.error());
  const store::BegunCheckpointRecord record{.uuid = request.uuid,
                                            .experiment_id = (*found)->record.experiment_id,
                                            .allocation_id = (*found)->record.id};
  if (auto wrong = check_uuid(record.uuid)) co_return tl::unexpected(*std::move(wrong));
  auto read = [&s, &record] {
    const auto reported = s.store.checkpoint(record.uuid);
    const auto begun = s.store.begun_checkpoint(record.uuid);
    return (reported && reported->allocation_id != record.allocation_id) ||
           (begun && begun->allocation_id != record.allocation_id);
  };
  const bool of_another = co_await offload(s, std::move(read));
  if (of_another)
    co_return fail(ErrorCode::AlreadyExists,
                   "checkpoint {} already exists; report a new checkpoint under a new uuid", record.uuid);
  // Before the end of the allocation, or not at all: what its experiment's end looks for must be there then.
  if (s.ledger.cluster().allocation(record.allocation_id) == nullptr)
    co_return fail(ErrorCode::Gone, "allocation {} is over", record.allocation_id);
  std::vector<store::Change> changes;
  changes.push_back(store::BeginCheckpoint{record});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> checkpoint(Services& s, Context context, CheckpointRequest request) {
  const auto who = co_await saver(s, context.principal, request);
  if (!who) co_return tl::unexpected(who.error());
  const auto outside = who->unmanaged;
  for (const auto& [name, bytes] : request.resources)
    if (name.empty() || name.front() == '/' || ("/" + name + "/").find("/../") != std::string::npos)
      co_return invalid_argument(
          "resources contains '{}'; a file of a checkpoint must have a path inside the checkpoint's "
          "directory",
          name);
  if (auto wrong = check_uuid(request.uuid)) co_return tl::unexpected(*std::move(wrong));
  auto read = [&s, uuid = request.uuid] { return s.store.checkpoint(uuid); };
  const auto known = co_await offload(s, std::move(read));
  if (known && (outside ? known->trial_id != outside || known->state == experiment::CheckpointState::Deleted
                        : known->allocation_id != who->allocation_id))
    co_return fail(ErrorCode::AlreadyExists,
                   "checkpoint {} already exists; report a new checkpoint under a new uuid", request.uuid);
  const auto* steps = request.metadata.if_contains("steps_completed");
  const auto batches = steps == nullptr ? 0 : json::to_int64(*steps).value_or(0);
  if (batches < 0 || batches > std::numeric_limits<std::int32_t>::max())
    co_return invalid_argument("metadata.steps_completed is {}; it must be from 0 to {}", batches,
                               std::numeric_limits<std::int32_t>::max());
  experiment::CheckpointRecord record{.uuid = request.uuid,
                                      .allocation_id = who->allocation_id,
                                      .batches = batches,
                                      .resources = std::move(request.resources),
                                      .metadata = std::move(request.metadata),
                                      .report_time = request.report_time.value_or(s.ledger.now())};
  if (outside) {
    const auto done = co_await s.unmanaged.checkpoint(outside, std::move(record));
    if (!done) co_return tl::unexpected(done.error());
    co_return Empty{};
  }
  cluster::Event event = cluster::CheckpointReported{std::move(record)};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

}  // namespace

void add_checkpoint_report_routes(http::Router& router, Services& s) {
  const std::string tag = "Trial processes";
  router.add<BeginRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/checkpoints/begin",
      [&s](Context c, BeginRequest r) { return begin_checkpoint(s, std::move(c), std::move(r)); },
      Doc{.summary = "Announce a checkpoint before saving it; durable when the call returns",
          .tag = tag,
          .errors = {ErrorCode::Gone, ErrorCode::AlreadyExists}});
  router.add<CheckpointRequest, Empty>(
      Verb::Post, "/api/v1/checkpoints",
      [&s](Context c, CheckpointRequest r) { return checkpoint(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report a checkpoint that is completely stored",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::Gone, ErrorCode::AlreadyExists}});
}

}  // namespace det::master
