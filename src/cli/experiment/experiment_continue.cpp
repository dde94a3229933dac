#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/output/format.h"

namespace det::cli {

Action define_continue(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    std::string config_file;
    std::vector<std::string> overrides;
    bool follow = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option("--config-file", options->config_file, "Configuration file with the changed settings (YAML)")
      ->type_name("FILE");
  app.add_option("--config", options->overrides,
                 "Change a setting, such as searcher.max_length.batches=2000; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("-f,--follow-first-trial", options->follow, "Follow the log of the trial until it ends");
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto document, read_experiment_document(options->config_file, options->overrides));
    json::object body;
    body["id"] = options->id;
    body["overrideConfig"] = document.text;
    DET_TRY(const auto answer, session.post("/api/v1/experiments/continue", body));
    auto& console = session.console();
    for (const auto& warning : list_at(answer, "warnings")) console.note("Warning: " + cell_text(warning));
    console.line("Continued experiment {}", options->id);
    console.flush();
    return options->follow ? follow_first_trial(session, options->id) : 0;
  };
}

}  // namespace det::cli
