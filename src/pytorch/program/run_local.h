#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "det/pytorch/compile/source.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/loop/job.h"

namespace det::pytorch {

struct LocalRun {
  std::int64_t batches = 0;  ///< 0: a test — one batch, one validation, a checkpoint and the way back
  std::filesystem::path checkpoints;  ///< kept there; empty: nowhere
};

/// Trains in this process, without a master. Throws what the trial throws, and LoopFailure.
void run_locally(const TrialClass& trial, Job job, const Source& source, const LocalRun& options);

/// `det-trial local CONFIG DIRECTORY [--batches N] [--checkpoints DIR]`: builds the model definition and
/// trains it here.
int run_local_directory(int argc, char** argv);

}  // namespace det::pytorch
