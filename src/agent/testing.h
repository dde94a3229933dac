#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "det/agent/files.h"
#include "det/agent/shim/shim.h"
#include "det/agent/shim/spool.h"
#include "det/base/json.h"

/// What the tests of this module share: they run real processes.
namespace det::agent::testing {

/// Waits for what another process does; false when it took too long.
inline bool eventually(const std::function<bool()>& happened, double seconds = 20) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!happened()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "det-agent-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline bool alive(std::int64_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return false;
  const auto close = stat->rfind(')');
  return close != std::string::npos && (*stat)[close + 2] != 'Z';
}

/// Processes whose command line contains `mark`.
inline std::vector<std::int64_t> processes_with(const std::string& mark) {
  std::vector<std::int64_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = std::strtoll(entry.path().filename().c_str(), nullptr, 10);
    if (pid <= 0 || pid == ::getpid()) continue;
    const auto line = read_small_file(entry.path() / "cmdline");
    if (line && line->find(mark) != std::string::npos && alive(pid)) found.push_back(pid);
  }
  return found;
}

/// One task directory and the shim in it.
class Rank {
 public:
  Rank() {
    spec.working_directory = directory.path();
    spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
    spec.shared_directory = directory.path();
  }
  ~Rank() {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  void prepare() {
    ASSERT_FALSE(replace_file(directory / "spec.json", json::serialize(json::to_json(spec)), false));
    ASSERT_FALSE(replace_file(directory / "start", "", false));
  }
  void start(const std::string& script) {
    spec.command = {"bash", "-c", script};
    start();
  }
  void start() {
    prepare();
    pid = ::fork();
    if (pid == 0) {
      ::execl(DET_SHIM_PROGRAM, "det-shim", directory.path().c_str(), nullptr);
      ::_exit(99);
    }
  }
  void start_function(TaskFunction task) {
    spec.command.clear();
    prepare();
    std::fflush(nullptr);  // What waits to be written is this process's.
    pid = ::fork();
    if (pid == 0) ::_exit(run_shim(directory.path(), std::move(task)));
  }
  /// The shim's own exit status, after it has ended.
  int wait() {
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  ShimExit exit() {
    EXPECT_EQ(wait(), 0);
    return read_exit();
  }
  ShimExit read_exit() {
    const auto text = read_small_file(directory / "exit.json");
    EXPECT_TRUE(text) << text.error().message();
    return text ? json::from_json<ShimExit>(json::parse(*text).value()).value() : ShimExit{};
  }
  ShimState state() {
    const auto text = read_small_file(directory / "shim.json");
    return text ? json::from_json<ShimState>(json::parse(*text).value()).value() : ShimState{};
  }
  bool task_runs() { return state().taskPid != 0; }
  std::string output(const std::string& name = "stdout") {
    SpoolReader reader(directory.path(), name);
    std::string all;
    while (true) {
      const auto frames = reader.read(1 << 20);
      EXPECT_TRUE(frames);
      if (!frames || frames->empty()) return all;
      for (const auto& frame : *frames) all += frame.bytes;
    }
  }
  std::int64_t spool_bytes() {
    std::int64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      if (entry.path().filename().string().starts_with("std"))
        bytes += static_cast<std::int64_t>(entry.file_size());
    return bytes;
  }
  void isolate() { spec.isolation.assign(std::begin(kIsolationSteps), std::end(kIsolationSteps)); }

  TemporaryDirectory directory;
  ShimSpec spec;
  pid_t pid = -1;
};

}  // namespace det::agent::testing
