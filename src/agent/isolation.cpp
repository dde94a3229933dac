#include "det/agent/isolation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <set>

#include "det/agent/files.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

bool write_file(const std::string& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  ::close(fd);
  return written;
}

void sleep_milliseconds(long milliseconds) {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
  ::nanosleep(&time, nullptr);
}

/// The control group (version 2) of this process as a directory; empty where there is none.
std::string own_cgroup() {
  const auto mounts = read_small_file("/proc/self/mounts");
  const auto groups = read_small_file("/proc/self/cgroup");
  if (!mounts || !groups) return {};
  std::string root;
  for (const auto& line : split(*mounts, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() > 2 && fields[2] == "cgroup2") root = fields[1];
  }
  if (root.empty()) return {};
  for (const auto& line : split(*groups, '\n'))
    if (line.starts_with("0::/")) return root + line.substr(3);
  return {};
}

/// A new user namespace in which this user keeps its number.
bool enter_user_namespace() {
  const auto user = std::to_string(::geteuid());
  const auto group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  write_file("/proc/self/setgroups", "deny");
  return write_file("/proc/self/uid_map", user + " " + user + " 1") &&
         write_file("/proc/self/gid_map", group + " " + group + " 1");
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
  if (wants("cgroup") && !spec_.cgroup.empty()) {
    if (const auto own = own_cgroup(); !own.empty()) {
      const auto path = (own.ends_with('/') ? own : own + "/") + spec_.cgroup;
      if (::mkdir(path.c_str(), 0755) == 0 && ::access((path + "/cgroup.kill").c_str(), W_OK) == 0) {
        cgroup_ = path;
      } else {
        ::rmdir(path.c_str());
      }
    }
  }
  if (!wants("pid")) return;
  own_pids_ = ::unshare(CLONE_NEWPID) == 0;
  if (!own_pids_ && ::geteuid() != 0 && enter_user_namespace()) {
    taken_.emplace_back("user");
    own_pids_ = ::unshare(CLONE_NEWPID) == 0;
  }
  if (own_pids_) taken_.emplace_back("pid");
}

void Isolation::in_init() {
  if (!cgroup_.empty()) {
    if (write_file(cgroup_ + "/cgroup.procs", "0"))
      taken_.emplace_back("cgroup");
    else
      cgroup_.clear();
  }
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

void end_cgroup(const std::string& cgroup) {
  if (cgroup.empty()) return;
  write_file(cgroup + "/cgroup.kill", "1");
  for (int i = 0; i < 200 && ::rmdir(cgroup.c_str()) != 0 && errno == EBUSY; ++i) sleep_milliseconds(5);
}

void end_descendants() {
  const auto self = static_cast<std::int64_t>(::getpid());
  for (int round = 0; round < 500; ++round) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::multimap<std::int64_t, std::int64_t> children;
    if (DIR* proc = ::opendir("/proc")) {
      while (const auto* entry = ::readdir(proc)) {
        const auto pid = std::strtoll(entry->d_name, nullptr, 10);
        if (pid <= 0) continue;
        const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid), 64 * 1024);
        if (!stat) continue;
        const auto close = stat->rfind(')');
        if (close == std::string::npos || close + 4 >= stat->size() || (*stat)[close + 2] == 'Z') continue;
        children.emplace(std::strtoll(stat->c_str() + close + 4, nullptr, 10), pid);
      }
      ::closedir(proc);
    }
    std::vector<std::int64_t> found{self};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto [first, last] = children.equal_range(found[i]);
      for (auto it = first; it != last; ++it) found.push_back(it->second);
    }
    if (found.size() == 1) return;
    for (std::size_t i = 1; i < found.size(); ++i) ::kill(static_cast<pid_t>(found[i]), SIGKILL);
    sleep_milliseconds(round < 20 ? 1 : 10);
  }
}

std::vector<std::string> isolation_that_works() {
  ShimSpec spec;
  spec.isolation.assign(std::begin(kIsolationSteps), std::end(kIsolationSteps));
  spec.cgroup = fmt::format("det-probe-{}", ::getpid());
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
    end_cgroup(isolation.cgroup());
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
