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

/// Name, cores, slots, isolation and address of this machine. Runs short-lived
/// processes: call it before there are threads that must not be forked.
Machine detect_machine(const AgentOptions& options);

/// What `det agent` prints at its start: slots and isolation, a line each.
std::string describe(const Machine& machine);

}  // namespace det::agent
