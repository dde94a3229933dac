#include "det/agent/idle.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "det/agent/files.h"
#include "det/agent/shim/reuse.h"
#include "det/base/json.h"
#include "det/logging/log.h"

namespace det::agent {

namespace {

using std::chrono::seconds;

constexpr seconds kIdleMax{10};
constexpr seconds kGreeting{5};
constexpr std::size_t kOfferBytes = 64 * 1024;

/// Returns when there is something to read, or the time has passed, or somebody cancelled the descriptor.
asio::awaitable<void> readable(asio::posix::stream_descriptor& descriptor, seconds longest) {
  asio::steady_timer timer(descriptor.get_executor(), longest);
  const auto waiting = std::make_shared<bool>(true);  // The timer may have rung when this is over.
  timer.async_wait([&descriptor, waiting](boost::system::error_code cancelled) {
    if (!cancelled && *waiting) descriptor.cancel();
  });
  boost::system::error_code failure;
  co_await descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failure));
  *waiting = false;
}

std::optional<std::filesystem::path> read_offer(int socket) {
  std::string text(kOfferBytes, '\0');
  const auto got = ::recv(socket, text.data(), text.size(), MSG_DONTWAIT);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto offer =
      json::parse(text).and_then([](const json::value& v) { return json::from_json<ReuseMessage>(v); });
  if (!offer) return std::nullopt;
  return offer->directory;
}

}  // namespace

std::string reuse_key(const api::DesiredAllocation& a) {
  if (!a.trial_id || a.size != 1 || !a.command.empty() || a.framework != "pytorch") return {};
  return fmt::format("{}/{}/{}/{}/{}", a.experiment_id.value(), a.model_definition,
                     fmt::join(a.slot_ids, ","), a.reuse,
                     a.run_as ? json::serialize(json::to_json(*a.run_as)) : "");
}

IdleProcesses::IdleProcesses(asio::any_io_executor executor, Coroutines& coroutines,
                             std::filesystem::path socket, Offered offered, Ended ended)
    : executor_(std::move(executor)),
      coroutines_(coroutines),
      path_(std::move(socket)),
      offered_(std::move(offered)),
      ended_(std::move(ended)) {}

asio::awaitable<void> IdleProcesses::run() {
  const int socket = listen_at(path_);
  if (socket < 0 || ::chmod(path_.c_str(), 0600) != 0) {
    logging::warn("cannot listen at {}: {}; no process runs a second trial", path_.string(),
                  std::strerror(errno));
    co_return;
  }
  asio::posix::stream_descriptor listener(executor_, socket);
  while (true) {
    co_await listener.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    const int accepted = ::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted >= 0) coroutines_.spawn(greet(accepted));
  }
}

asio::awaitable<void> IdleProcesses::greet(int accepted) {
  asio::posix::stream_descriptor socket(executor_, accepted);
  co_await readable(socket, kGreeting);
  const auto directory = read_offer(socket.native_handle());
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!directory || ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    co_return;
  auto shim = Process::open(executor_, peer.pid);
  const auto start_time = process_start_time(peer.pid);
  if (!shim || !start_time) co_return;
  auto kind = offered_(*directory, peer.pid);
  if (!kind) co_return;
  keep(std::make_shared<IdleProcess>(IdleProcess{std::move(kind->key), std::move(kind->slots),
                                                 std::move(kind->process), *start_time, *std::move(shim),
                                                 std::move(socket)}));
}

void IdleProcesses::keep(const IdleProcessPtr& process) {
  process->taken = false;
  idle_.push_back(process);
  coroutines_.spawn(watch(process));
}

/// It has ended, or nobody needed it.
asio::awaitable<void> IdleProcesses::watch(IdleProcessPtr process) {
  co_await readable(process->socket, kIdleMax);
  if (process->taken) co_return;
  idle_.remove(process);
  process->socket.close();
  co_await process->shim.ended();
  ended_(process->process.root);
}

IdleProcessPtr IdleProcesses::take(const std::string& key) {
  const auto found = std::ranges::find(idle_, key, [](const auto& process) { return process->key; });
  if (key.empty() || found == idle_.end()) return nullptr;
  auto process = *found;
  idle_.erase(found);
  process->taken = true;
  process->socket.cancel();
  return process;
}

bool IdleProcesses::give(const IdleProcessPtr& process, const std::filesystem::path& directory) {
  const auto text = json::serialize(json::to_json(ReuseMessage{directory}));
  return ::send(process->socket.native_handle(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

asio::awaitable<void> IdleProcesses::clear(std::vector<int> slots) {
  std::vector<IdleProcessPtr> hit;
  for (const auto& process : idle_)
    if (std::ranges::any_of(slots, [&](int slot) { return std::ranges::count(process->slots, slot) > 0; }))
      hit.push_back(process);
  for (const auto& process : hit) process->socket.cancel();  // watch() does the rest.
  for (const auto& process : hit) co_await process->shim.ended();
}

}  // namespace det::agent
