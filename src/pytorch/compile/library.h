#pragma once

#include <filesystem>
#include <string>

#include "det/base/error.h"
#include "det/pytorch/trial_classes.h"

namespace det::pytorch {

/// Loads the library of a model definition for the rest of this process; its DET_TRIALs register themselves.
Result<void> load_library(const std::filesystem::path& library);

/// The trial class of that name; an empty name is the only one there is. Else an error that lists what there
/// is.
Result<TrialClass> find_trial(const std::string& name);

}  // namespace det::pytorch
