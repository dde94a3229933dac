#include "det/agent/shim/isolation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>

#include "det/agent/files.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

constexpr int kEndRounds = 500;
constexpr std::size_t kDescendantsMax = 500;  // At a time: each costs a descriptor.

void sleep_milliseconds(long milliseconds) {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
  ::nanosleep(&time, nullptr);
}

/// A new user namespace in which this user keeps its number.
bool enter_user_namespace() {
  const auto user = std::to_string(::geteuid());
  const auto group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  write_control_file("/proc/self/setgroups", "deny");
  return write_control_file("/proc/self/uid_map", user + " " + user + " 1") &&
         write_control_file("/proc/self/gid_map", group + " " + group + " 1");
}

/// A process below this one.
struct Below {
  pid_t pid = 0;
  std::int64_t start = 0;  ///< Field 22 of /proc/pid/stat.
  pid_t parent = 0;
  std::int64_t parent_start = 0;  ///< Filled in by descendants(); not compared.
  friend bool operator==(const Below& a, const Below& b) {
    return a.pid == b.pid && a.start == b.start && a.parent == b.parent;
  }
};

/// Nothing where there is no such process, or only what is left of one.
std::optional<Below> look_at(pid_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid), 64 * 1024);
  if (!stat) return std::nullopt;
  const auto close = stat->rfind(')');
  if (close == std::string::npos || close + 4 >= stat->size() || (*stat)[close + 2] == 'Z')
    return std::nullopt;
  const auto start = process_start_time_of(*stat);
  if (!start) return std::nullopt;
  return Below{pid, *start, static_cast<pid_t>(std::strtol(stat->c_str() + close + 4, nullptr, 10))};
}

/// Parents before their children.
std::vector<Below> descendants() {
  std::multimap<pid_t, Below> children;
  if (DIR* proc = ::opendir("/proc")) {
    while (const auto* entry = ::readdir(proc))
      if (const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); pid > 0)
        if (const auto one = look_at(pid)) children.emplace(one->parent, *one);
    ::closedir(proc);
  }
  std::vector<Below> found;
  const auto add = [&](pid_t parent, std::int64_t start) {
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last && found.size() < kDescendantsMax; ++it) {
      found.push_back(it->second);
      found.back().parent_start = start;
    }
  };
  add(::getpid(), 0);
  for (std::size_t i = 0; i < found.size(); ++i) add(found[i].pid, found[i].start);
  return found;
}

bool mount_private(const char* type, const char* target, const char* options) {
  return ::mount(type, target, type,
                 MS_NOSUID | MS_NODEV | (std::string_view(type) == "proc" ? MS_NOEXEC : 0), options) == 0;
}

}  // namespace

bool Isolation::wants(const char* step) const {
  return std::ranges::find(spec_.isolation, step) != spec_.isolation.end();
}

void Isolation::before_fork() {
  if (!spec_.cgroup.empty())
    groups_.make(spec_.cgroup, wants("cgroup"), wants("memory"), wants("processes"),
                 GroupLimits{spec_.memory_bytes_max, spec_.pids_max});
  if (!wants("pid")) return;
  own_pids_ = ::unshare(CLONE_NEWPID) == 0;
  if (!own_pids_ && ::geteuid() != 0 && enter_user_namespace()) {
    taken_.emplace_back("user");
    own_pids_ = ::unshare(CLONE_NEWPID) == 0;
  }
  if (own_pids_) taken_.emplace_back("pid");
}

void Isolation::in_init() {
  groups_.join();
  if (wants("cgroup") && !groups_.whole().empty()) taken_.emplace_back("cgroup");
  if (groups_.memory()) taken_.emplace_back("memory");
  if (groups_.pids()) taken_.emplace_back("processes");
  if (wants("mount") && ::unshare(CLONE_NEWNS) == 0 &&
      ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0) {
    taken_.emplace_back("mount");
    if (own_pids_ && wants("proc") && mount_private("proc", "/proc", nullptr)) taken_.emplace_back("proc");
    if (wants("shm") && mount_private("tmpfs", "/dev/shm", "mode=1777")) taken_.emplace_back("shm");
    if (wants("files") && !spec_.hide.empty()) hide_files();
  }
  if (wants("ipc") && ::unshare(CLONE_NEWIPC) == 0) taken_.emplace_back("ipc");
  if (wants("uts") && ::unshare(CLONE_NEWUTS) == 0) taken_.emplace_back("uts");
}

void Isolation::hide_files() {
  // Hold what shall stay visible, cover the rest, put it back in its place.
  std::vector<std::pair<std::string, int>> held;
  for (const auto& path : spec_.show) {
    const int tree = ::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree >= 0) held.emplace_back(path, tree);
  }
  bool hidden =
      held.size() == spec_.show.size() && mount_private("tmpfs", spec_.hide.c_str(), "mode=0755,size=64k");
  for (const auto& [path, tree] : held) {
    if (hidden) {
      std::error_code error;
      std::filesystem::create_directories(path, error);
      if (::move_mount(tree, "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
        ::umount2(spec_.hide.c_str(), MNT_DETACH);
        hidden = false;
      }
    }
    ::close(tree);
  }
  if (hidden) {
    ::mount(nullptr, spec_.hide.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
            nullptr);
    taken_.emplace_back("files");
  }
}

void end_descendants() {
  for (int round = 0; round < kEndRounds; ++round) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const auto found = descendants();
    if (found.empty()) return;
    // Each is held by a descriptor, then looked at again together with the one that it was found
    // below: if neither number has changed its meaning it is ours, and the descriptor stays its own.
    std::vector<int> held;
    for (const auto& one : found) {
      const int fd = static_cast<int>(::syscall(SYS_pidfd_open, one.pid, 0));
      if (fd < 0) continue;
      if (look_at(one.pid) == one &&
          (one.parent == ::getpid() || process_start_time(one.parent) == one.parent_start))
        held.push_back(fd);
      else
        ::close(fd);
    }
    for (const int fd : held) {
      ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
      ::close(fd);
    }
    sleep_milliseconds(round < 20 ? 1 : 10);
  }
}

std::vector<std::string> isolation_that_works() {
  ShimSpec spec;
  spec.isolation.assign(std::begin(kIsolationSteps), std::end(kIsolationSteps));
  spec.cgroup = "det-probe";
  char directory[] = "/tmp/det-probe-XXXXXX";
  if (::mkdtemp(directory) != nullptr) spec.hide = directory;
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    Isolation isolation(spec);
    isolation.before_fork();
    const pid_t init = ::fork();
    if (init == 0) {
      isolation.in_init();
      std::string names;
      for (const auto& name : isolation.taken()) names += name + "\n";
      const bool told = ::write(pipe[1], names.data(), names.size()) == static_cast<ssize_t>(names.size());
      ::_exit(told ? 0 : 1);
    }
    if (init > 0) ::waitpid(init, nullptr, 0);
    for (const auto& path : isolation.groups().paths()) end_cgroup(path);
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string names;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(pipe[0], buffer, sizeof buffer)) > 0;)
    names.append(buffer, static_cast<std::size_t>(got));
  ::close(pipe[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (!spec.hide.empty()) ::rmdir(spec.hide.c_str());
  std::vector<std::string> taken;
  for (auto& name : split(names, '\n'))
    if (!name.empty()) taken.push_back(std::move(name));
  return taken;
}

}  // namespace det::agent
