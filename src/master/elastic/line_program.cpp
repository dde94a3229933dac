#include "det/master/elastic/line_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "det/master/elastic/run_program.h"

namespace det::master {

using Clock = std::chrono::steady_clock;

Result<void> LineProgram::start(const std::vector<std::string>& words, const std::string& log) {
  stop();
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0)
    return fail(ErrorCode::Unavailable, "cannot make a pipe: {}", std::strerror(errno));
  if (::pipe2(out, O_CLOEXEC) != 0) {
    ::close(in[0]), ::close(in[1]);
    return fail(ErrorCode::Unavailable, "cannot make a pipe: {}", std::strerror(errno));
  }
  const int err = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto pid = spawn_program(words, in[0], out[1], err);
  ::close(in[0]), ::close(out[1]), ::close(err);
  in_ = in[1], out_ = out[0];
  if (pid) {
    pid_ = *pid;
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
    return {};
  }
  stop();
  return tl::unexpected(pid.error());
}

bool LineProgram::running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  if (pid_ > 0) {
    pid_ = 0;  // it was reaped
    stop();
  }
  return false;
}

Result<std::string> LineProgram::lost(const std::string& why) {
  stop();
  return fail(ErrorCode::Unavailable, "{}", why);
}

Result<std::string> LineProgram::ask(const std::string& line, std::chrono::milliseconds timeout) {
  if (pid_ == 0) return fail(ErrorCode::Unavailable, "it does not run");
  const auto deadline = Clock::now() + timeout;
  auto rest = line + "\n";
  kept_.clear();
  while (true) {
    if (const auto end = kept_.find('\n'); end != std::string::npos) return kept_.substr(0, end);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return lost(fmt::format("it has not answered for {} s", timeout.count() / 1000));
    pollfd ends[2] = {{out_, POLLIN, 0}, {rest.empty() ? -1 : in_, POLLOUT, 0}};
    if (::poll(ends, 2, static_cast<int>(left)) < 0 && errno != EINTR)
      return lost(fmt::format("poll failed: {}", std::strerror(errno)));
    if (ends[1].revents != 0) {
      const auto written = write_to_pipe(in_, rest.data(), rest.size());
      if (written < 0) return lost("it ended");
      rest.erase(0, static_cast<std::size_t>(written));
    }
    if (ends[0].revents != 0) {
      char buffer[65'536];
      const auto size = ::read(out_, buffer, sizeof buffer);
      if (size == 0 || (size < 0 && errno != EINTR)) return lost("it ended before it answered");
      if (size > 0) kept_.append(buffer, static_cast<std::size_t>(size));
    }
  }
}

void LineProgram::stop() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
  in_ = out_ = -1;
  if (pid_ <= 0) return;
  for (int tries = 0; tries < 100; ++tries) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = 0;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace det::master
