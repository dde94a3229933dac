#include "det/master/elastic/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

extern char** environ;

namespace det::master {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  ~Pipe() { close(0), close(1); }
};

std::vector<std::string> variables_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    if (!added.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<pid_t> spawn_program(const std::vector<std::string>& words, int in, int out, int err,
                            const std::map<std::string, std::string>& environment) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none), ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // Interrupts of the terminal are the master's.
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto variables = variables_with(environment);
  auto arguments = pointers(words), pairs = pointers(variables);
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), pairs.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  if (failed == ENOENT && words.front().find('/') == std::string::npos)
    return fail(ErrorCode::NotFound,
                "the command {} was not found; install it, or add it to the PATH of the master",
                words.front());
  return fail(failed == ENOENT ? ErrorCode::NotFound : ErrorCode::Unavailable, "cannot run {}: {}",
              words.front(), std::strerror(failed));
}

long write_to_pipe(int pipe, const char* data, std::size_t size) {
  sigset_t signal, before;
  ::sigemptyset(&signal), ::sigaddset(&signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signal, &before);
  const auto written = ::write(pipe, data, size);
  const int failed = errno;
  if (written < 0 && failed == EPIPE) {
    const timespec now{};
    ::sigtimedwait(&signal, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failed;
  return written < 0 && (failed == EAGAIN || failed == EINTR) ? 0 : written;
}

Result<ProgramEnd> run_program(const std::vector<std::string>& words, const std::string& input,
                               const std::map<std::string, std::string>& environment,
                               std::chrono::seconds timeout) {
  Pipe in, out, err;
  if (!in.open() || !out.open() || !err.open())
    return fail(ErrorCode::Unavailable, "cannot run {}: {}", words.front(), std::strerror(errno));
  DET_TRY(const auto pid, spawn_program(words, in.ends[0], out.ends[1], err.ends[1], environment));
  in.close(0), out.close(1), err.close(1);
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  ProgramEnd end;
  int status = 0;
  std::size_t sent = 0;
  bool ended = false;
  const auto deadline = Clock::now() + timeout;
  auto until = deadline;
  while (out.ends[0] >= 0 || err.ends[0] >= 0 || !ended) {
    if (sent == input.size()) in.close(1);
    if (!ended && ::waitpid(pid, &status, WNOHANG) == pid) {
      ended = true;
      in.close(1);
      // What it has left running may hold its pipes.
      until = std::min(deadline, Clock::now() + std::chrono::milliseconds(500));
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    pollfd ends[3] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    ::poll(ends, 3, static_cast<int>(std::min<long>(left, out.ends[0] < 0 && err.ends[0] < 0 ? 5 : 100)));
    const auto read = [](Pipe& pipe, short ready, std::string& into) {
      if (ready == 0) return;
      char buffer[65'536];
      const auto size = ::read(pipe.ends[0], buffer, sizeof buffer);
      if (size > 0) into.append(buffer, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) pipe.close(0);
    };
    read(out, ends[0].revents, end.out);
    read(err, ends[1].revents, end.err);
    if (ends[2].revents != 0) {
      const auto written = write_to_pipe(in.ends[1], input.data() + sent, input.size() - sent);
      if (written < 0) in.close(1), sent = input.size();
      if (written > 0) sent += static_cast<std::size_t>(written);
    }
  }
  if (!ended) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    return fail(ErrorCode::Unavailable, "{} has not answered for {} s", words.front(), timeout.count());
  }
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace det::master
