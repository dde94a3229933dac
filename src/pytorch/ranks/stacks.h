#pragma once

#include <string>
#include <string_view>

namespace det::pytorch {

/// From now on SIGUSR2 writes the stacks of all threads to stderr: an agent asks for them before it kills a
/// task that does not end.
void answer_stack_requests();

/// From now on a process that crashes says with which signal, at what work and where, on stderr, before it
/// ends as it would have: where the trial's own code is at fault, that is all its author has.
void tell_crashes();

/// What this process does from now on, for whoever reads of its end: "training batch 17". Cut after 200
/// bytes.
void set_doing(std::string_view doing);
std::string doing();

/// Writes a title and the stacks of all threads of this process to stderr. Takes at most a second.
void print_stacks(const std::string& title);

}  // namespace det::pytorch
