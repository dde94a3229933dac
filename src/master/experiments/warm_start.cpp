// Checkpoints that new trials start from.

#include "det/master/experiments/warm_start.h"

#include "det/checkpoint/storage.h"
#include "det/config/experiment_config.h"

namespace det::master {
namespace {

/// Where the checkpoint is one and the same for both: there it was written, here it is looked for.
Result<void> found_by(const config::CheckpointStorage& here, const config::CheckpointStorage& there,
                      const std::string& uuid) {
  DET_TRY(const auto own, checkpoint::open_storage(here));
  DET_TRY(const auto other, checkpoint::open_storage(there));
  const auto wanted = own->path(uuid);
  const auto written = other->path(uuid);
  if (wanted == written) return {};
  DET_TRY(const auto copied, own->exists(uuid));
  if (copied) return {};
  return invalid_argument(
      "checkpoint {} is stored in {}, but the new trial would look for it in {}; use the checkpoint_storage "
      "of the experiment that wrote it",
      uuid, written.parent_path().string(), wanted.parent_path().string());
}

Result<void> can_start_from(store::Store& store, const config::CheckpointStorage& storage,
                            const std::string& uuid) {
  using experiment::CheckpointState;
  const auto checkpoint = store.checkpoint(uuid);
  if (!checkpoint) return invalid_argument("no checkpoint found with UUID {}", uuid);
  if (checkpoint->state == CheckpointState::Deleted)
    return invalid_argument("no checkpoint found with UUID {}: it was deleted", uuid);
  if (checkpoint->state != CheckpointState::Completed)
    return invalid_argument(
        "checkpoint {} is incomplete: some of its files were deleted, so no trial can start from it; choose "
        "another checkpoint",
        uuid);
  const auto source = store.experiment(checkpoint->experiment_id);
  if (!source) return {};
  DET_TRY(const auto config, config::from_document(source->config));
  return found_by(storage, config.checkpoint_storage, uuid);
}

}  // namespace

asio::awaitable<Result<std::shared_ptr<Collector::Hold>>> hold_source(Services& s,
                                                                      config::CheckpointStorage storage,
                                                                      std::string uuid) {
  // Held first and looked at then: from here on nobody can begin to delete it.
  auto hold = s.collector.hold(uuid);
  if (!hold) co_return invalid_argument("no checkpoint found with UUID {}: it is being deleted", uuid);
  auto looking = [&s, &storage, &uuid] { return can_start_from(s.store, storage, uuid); };
  const auto fine = co_await offload(s, std::move(looking));
  if (!fine) co_return tl::unexpected(fine.error());
  co_return hold;
}

}  // namespace det::master
