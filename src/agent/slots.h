#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "det/agent/options.h"

namespace det::agent {

/// Reads what `nvidia-smi --query-gpu=index,name,uuid --format=csv,noheader`
/// printed; lines that it cannot read are left out.
std::vector<api::SlotReport> parse_gpus(std::string_view text);

/// The slots: `wanted` CPU slots, or else the GPUs, or else one CPU slot.
std::vector<api::SlotReport> detect_slots(std::optional<int> wanted);

/// How many processes and threads a rank may have where nobody said: far more than a trial with a
/// data loader for every core has (16384), but with all slots together at most half of what the kernel
/// has, so that a fork bomb ends as its own trial's failure and the agent still works. At least 1024.
std::int64_t default_pids_per_slot(std::size_t slots);

/// Name, cores, slots, isolation and address of this machine. Runs short-lived
/// processes: call it before there are threads that must not be forked.
Machine detect_machine(const AgentOptions& options);

/// What the options ask for and the machine does not allow, a sentence each.
std::vector<std::string> unmet(const AgentOptions& options, const Machine& machine);

/// What `det agent` prints at its start: slots and isolation, a line each.
std::string describe(const Machine& machine);

}  // namespace det::agent
