#pragma once

#include <string>

namespace det::pytorch {

/// From now on SIGUSR2 writes the stacks of all threads to stderr: an agent asks for them before it kills a
/// task that does not end.
void answer_stack_requests();

/// Writes a title and the stacks of all threads of this process to stderr. Takes at most a second.
void print_stacks(const std::string& title);

}  // namespace det::pytorch
