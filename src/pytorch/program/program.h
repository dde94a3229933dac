#pragma once

#include "det/pytorch/export.h"

namespace det::pytorch {

/// The program det-trial, whose code lives in the library that trials link: without arguments it runs the
/// trial that the DET_* variables describe; `local …` trains here; `warm` is an agent's warm worker;
/// `prepare` compiles headers in advance.
DET_PYTORCH_API int program(int argc, char** argv);

/// Keeps freed memory of big tensors in this process: given back to the kernel it would be faulted in again
/// at every batch, which makes convolutions a quarter slower (docs/decisions/0013).
void keep_freed_memory();

}  // namespace det::pytorch
