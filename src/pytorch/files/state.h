#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include "det/pytorch/value.h"

/// What PyTorch calls a state_dict, for what C++ has none: the same names and the same structure as in
/// Python.
namespace det::pytorch {

/// Parameters and buffers by their dotted names.
DET_PYTORCH_API Dict module_state(const torch::nn::Module& module);
/// Copies them back. Missing and unexpected names, and other shapes, are a UsageError that lists them.
DET_PYTORCH_API void load_module_state(torch::nn::Module& module, const Dict& state);

/// `{"state": {index: {…}}, "param_groups": [{…, "params": [index, …]}]}`. SGD, Adam, AdamW, RMSprop and
/// Adagrad are written as Python's classes of that name; others as bytes that only LibTorch reads.
DET_PYTORCH_API Dict optimizer_state(torch::optim::Optimizer& optimizer);
DET_PYTORCH_API void load_optimizer_state(torch::optim::Optimizer& optimizer, const Dict& state);

/// How often a scheduler has stepped. The learning rates themselves belong to the optimizer.
DET_PYTORCH_API Dict scheduler_state(torch::optim::LRScheduler& scheduler);
DET_PYTORCH_API void load_scheduler_state(torch::optim::LRScheduler& scheduler, const Dict& state);

}  // namespace det::pytorch
