#include "det/agent/shim/reuse.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "det/agent/files.h"
#include "det/base/json.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

constexpr char kDone = 'd';
constexpr char kNext = 'n';

bool send_byte(int socket, char byte) {
  ssize_t sent = -1;
  while ((sent = ::send(socket, &byte, 1, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent == 1;
}

/// '\0' at the end, or where there is nothing yet.
char receive_byte(int socket, int flags) {
  char byte = '\0';
  while (::recv(socket, &byte, 1, flags) < 0 && errno == EINTR) {
  }
  return byte;
}

void close_at(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

/// Calls `use` with the address of a socket at `path`, by way of its directory, whose own path may be long.
template <typename F>
int with_address(const std::filesystem::path& path, F use) {
  const int directory = ::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int socket = directory < 0 ? -1 : ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket >= 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    fmt::format("/proc/self/fd/{}/{}", directory, path.filename().string())
        .copy(address.sun_path, sizeof address.sun_path - 1);
    if (!use(socket, address)) {
      const int why = errno;
      ::close(socket);
      ::close(directory);
      errno = why;
      return -1;
    }
  }
  if (directory >= 0) ::close(directory);
  return socket;
}

}  // namespace

TaskChannel::~TaskChannel() {
  leave();
}

void TaskChannel::leave() {
  close_at(shim_);
  close_at(task_);
  close_at(paper_);
}

bool TaskChannel::open() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  shim_ = sockets[0];
  task_ = sockets[1];
  paper_ = ::memfd_create("det-next-task", MFD_CLOEXEC);
  return paper_ >= 0;
}

void TaskChannel::in_shim() {
  close_at(task_);
}

bool TaskChannel::heard_done() {
  const char heard = receive_byte(shim_, MSG_DONTWAIT);
  if (heard != kDone) close_at(shim_);  // The process ended, or wrote what it may not.
  return heard == kDone;
}

bool TaskChannel::give(const NextTask& next) {
  const auto text = json::serialize(json::to_json(next));
  return ::ftruncate(paper_, 0) == 0 &&
         ::pwrite(paper_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         send_byte(shim_, kNext);
}

void TaskChannel::dismiss() {
  close_at(shim_);
}

void TaskChannel::in_task() {
  close_at(shim_);
}

std::optional<NextTask> TaskChannel::next(const std::function<bool()>& meanwhile) {
  if (!send_byte(task_, kDone) || !meanwhile() || receive_byte(task_, 0) != kNext) return std::nullopt;
  struct stat status{};
  if (::fstat(paper_, &status) != 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(paper_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return std::nullopt;
  const auto next =
      json::parse(text).and_then([](const json::value& v) { return json::from_json<NextTask>(v); });
  if (!next) return std::nullopt;
  return *next;
}

int listen_at(const std::filesystem::path& path) {
  ::unlink(path.c_str());
  return with_address(path, [](int socket, const sockaddr_un& address) {
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
           ::listen(socket, SOMAXCONN) == 0;
  });
}

int connect_to(const std::filesystem::path& path) {
  return with_address(path, [](int socket, const sockaddr_un& address) {
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  });
}

bool is_alone() {
  // Files of /proc are as long as what is read from them.
  const auto children = [](const std::string& process) {
    return read_small_file(fmt::format("/proc/{}/task/{}/children", process, process));
  };
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto own = read_small_file(thread.path() / "children");
    if (!own || !trim(*own).empty()) return false;
  }
  const auto siblings = children(std::to_string(::getppid()));
  return !error && siblings && trim(*siblings) == std::to_string(::getpid());
}

}  // namespace det::agent
