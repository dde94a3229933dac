#pragma once

#include <string>
#include <vector>

#include "det/master/elastic/provider.h"

/// What Slurm's commands are told, and what they say. Pure: measured with 22.05, and the same since 20.02.
namespace det::master {

std::vector<std::string> sbatch_words(const ProviderSettings& settings, const PilotSettings& pilot,
                                      const EngineRequest& request);
std::string slurm_script(const ProviderSettings& settings, const PilotSettings& pilot,
                         const EngineRequest& request);
/// All jobs of the user that calls, also those that ended within MinJobAge. Times in seconds since 1970.
std::vector<std::string> squeue_words();
/// `time_limit`: the pool's own in seconds, or 0.
Result<std::vector<EngineJob>> read_squeue(const std::string& text, const std::string& prefix,
                                           std::int64_t time_limit = 0);
/// The sentence for people in what a command wrote to stderr.
std::string slurm_error(const std::string& text);
/// Whether it says that the controller could not be reached.
bool is_slurm_silent(const std::string& text);

}  // namespace det::master
