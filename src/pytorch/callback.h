#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "det/pytorch/metrics.h"
#include "det/pytorch/value.h"

namespace det::pytorch {

/// Hooks into the life of a trial. Override what you need and return instances from `build_callbacks`; they
/// run in the order of their names there. One with a state of its own saves it through `state_dict`, so that
/// it survives a pause.
class DET_PYTORCH_API Callback {
 public:
  virtual ~Callback() = default;

  /// Before the data loaders are built. `checkpoint_uuid` is empty for a first run.
  virtual void on_trial_startup(std::int64_t /*first_batch_idx*/, const std::string& /*checkpoint_uuid*/) {}
  /// After the checkpoint is loaded, before the first batch of this process.
  virtual void on_training_start() {}
  virtual void on_training_epoch_start(std::int64_t /*epoch_idx*/) {}
  virtual void on_training_epoch_end(std::int64_t /*epoch_idx*/) {}
  /// After the batches that are reported together. One vector of numbers for each batch, as `averages` is
  /// named.
  virtual void on_training_workload_end(const Numbers& /*averages*/,
                                        const std::vector<std::vector<double>>& /*batches*/) {}
  virtual void on_validation_start() {}
  virtual void on_validation_epoch_start() {}
  virtual void on_validation_epoch_end(const std::vector<Numbers>& /*batches*/) {}
  virtual void on_validation_end(const Numbers& /*metrics*/) {}
  /// A checkpoint was read and is about to be applied; may change it.
  virtual void on_checkpoint_load_start(Dict& /*checkpoint*/) {}
  /// A checkpoint is assembled and about to be written; may change it.
  virtual void on_checkpoint_save_start(Dict& /*checkpoint*/) {}
  /// The files of a checkpoint are written; may add files. A trial with a callback that overrides this or the
  /// next waits until its checkpoints are stored; other trials train on meanwhile.
  virtual void on_checkpoint_write_end(const std::filesystem::path& /*directory*/) { ignores_files_ = true; }
  /// A checkpoint is in storage.
  virtual void on_checkpoint_upload_end(const std::string& /*uuid*/) { ignores_storing_ = true; }
  /// This process is about to leave the trial, at its end or for a pause.
  virtual void on_trial_shutdown() {}

  virtual Value state_dict() { return Dict(); }
  /// Takes back what `state_dict` returned.
  virtual void load_state_dict(const Value& /*state*/) {}

  /// For the engine: whether both hooks above were called before, and are not overridden.
  bool leaves_checkpoints_alone() const { return ignores_files_ && ignores_storing_; }

 private:
  bool ignores_files_ = false;
  bool ignores_storing_ = false;
};

using Callbacks = std::vector<std::pair<std::string, std::shared_ptr<Callback>>>;

}  // namespace det::pytorch
