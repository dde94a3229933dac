// det trial support-bundle: what somebody who helps with a trial wants to see, in one file.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "det/base/text.h"
#include "det/cli/context/archive.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/workloads.h"
#include "det/cli/output/format.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

constexpr std::size_t kLogBytesMax = 64 << 20;  // of the end of the log

Result<std::string> log_text(Session& session, std::int64_t id) {
  std::string text;
  const auto take = [&](const json::value& result) {
    text += text_at(result, "message");
    if (!text.ends_with('\n')) text += '\n';
    if (text.size() > 2 * kLogBytesMax) text.erase(0, text.size() - kLogBytesMax);
    return true;
  };
  if (auto read = session.stream(trial_path(id) + "/logs", {{"limit", "0"}}, take); !read)
    return tl::unexpected(read.error());
  return text;
}

Result<int> bundle(Session& session, std::int64_t id, const std::string& directory) {
  DET_TRY(const auto trial, session.get(trial_path(id)));
  const auto experiment_id = integer_at(trial, "trial.experimentId");
  DET_TRY(const auto experiment, session.get(experiment_path(experiment_id)));
  DET_TRY(const auto workloads, fetch_workloads(session, id));
  DET_TRY(auto log, log_text(session, id));
  const auto folder = fmt::format("det-bundle-trial-{}", id);
  std::vector<PackedFile> files;
  const auto add = [&](const char* name, std::string content) {
    files.push_back({folder + '/' + name, std::move(content)});
  };
  add("trial.json", json::pretty(at(trial, "trial"), 2));
  add("experiment.json", json::pretty(at(experiment, "experiment"), 2));
  add("configuration.yaml", config::emit_yaml(at(experiment, "experiment.config")));
  add("workloads.json", json::pretty(workloads, 2));
  add("log.txt", std::move(log));
  for (const auto& [name, path] : {std::pair{"environment.json", trial_path(id) + "/environment"},
                                   {"master.json", std::string("/api/v1/master")},
                                   {"agents.json", std::string("/api/v1/agents")}})
    if (const auto answer = session.get(path)) add(name, json::pretty(*answer, 2));
  const auto path = std::filesystem::absolute(std::filesystem::path(directory) / (folder + ".tar.gz"));
  if (auto packed = pack(path, files); !packed) return tl::unexpected(packed.error());
  session.console().line("bundle path: {}", path.string());
  return 0;
}

}  // namespace

Action define_support_bundle(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    std::string directory = ".";
  };
  const auto options = std::make_shared<Options>();
  app.add_option("trial_id", options->id, "ID of the trial")->type_name("TRIAL_ID")->required();
  app.add_option("-o,--output-dir", options->directory, "Directory for the bundle (default: .)")
      ->type_name("DIR");
  return [options](Session& session) { return bundle(session, options->id, options->directory); };
}

}  // namespace det::cli
