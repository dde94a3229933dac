#pragma once

#include "det/pytorch/export.h"

namespace det::pytorch {

/// The program det-trial, whose code lives in the library that trials link: without arguments it runs the
/// trial that the DET_* variables describe; `local …` trains here; `warm` is an agent's warm worker;
/// `prepare` compiles headers in advance.
DET_PYTORCH_API int program(int argc, char** argv);

}  // namespace det::pytorch
