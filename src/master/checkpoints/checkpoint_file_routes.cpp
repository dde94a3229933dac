// Files of checkpoints that go one by one.

#include "det/master/checkpoints/collector.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using experiment::CheckpointRecord;
using experiment::CheckpointState;
using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct RemoveRequest {
  std::vector<std::string> checkpoint_uuids, checkpoint_globs;
  static bool required(std::string_view name) { return name == "checkpoint_uuids"; }
};
BOOST_DESCRIBE_STRUCT(RemoveRequest, (), (checkpoint_uuids, checkpoint_globs))
struct Left {
  std::map<std::string, std::int64_t> resources;
};
BOOST_DESCRIBE_STRUCT(Left, (), (resources))
struct Patched {
  std::string uuid;
  std::optional<Left> resources;
  static bool required(std::string_view name) { return name == "uuid"; }
};
BOOST_DESCRIBE_STRUCT(Patched, (), (uuid, resources))
struct CheckpointFilePatchRequest {
  std::vector<Patched> checkpoints;
  static bool required(std::string_view name) { return name == "checkpoints"; }
};
BOOST_DESCRIBE_STRUCT(CheckpointFilePatchRequest, (), (checkpoints))

/// The checkpoint, where the caller may take files from it.
asio::awaitable<Result<CheckpointRecord>> removable(Services& s, std::any principal, std::string uuid) {
  auto read = [&s, uuid] { return s.store.checkpoint(uuid); };
  auto record = co_await offload(s, std::move(read));
  if (!record) co_return not_found("checkpoint '{}' not found", uuid);
  const auto own = may_change(s, principal, *record);
  if (!own) co_return tl::unexpected(own.error());
  if (const auto need = s.collector.need_of(uuid))
    co_return failed_precondition("files of checkpoint {} cannot be deleted: it is {}", uuid, *need);
  co_return *std::move(record);
}

asio::awaitable<Result<Empty>> remove_files(Services& s, Context context, RemoveRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  std::vector<CheckpointRecord> chosen;
  for (const auto& uuid : request.checkpoint_uuids) {
    auto record = co_await removable(s, context.principal, uuid);
    if (!record) co_return tl::unexpected(record.error());
    if (record->state != CheckpointState::Deleted) chosen.push_back(*std::move(record));
  }
  for (auto& record : chosen) {
    auto globs = request.checkpoint_globs;
    const auto done = co_await s.collector.remove_files(std::move(record), std::move(globs));
    if (!done) co_return tl::unexpected(done.error());
  }
  co_return Empty{};
}

/// Whoever deleted files in storage says which are left; none means that the checkpoint is gone.
asio::awaitable<Result<Empty>> patch(Services& s, Context context, CheckpointFilePatchRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  std::vector<store::Change> changes;
  for (auto& patched : request.checkpoints) {
    if (!patched.resources) continue;
    auto record = co_await removable(s, context.principal, patched.uuid);
    if (!record) co_return tl::unexpected(record.error());
    for (const auto& [name, bytes] : patched.resources->resources)
      if (!record->resources.contains(name))
        co_return invalid_argument(
            "checkpoint {} has no file '{}'; this call can only remove files, so name only files that it has",
            patched.uuid, name);
    if (patched.resources->resources.empty())
      record->state = CheckpointState::Deleted;
    else if (patched.resources->resources.size() < record->resources.size())
      record->state = CheckpointState::PartiallyDeleted;
    record->resources = std::move(patched.resources->resources);
    changes.push_back(store::PutCheckpoint{*std::move(record)});
  }
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

}  // namespace

void add_checkpoint_file_routes(http::Router& router, Services& s) {
  const std::string tag = "Checkpoints";
  const std::vector<ErrorCode> errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition};
  router.add<RemoveRequest, Empty>(
      Verb::Post, "/api/v1/checkpoints/rm",
      [&s](Context c, RemoveRequest r) { return remove_files(s, std::move(c), std::move(r)); },
      Doc{.summary = "Delete the files of checkpoints that match a glob; without globs, list the files that "
                     "are in storage",
          .tag = tag,
          .errors = errors});
  router.add<CheckpointFilePatchRequest, Empty>(
      Verb::Patch, "/api/v1/checkpoints",
      [&s](Context c, CheckpointFilePatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary =
              "Record which files of checkpoints are left in storage; a checkpoint without files is deleted",
          .tag = tag,
          .errors = errors});
}

}  // namespace det::master
