#pragma once

#include <filesystem>

#include "det/agent/options.h"

/// What an agent does for trials in C++: they are a program of their own (det-trial), which compiles the
/// model definition inside the task's isolation and keeps what it built in a directory that all of them
/// share.
namespace det::agent {

/// DesiredAllocation::framework of a trial in C++.
inline constexpr const char* kCxxFramework = "pytorch-cxx";

/// Libraries and precompiled headers, kept across tasks and restarts.
std::filesystem::path cxx_cache(const std::filesystem::path& state_dir);

/// Makes the cache. FailedPrecondition where this agent has no det-trial.
Result<void> prepare_cxx(const AgentOptions& options, const std::filesystem::path& state_dir);

}  // namespace det::agent
