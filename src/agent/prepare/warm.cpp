#include "det/agent/prepare/warm.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "det/logging/log.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "det/agent/files.h"
#include "det/base/json.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{10'000};
constexpr milliseconds kWarmUpPatience{300'000};
constexpr milliseconds kPauseMin{500};
constexpr milliseconds kPauseMax{60'000};
constexpr std::size_t kAnswerBytes = 64 * 1024;

struct Request {
  std::string directory;
};
BOOST_DESCRIBE_STRUCT(Request, (), (directory))

struct Answer {
  std::int64_t pid = 0;
  std::string error;
};
BOOST_DESCRIBE_STRUCT(Answer, (), (pid, error))

/// What the worker said last, for the message about its end.
std::string last_line(const std::filesystem::path& log) {
  const auto text = read_small_file(log);
  if (!text) return {};
  std::string last;
  for (const auto& line : split(*text, '\n'))
    if (!trim(line).empty()) last = line;
  return last.substr(0, 300);
}

}  // namespace

TrialStart how_to_start(const WarmState& worker, milliseconds patience) {
  if (worker.ready) return TrialStart::Fork;
  if (!worker.starting || worker.failed || *worker.starting >= patience) return TrialStart::Fresh;
  return TrialStart::Wait;
}

WarmWorker::WarmWorker(const asio::any_io_executor& executor, WarmOptions options)
    : executor_(executor), options_(std::move(options)), free_(executor) {}

WarmState WarmWorker::state() const {
  WarmState state{.ready = ready_, .failed = failed_};
  if (starting_)
    state.starting = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - *starting_);
  return state;
}

asio::awaitable<void> WarmWorker::run() {
  asio::steady_timer timer(executor_);
  auto pause = kPauseMin;
  while (true) {
    const auto begin = std::chrono::steady_clock::now();
    starting_ = begin;
    co_await live();
    starting_.reset();
    options_.changed();
    const bool lived = std::chrono::steady_clock::now() - begin > kPauseMax;
    pause = lived ? kPauseMin : std::min(pause * 2, kPauseMax);
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> WarmWorker::live() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) != 0) {
    logging::warn("cannot start the warm worker for {}: {}", options_.framework, std::strerror(errno));
    failed_ = true;
    co_return;
  }
  ::fcntl(sockets[1], F_SETFL, 0);  // The worker reads as it likes.
  const auto pid =
      start_bound(options_.command, options_.environment, options_.directory, options_.log, sockets[1]);
  ::close(sockets[1]);
  if (!pid) {
    ::close(sockets[0]);
    logging::warn("cannot start the warm worker for {}: {}", options_.framework, pid.error().message());
    failed_ = true;
    co_return;
  }
  socket_.emplace(executor_, sockets[0]);
  auto process = Process::open(executor_, *pid);
  if (!process) co_return drop();
  process_.emplace(*std::move(process));
  // No such directory: any answer says that the worker listens.
  const auto began = std::chrono::steady_clock::now();
  auto nothing = json::serialize(json::to_json(Request{}));
  const auto hello = co_await ask(std::move(nothing), kWarmUpPatience);
  failed_ = !hello;
  if (hello) {
    starting_.reset();
    ready_ = true;
    free_.ring();
    options_.changed();
    logging::info("the warm worker for {} is ready after {} ms", options_.framework,
                  std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began).count());
    co_await process_->ended();
    logging::warn("the warm worker for {} exited; restarting it (trials start slower until then)",
                  options_.framework);
  } else {
    logging::warn("cannot start the warm worker for {}: {}; trials start slower without it",
                  options_.framework,
                  last_line(options_.log).empty() ? hello.error().message() : last_line(options_.log));
  }
  drop();
}

void WarmWorker::drop() {
  ready_ = false;
  if (process_) process_->signal(SIGKILL);
  if (process_) {
    // Reaped here: it has no other owner.
    asio::co_spawn(
        executor_,
        [](Process process) -> asio::awaitable<void> { co_await process.ended(); }(*std::move(process_)),
        [](const std::exception_ptr&) {});
  }
  process_.reset();
  socket_.reset();
}

asio::awaitable<Result<std::string>> WarmWorker::ask(std::string request, milliseconds patience) {
  if (!socket_) co_return fail(ErrorCode::Unavailable, "the warm worker is not running");
  if (::send(socket_->native_handle(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
    co_return fail(ErrorCode::Unavailable, "cannot connect to the warm worker: {}", std::strerror(errno));
  auto late = std::make_shared<bool>(false);
  asio::steady_timer timer(executor_, patience);
  timer.async_wait([this, late](boost::system::error_code failure) {
    if (failure) return;
    *late = true;
    if (socket_) socket_->cancel();
  });
  std::string answer(kAnswerBytes, '\0');
  while (true) {
    boost::system::error_code failure;
    co_await socket_->async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failure));
    if (!socket_ || *late || failure) {
      timer.cancel();
      co_return fail(ErrorCode::Unavailable, "the warm worker did not answer within {} ms", patience.count());
    }
    const auto got = ::recv(socket_->native_handle(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    timer.cancel();
    if (got <= 0) co_return fail(ErrorCode::Unavailable, "the warm worker exited");
    answer.resize(static_cast<std::size_t>(got));
    co_return answer;
  }
}

asio::awaitable<Result<pid_t>> WarmWorker::start(std::filesystem::path directory) {
  while (busy_ && ready_) co_await free_.wait(milliseconds(20));
  if (!ready_) co_return fail(ErrorCode::Unavailable, "the warm worker is not ready");
  busy_ = true;
  Request request;
  request.directory = directory;
  auto asked = json::serialize(json::to_json(request));
  const auto text = co_await ask(std::move(asked), kPatience);
  busy_ = false;
  free_.ring();
  if (!text) {
    // Its answers can no longer be told apart: a fresh one is safer.
    if (process_) process_->signal(SIGKILL);
    co_return tl::unexpected(text.error());
  }
  const auto answer =
      json::parse(*text).and_then([](const json::value& v) { return json::from_json<Answer>(v); });
  if (!answer)
    co_return fail(ErrorCode::Internal, "invalid response of the warm worker: {}", answer.error().message());
  if (answer->pid <= 0) co_return fail(ErrorCode::Internal, "the warm worker failed: {}", answer->error);
  co_return static_cast<pid_t>(answer->pid);
}

}  // namespace det::agent
