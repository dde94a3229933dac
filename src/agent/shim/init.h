#pragma once

#include <csignal>
#include <cstdint>
#include <string_view>
#include <vector>

#include "det/agent/shim/isolation.h"
#include "det/agent/shim/reuse.h"
#include "det/agent/shim/shim.h"

namespace det::agent {

/// What init and task tell the shim through a socket of packets. The kernel
/// adds the sender's process number as the shim sees it.
struct Word {
  enum Kind : std::int32_t { Isolated, TaskStarted, TaskEnded };
  std::int32_t kind = Isolated;
  std::int32_t status = 0;  ///< Of TaskEnded, as wait() gives it.
  char text[240] = {};      ///< Isolated: the steps taken, a space after each. TaskEnded: the reason.
};
void say(int socket, Word::Kind kind, std::int32_t status, std::string_view text);

struct InitOptions {
  const ShimSpec& spec;
  Isolation& isolation;
  const TaskFunction& task;
  const std::vector<struct sigaction>&
      dispositions;      ///< For `task`: what its runtime had set up, by signal number.
  int socket;            ///< To the shim.
  int output[2];         ///< What becomes the task's stdout and stderr.
  TaskChannel* channel;  ///< Where this process may run other tasks; else null.
};

/// The life of the init: isolates, runs the startup hook, starts the task,
/// reaps and forwards signals until the task has ended, ends what is left.
[[noreturn]] void run_init(const InitOptions& options);

/// The signals that shim and init hand on to the task; blocked in both.
const int kForwarded[] = {15 /* SIGTERM */, 2 /* SIGINT */, 1 /* SIGHUP */, 10 /* SIGUSR1 */,
                          12 /* SIGUSR2 */};
/// What an agent sends a shim that shall end its task by force: last words, then SIGKILL.
inline constexpr int kForce = 3 /* SIGQUIT */;
/// Asks a task that has a handler for it to write down where it is (Python: faulthandler).
inline constexpr int kTellStacks = 12 /* SIGUSR2 */;

}  // namespace det::agent
