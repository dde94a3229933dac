#include "det/master/checkpoints/experiment_storages.h"

#include "det/logging/log.h"

#include <filesystem>

#include "det/config/experiment_config.h"

namespace det::master {

Result<checkpoint::Storage*> ExperimentStorages::of(ExperimentId id) {
  if (const auto found = open_.find(id); found != open_.end()) return found->second.get();
  const auto record = store_.experiment(id);
  if (!record) return nullptr;
  DET_TRY(const auto config, config::from_document(record->config));
  DET_TRY(auto storage, checkpoint::open_storage(config.checkpoint_storage));
  return (open_[id] = std::move(storage)).get();
}

Result<void> ExperimentStorages::delete_files(ExperimentId id, const std::string& uuid) {
  DET_TRY(auto* const storage, of(id));
  if (storage == nullptr) return {};
  DET_TRY(const auto ours, storage->exists(uuid));
  std::error_code unknown;
  if (!ours && std::filesystem::is_directory(storage->path(uuid), unknown)) {
    // Another program wrote it, if it is a checkpoint at all: a name that somebody reported is no reason to
    // delete.
    logging::warn("checkpoint {}: the files in {} were not written by this cluster and are kept", uuid,
                  storage->path(uuid).string());
    return {};
  }
  return storage->remove(uuid);
}

Result<void> ExperimentStorages::discard(ExperimentId id, const std::string& uuid) {
  DET_TRY(auto* const storage, of(id));
  return storage == nullptr ? Result<void>() : storage->discard(uuid);
}

}  // namespace det::master
