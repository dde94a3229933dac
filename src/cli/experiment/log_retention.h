#pragma once

#include "det/cli/command.h"

namespace det::cli {

// For how long logs are kept.
Action define_experiment_retention(CLI::App& app);
Action define_trial_retention(CLI::App& app);
Action define_cleanup_logs(CLI::App& app);

}  // namespace det::cli
