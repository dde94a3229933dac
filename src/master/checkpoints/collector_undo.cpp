// Taking back the deletion of checkpoints, and ending it where nobody did.

#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>

#include "det/config/values/duration.h"
#include "det/http/offload.h"
#include "det/master/administration/settings.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/checkpoints/experiment_storages.h"
#include "det/master/checkpoints/undo_settings.h"

namespace det::master {
namespace {

using experiment::CheckpointState;
using Changes = std::vector<store::Change>;

constexpr std::int64_t kUndoSecondsMax = 365 * 24 * 3600;

/// What makes the checkpoint what it was before.
Result<Changes> changes_back(store::Store& store, const std::string& uuid) {
  auto record = store.checkpoint(uuid);
  if (!record) return not_found("checkpoint '{}' not found", uuid);
  const auto deletion = store.deletion(uuid);
  if (!deletion && record->state == CheckpointState::Deleted)
    return failed_precondition("checkpoint {} cannot be restored: its files are deleted", uuid);
  if (!deletion) return failed_precondition("checkpoint {} is not deleted", uuid);
  ExperimentStorages storages(store);
  DET_TRY(auto* const storage, storages.of(deletion->experiment_id));
  if (storage == nullptr) return not_found("experiment '{}' not found", deletion->experiment_id);
  DET_TRY(const auto there, storage->exists(uuid));
  if (!there)
    return failed_precondition("checkpoint {} cannot be restored: its files are no longer in {}", uuid,
                               storage->path(uuid).string());
  record->state = deletion->state;
  record->resources = deletion->resources;
  Changes changes;
  changes.push_back(store::PutCheckpoint{*std::move(record)});
  changes.push_back(store::EndDeletion{uuid});
  return changes;
}

}  // namespace

Result<std::int64_t> take_checkpoint_undo(json::object& configuration) {
  const auto value = take(configuration, "checkpoint_undo");
  if (value.is_null()) return 0;
  const auto* text = value.if_string();
  const auto seconds = text == nullptr ? std::nullopt : config::duration_seconds(std::string_view(*text));
  if (!seconds || *seconds > kUndoSecondsMax)
    return invalid_argument("checkpoint_undo is {}; it must be a duration of at most {}h, such as 24h",
                            json::serialize(value), kUndoSecondsMax / 3600);
  return *seconds;
}

asio::awaitable<Result<void>> Collector::bring_back(std::string uuid) {
  if (!being_deleted_.insert(uuid).second)
    co_return failed_precondition("checkpoint {} is being deleted", uuid);
  auto work = [this, &uuid] { return changes_back(store_, uuid); };
  auto changes = co_await http::offload(pool_, std::move(work));
  if (changes) co_await ledger_.write(*std::move(changes));
  being_deleted_.erase(uuid);
  if (!changes) co_return tl::unexpected(changes.error());
  co_return Result<void>{};
}

void Collector::finish_deletions() {
  if (std::exchange(finishing_, true)) return;
  asio::co_spawn(strand_, finish_deletions_now(), [this](std::exception_ptr failure) {
    finishing_ = false;
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      logging::error("cannot delete the files of deleted checkpoints; retrying later: {}", error.what());
    }
  });
}

asio::awaitable<void> Collector::finish_deletions_now() {
  const auto now = ledger_.now();
  ExperimentStorages storages(store_);
  auto list = [this, now] { return store_.due_deletions(now); };
  for (const auto& due : co_await http::offload(pool_, std::move(list))) {
    if (!being_deleted_.insert(due.uuid).second) continue;
    // It may have been brought back, and deleted again, since the list was made.
    auto work = [this, &storages, &due, now]() -> Result<bool> {
      const auto still = store_.deletion(due.uuid);
      if (!still || still->due > now) return false;
      return storages.delete_files(due.experiment_id, due.uuid).map([] { return true; });
    };
    const auto gone = co_await http::offload(pool_, std::move(work));
    if (!gone)
      logging::warn("cannot delete the files of the deleted checkpoint {}; retrying later: {}", due.uuid,
                    gone.error().message());
    Changes changes;
    if (gone && *gone) changes.push_back(store::EndDeletion{due.uuid});
    co_await ledger_.write(std::move(changes));
    being_deleted_.erase(due.uuid);
  }
}

}  // namespace det::master
