#include "det/pytorch/program/run_warm.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "det/agent/shim/shim.h"
#include "det/base/json.h"
#include "det/pytorch/engine/process.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/program/run_process.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr int kSocket = 3;
constexpr int kLookMilliseconds = 1000;

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task")) ++count;
  return count;
}

[[noreturn]] void become_shim(const fs::path& directory) {
  ::close(kSocket);
  ::signal(SIGINT, SIG_DFL);
  ::_exit(agent::run_shim(directory, [](const agent::AnotherTask&) {
    const int status = run_trial_process();
    std::fflush(stdout);
    std::fflush(stderr);
    return status;
  }));
}

json::object answer(const std::string& request) {
  json::object reply;
  const auto parsed = json::parse(request);
  const auto* directory =
      parsed && parsed->is_object() ? parsed->get_object().if_contains("directory") : nullptr;
  if (directory == nullptr || !directory->is_string()) {
    reply["error"] = "a request must be a JSON object with the key directory";
    return reply;
  }
  const fs::path path = std::string(directory->get_string());
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path / "spec.json", error)) {
    reply["error"] = path.string() + " has no spec.json";
    return reply;
  }
  std::fflush(stdout);
  std::fflush(stderr);
  const auto pid = ::fork();
  if (pid == 0) become_shim(path);
  if (pid < 0)
    reply["error"] = fmt::format("cannot start a process: {}", std::strerror(errno));
  else
    reply["pid"] = pid;
  return reply;
}

}  // namespace

int run_warm_worker() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);  // read once; a lost rank is told once, by us
  warm_up();
  if (const auto count = threads_of_this_process(); count != 1) {
    print_error(fmt::format("the warm worker has {} threads; it must have 1 to fork", count));
    return 1;
  }
  const auto parent = ::getppid();
  std::string buffer(64 * 1024, '\0');
  while (true) {
    pollfd ready{.fd = kSocket, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, kLookMilliseconds);
    // Whoever asked for shims watches them; here they are only forgotten.
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::getppid() != parent) return 0;
    if (count <= 0) continue;
    const auto got = ::recv(kSocket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;  // nobody can ask any more
    const auto text = json::serialize(answer(buffer.substr(0, static_cast<std::size_t>(got))));
    if (::send(kSocket, text.data(), text.size(), MSG_NOSIGNAL) < 0) return 0;
  }
}

}  // namespace det::pytorch
