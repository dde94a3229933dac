#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <utility>
#include <vector>

#include "det/agent/test_master.h"
#include "det/agent/testing.h"

namespace det::agent::testing {

/// A model definition of a file and a startup hook, as a master sends it.
inline std::string model_archive() {
  testing::TemporaryDirectory directory;
  auto* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_pax_restricted(writer);
  archive_write_open_filename(writer, (directory / "m").c_str());
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"model.txt", "weights"}, {"startup-hook.sh", "export HOOKED=yes\necho from hook\n"}}) {
    auto* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    archive_write_header(writer, entry);
    archive_write_data(writer, text.data(), text.size());
    archive_entry_free(entry);
  }
  archive_write_free(writer);
  return read_small_file(directory / "m").value();
}

/// A real agent process and an HTTP master for it.
struct Agent : ::testing::Test {
  ~Agent() override {
    stop(SIGKILL);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state.path())) {
      if (entry.path().filename() != "shim.json") continue;
      const auto shim =
          json::from_json<ShimState>(json::parse(read_small_file(entry.path()).value()).value()).value();
      if (process_start_time(shim.pid) == shim.startTime) ::kill(static_cast<pid_t>(shim.pid), SIGKILL);
    }
  }
  void start(bool warm = false) { start_as(warm ? "warm" : nullptr); }
  void start_as(const char* kind) {
    const auto url = master.url();
    pid = ::fork();
    if (pid != 0) return;
    if (std::getenv("DET_TEST_VERBOSE") == nullptr) {
      const int log = ::open((state / "agent.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, 1);
      ::dup2(log, 2);
    }
    ::execl(DET_AGENT_TEST_PROGRAM, "det-agent-test", "agent", url.c_str(), (state / "agent").c_str(), kind,
            nullptr);
    ::_exit(99);
  }
  int stop(int signal) {
    if (pid <= 0) return -1;
    ::kill(pid, signal);
    int status = 0;
    ::waitpid(std::exchange(pid, -1), &status, 0);
    return status;
  }
  api::DesiredAllocation wanted(const std::string& id, const std::string& script,
                                std::vector<int> slots = {0}) {
    api::DesiredAllocation a;
    a.allocation_id = id;
    a.task_id = "7.x";
    a.token = "trial-token";
    a.trial_id = TrialId{12};
    a.experiment_id = ExperimentId{7};
    a.run_id = 1;
    a.size = static_cast<int>(slots.size());
    a.slot_ids = std::move(slots);
    a.framework = "pytorch";
    a.environment["SCRIPT"] = script;
    return a;
  }
  void want(const std::string& id, const std::string& script) { master.want(wanted(id, script)); }
  bool said(const std::string& words) {
    return read_small_file(state / "agent.log").value_or("").find(words) != std::string::npos;
  }
  bool forgotten(const std::string& id) { return !std::filesystem::exists(state / "agent" / "tasks" / id); }

  TemporaryDirectory state;
  TestMaster master;
  pid_t pid = -1;
};

}  // namespace det::agent::testing
