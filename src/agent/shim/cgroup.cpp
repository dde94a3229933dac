#include "det/agent/shim/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "det/agent/files.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

constexpr int kEndRounds = 200;

bool there(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

/// The directory of this process' group: of `controller` in version 1, or of version 2 for "".
/// Empty where there is none that can be seen from here.
std::string own_group(const std::string& controller) {
  const auto mounts = read_small_file("/proc/self/mountinfo");
  const auto groups = read_small_file("/proc/self/cgroup");
  if (!mounts || !groups) return {};
  const auto has = [&](const std::string& list) {
    const auto names = split(list, ',');
    return std::ranges::find(names, controller) != names.end();
  };
  std::string own;
  for (const auto& line : split(*groups, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : has(names)) own = line.substr(second + 1);
  }
  if (own.empty()) return {};
  for (const auto& line : split(*mounts, '\n')) {
    // "36 35 98:0 <root> <mount point> <options> [tags] - <type> <source> <options of the file system>"
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    if (controller.empty() ? dash[1] != "cgroup2" : dash[1] != "cgroup" || !has(dash[3])) continue;
    const auto& root = fields[3];
    auto path = own;
    if (root != "/") path = path.starts_with(root) ? path.substr(root.size()) : "";
    path = path == "/" ? fields[4] : fields[4] + path;
    if (there(path)) return path;
  }
  return {};
}

std::string without_leaf(std::string path) {
  const auto leaf = "/" + std::string(kAgentLeaf);
  if (path.ends_with(leaf)) path.resize(path.size() - leaf.size());
  return path;
}

/// The number after `name` in a file of lines "name number"; 0 where there is none.
std::int64_t counter(const std::string& path, std::string_view name) {
  const auto text = read_small_file(path);
  if (!text) return 0;
  for (const auto& line : split(*text, '\n'))
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return std::strtoll(line.c_str() + name.size(), nullptr, 10);
  return 0;
}

std::vector<pid_t> members(const std::string& path) {
  std::vector<pid_t> pids;
  if (const auto text = read_small_file(path + "/cgroup.procs"))
    for (const auto& line : split(*text, '\n'))
      if (const auto pid = std::strtol(line.c_str(), nullptr, 10); pid > 0)
        pids.push_back(static_cast<pid_t>(pid));
  return pids;
}

/// Version 1 has no cgroup.kill. A member is held by a descriptor and looked up again before it is
/// killed, so that a number which has come to mean another process does no harm.
void kill_members(const std::string& path) {
  std::vector<std::pair<pid_t, int>> held;
  for (const auto pid : members(path))
    if (const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); fd >= 0)
      held.emplace_back(pid, fd);
  const auto still = members(path);
  for (const auto& [pid, fd] : held) {
    if (std::ranges::find(still, pid) != still.end())
      ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
    ::close(fd);
  }
}

/// Below the group of this process; only what was made here is ever taken away again.
std::string make_group(const std::string& base, const std::string& name) {
  if (base.empty()) return {};
  auto path = base + "/" + name;
  return ::mkdir(path.c_str(), 0755) == 0 ? path : std::string();
}

bool limit_memory(const std::string& path, std::int64_t bytes) {
  if (bytes <= 0) return true;
  const auto text = std::to_string(bytes);
  if (there(path + "/memory.max")) {
    write_control_file(path + "/memory.swap.max", "0");  // Without swap there is no such file, and no need.
    return write_control_file(path + "/memory.max", text);
  }
  if (!write_control_file(path + "/memory.limit_in_bytes", text)) return false;
  write_control_file(path + "/memory.memsw.limit_in_bytes", text);
  return true;
}

}  // namespace

void ControlGroups::make(const std::string& name, bool whole, bool memory, bool pids, GroupLimits limits) {
  limits_ = limits;
  const auto unique = name.substr(0, 220) + "-" + random_hex();
  if (whole || memory || pids) {
    whole_ = make_group(without_leaf(own_group("")), unique);
    if (!whole_.empty() && !there(whole_ + "/cgroup.kill")) {
      ::rmdir(whole_.c_str());
      whole_.clear();
    }
  }
  if (memory) {
    memory_ = there(whole_ + "/memory.max") ? whole_ : make_group(own_group("memory"), unique);
    if (!memory_.empty() && !limit_memory(memory_, limits.memory_bytes_max)) {
      if (memory_ != whole_) ::rmdir(memory_.c_str());
      memory_.clear();
    }
  }
  if (pids) {
    pids_ = there(whole_ + "/pids.max") ? whole_ : make_group(own_group("pids"), unique);
    if (!pids_.empty() && limits.pids_max > 0 &&
        !write_control_file(pids_ + "/pids.max", std::to_string(limits.pids_max))) {
      if (pids_ != whole_) ::rmdir(pids_.c_str());
      pids_.clear();
    }
  }
}

void ControlGroups::join() {
  const auto enter = [](const std::string& path) { return write_control_file(path + "/cgroup.procs", "0"); };
  const auto whole = whole_;
  const bool in_whole = !whole.empty() && enter(whole);
  for (auto* path : {&memory_, &pids_})
    if (!path->empty() && !(*path == whole ? in_whole : enter(*path))) path->clear();
  if (!in_whole) whole_.clear();
}

std::vector<std::string> ControlGroups::paths() const {
  std::vector<std::string> all;
  for (const auto* path : {&whole_, &memory_, &pids_})
    if (!path->empty() && std::ranges::find(all, *path) == all.end()) all.push_back(*path);
  return all;
}

std::string ControlGroups::trouble() const {
  if (!memory_.empty()) {
    const bool second = there(memory_ + "/memory.max");
    if (counter(memory_ + (second ? "/memory.events" : "/memory.oom_control"), "oom_kill") > 0)
      return limits_.memory_bytes_max > 0
                 ? fmt::format("killed by the kernel: out of memory (limit {})",
                               bytes_text(limits_.memory_bytes_max))
                 : "killed by the kernel: out of memory (no limit set; the machine ran out of memory)";
  }
  if (!pids_.empty() && limits_.pids_max > 0 && counter(pids_ + "/pids.events", "max") > 0)
    return fmt::format("reached the limit of {} processes and threads (--pids-per-slot)", limits_.pids_max);
  return {};
}

void end_cgroup(const std::string& path) {
  if (path.empty()) return;
  const bool whole = write_control_file(path + "/cgroup.kill", "1");
  for (int round = 0; round < kEndRounds && ::rmdir(path.c_str()) != 0 && errno == EBUSY; ++round) {
    if (!whole) kill_members(path);
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

void hand_on_controllers() {
  const auto own = own_group("");
  const auto base = without_leaf(own);
  if (base.empty()) return;
  const auto offered = split(trim(read_small_file(base + "/cgroup.controllers").value_or("")), ' ');
  const auto handed = split(trim(read_small_file(base + "/cgroup.subtree_control").value_or("")), ' ');
  std::string wanted;
  for (const char* name : {"memory", "pids"})
    if (std::ranges::find(offered, name) != offered.end() && std::ranges::find(handed, name) == handed.end())
      wanted += (wanted.empty() ? "+" : " +") + std::string(name);
  const auto control = base + "/cgroup.subtree_control";
  if (wanted.empty() || write_control_file(control, wanted)) return;
  // Refused while processes are in it. If this one is alone there it can step aside.
  if (own != base || members(own) != std::vector<pid_t>{::getpid()}) return;
  const auto leaf = base + "/" + kAgentLeaf;
  const bool made = ::mkdir(leaf.c_str(), 0755) == 0;
  if ((!made && errno != EEXIST) || !write_control_file(leaf + "/cgroup.procs", "0")) return;
  if (write_control_file(control, wanted)) return;
  write_control_file(own + "/cgroup.procs", "0");
  if (made) ::rmdir(leaf.c_str());
}

std::string bytes_text(std::int64_t bytes) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  auto text = fmt::format("{:.1f}", size);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " " + kUnits[unit];
}

}  // namespace det::agent
