#pragma once

#include <filesystem>

#include "det/pytorch/engine/context_parts.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/value.h"

/// What a checkpoint of a PyTorch trial holds; the same files and names in C++ and in Python.
///
/// `state-dict.pth`, for users: models_state_dict, optimizers_state_dict, lr_schedulers_state_dict (lists in
/// the order of wrapping) and callbacks. `trial-state.pth`: what else the trial needs to go on as if it had
/// never stopped.
namespace det::pytorch {

struct CheckpointFiles {
  Dict state;
  Dict rest;
};

/// From any generation of checkpoint; no such file: UsageError.
CheckpointFiles read_checkpoint(const std::filesystem::path& directory);
void write_checkpoint(const std::filesystem::path& directory, const CheckpointFiles& files);

/// The documented part, without callbacks.
Dict user_state(const TrialContext::Parts& parts);
void load_models(TrialContext::Parts& parts, const Dict& state);
void load_optimizers(TrialContext::Parts& parts, const Dict& state);  ///< And schedulers.

/// Gradients that no step has used yet, for every parameter in a fixed order.
List gradients(const TrialContext::Parts& parts);
/// The mean over ranks, each with a list as above.
List mean_gradients(const std::vector<const List*>& of_ranks);
void load_gradients(TrialContext::Parts& parts, const Dict& rest);

Dict to_dict(const SavedLoop& loop);
SavedLoop loop_from(const Dict& saved);

}  // namespace det::pytorch
