/// Trials in C++ on LibTorch: all that a model definition needs. docs/guide/cpp-trials.md shows how to write
/// one.
#pragma once

#include <torch/torch.h>

#include "det/pytorch/callback.h"
#include "det/pytorch/context.h"
#include "det/pytorch/data_loader.h"
#include "det/pytorch/graphed_step.h"
#include "det/pytorch/lr_scheduler.h"
#include "det/pytorch/metrics.h"
#include "det/pytorch/optimizers.h"
#include "det/pytorch/reducer.h"
#include "det/pytorch/run.h"
#include "det/pytorch/settings.h"
#include "det/pytorch/trial.h"
#include "det/pytorch/value.h"
