#pragma once

namespace det::pytorch {

/// Exit statuses of a trial's process (docs/reference/protocols.md §2).
inline constexpr int kExitGone = 80;

/// Builds and runs the trial that the DET_* variables describe, as the agent starts it: 0 done, preempted or
/// closed, 80 when the master has ended the allocation, 1 when the trial failed, with the reason on stderr.
int run_trial_process();

}  // namespace det::pytorch
