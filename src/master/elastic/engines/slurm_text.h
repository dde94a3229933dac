#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/master/elastic/provider.h"

/// What Slurm's commands are told, and what they say. Pure: measured with 22.05, and the same since 20.02.
namespace det::master {

std::vector<std::string> sbatch_words(const ProviderSettings& settings, const PilotSettings& pilot,
                                      const EngineRequest& request);
std::string slurm_script(const ProviderSettings& settings, const PilotSettings& pilot,
                         const EngineRequest& request);
/// The words, run as the owner where the settings say so.
std::vector<std::string> as_owner(const ProviderSettings& settings, const std::string& owner,
                                  std::vector<std::string> words);
/// Whether jobs may be submitted as this account: an ordinary name, and not root.
bool is_account(const std::string& owner);
/// All jobs of the user that calls, or of all users; also those that ended within MinJobAge. Times in seconds
/// since 1970.
std::vector<std::string> squeue_words(bool of_all_users = false);
/// `time_limit`: the pool's own in seconds, or 0.
Result<std::vector<EngineJob>> read_squeue(const std::string& text, const std::string& prefix,
                                           std::int64_t time_limit = 0);
/// Seconds after which a job ends that asks for no time limit, in the description of its partition by
/// `scontrol -o show partition`; none: never. `name` empty: the default partition.
std::optional<std::int64_t> partition_limit(const std::string& text, const std::string& name);
/// The sentence for people in what a command wrote to stderr.
std::string slurm_error(const std::string& text);
/// Whether it says that the controller could not be reached.
bool is_slurm_silent(const std::string& text);

}  // namespace det::master
