#pragma once

#include "det/pytorch/export.h"

namespace det::pytorch {

/// The main function of a trial that is a program of its own, to debug it or to run it by hand:
///
///     int main(int argc, char** argv) { return det::pytorch::run(argc, argv); }
///
/// `program CONFIG [--trial NAME] [--batches N] [--checkpoints DIR]` trains the trial of the configuration in
/// this process, without a master, and prints its metrics; without --batches one batch, one validation and
/// the way through a checkpoint, as `det experiment create --local --test` does. 0: it went well.
DET_PYTORCH_API int run(int argc, char** argv);

}  // namespace det::pytorch
