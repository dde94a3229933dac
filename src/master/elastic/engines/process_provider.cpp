// Pilots as processes of the master's own machine: for tests, and to try an elastic pool without an engine.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "det/base/text.h"
#include "det/master/elastic/provider.h"
#include "det/master/elastic/run_program.h"

namespace det::master {
namespace {

/// Starts each pilot in a session of its own, and finds it again by a file with its process id.
class Processes final : public Provider {
 public:
  Processes(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)) {}

  Result<void> check() override {
    std::error_code error;
    std::filesystem::create_directories(pilot_.log_dir, error);
    if (error) return fail(ErrorCode::Unavailable, "cannot write to {}: {}", pilot_.log_dir, error.message());
    return {};
  }

  Result<std::string> submit(const EngineRequest& request) override {
    const auto file = [&](const char* suffix) {
      return fmt::format("{}/{}.{}", pilot_.log_dir, request.name, suffix);
    };
    {
      std::ofstream script(file("sh"));
      for (int node = 0; node < request.nodes; ++node) {
        auto one = request;
        one.name += "-" + std::to_string(node);
        script << "(\n" << pilot_script(settings_, pilot_, one, fmt::format("--node {}", node)) << ") &\n";
      }
      script << "trap 'kill -TERM $(jobs -p)' TERM\nwait\nwait\n";
      if (!script) return fail(ErrorCode::Unavailable, "cannot write {}", file("sh"));
    }
    DET_TRY(const auto end,
            run_program(
                {"/bin/sh", "-c",
                 fmt::format("setsid bash {} > {} 2>&1 < /dev/null & echo $! > {}; echo $!",
                             shell_quoted(file("sh")), shell_quoted(file("log")), shell_quoted(file("pid")))},
                "", {{"DET_PILOT_TOKEN", request.token}}));
    return std::string(trim(end.out));
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    std::vector<EngineJob> jobs;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(pilot_.log_dir, error)) {
      const auto name = entry.path().stem().string();
      if (entry.path().extension() != ".pid" || !name.starts_with(prefix)) continue;
      EngineJob job{.name = name, .id = {}, .state = EngineJob::State::Running};
      std::ifstream(entry.path()) >> job.id;
      job.reason = fmt::format("process {} is running", job.id);
      if (!alive(job.id)) {
        job.state = EngineJob::State::Ended;
        job.reason = fmt::format("process {} has ended; its log is {}", job.id,
                                 (entry.path().parent_path() / (name + ".log")).string());
      }
      jobs.push_back(std::move(job));
    }
    return jobs;
  }

  std::string log_of(const std::string& name) const override {
    return fmt::format("{}/{}.log", pilot_.log_dir, name);
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    for (const auto& job : jobs)
      if (alive(job.id)) ::kill(-std::stoi(job.id), SIGTERM);
    return {};
  }

 private:
  static bool alive(const std::string& id) {
    const auto pid = std::atoi(id.c_str());
    return pid > 1 && ::kill(-pid, 0) == 0;  // its session: the shell and the pilots
  }

  ProviderSettings settings_;
  PilotSettings pilot_;
};

}  // namespace

std::unique_ptr<Provider> make_processes(const ProviderSettings& settings, const PilotSettings& pilot) {
  return std::make_unique<Processes>(settings, pilot);
}

std::unique_ptr<Provider> make_provider(const ProviderSettings& settings, const PilotSettings& pilot) {
  switch (settings.type) {
    case ProviderType::Slurm: return make_slurm(settings, pilot);
    case ProviderType::Ray: return make_ray(settings, pilot);
    case ProviderType::Kubernetes: return make_kubernetes(settings, pilot);
    case ProviderType::Ssh: return make_ssh(settings, pilot);
    case ProviderType::Process: return make_processes(settings, pilot);
  }
  return nullptr;
}

}  // namespace det::master
