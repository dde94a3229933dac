#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/experiment_document.h"
#include "det/cli/format.h"
#include "det/cli/output.h"
#include "det/config/yaml.h"

namespace det::cli {
namespace {

std::string length_text(const json::value& unit) {
  const auto& maximal = at(unit, "maxLength");
  if (maximal.is_bool() && maximal.get_bool() && at(unit, "value").is_null()) return "train to completion";
  return fmt::format("train for {} {}", integer_at(unit, "value"), text_at(unit, "name"));
}

Result<int> preview(Session& session, const std::string& path, const std::vector<std::string>& overrides,
                    const OutputForm& form) {
  DET_TRY(const auto document, read_experiment_document(path, overrides));
  auto& console = session.console();
  if (!document.document.contains("searcher")) {
    console.fail("Experiment configuration must have 'searcher' section");
    return 1;
  }
  json::object body;
  body["config"] = document.document;
  DET_TRY(const auto answer, session.post("/api/v1/preview-hp-search", body));
  const auto& summary = at(answer, "summary");
  Table table({"Trials", "Training Time"});
  std::int64_t total = 0;
  for (const auto& group : list_at(summary, "trials")) {
    total += integer_at(group, "count");
    table.add({at(group, "count"), json::value(length_text(at(group, "unit")))});
  }
  if (form.json || form.yaml || form.csv) {
    show(console, form, summary, table);
    return 0;
  }
  console.good("Using search configuration:");
  console.write(config::emit_yaml(document.document.at("searcher")));
  console.line("\nThis search will create a total of {} trial(s).", total);
  console.write(table.text());
  return 0;
}

Action define_preview(CLI::App& app) {
  struct Options {
    std::string file;
    std::vector<std::string> overrides;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("config_file", options->file, "the experiment's configuration (YAML)")
      ->type_name("CONFIG_FILE")
      ->required();
  app.add_option("--config", options->overrides, "set one setting: searcher.max_trials=4")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_output_flags(app, options->form);
  return [options](Session& session) {
    return preview(session, options->file, options->overrides, options->form);
  };
}

}  // namespace

Command preview_search_command() {
  return {.names = {"preview-search"},
          .help = "preview search",
          .example = "det preview-search adaptive.yaml",
          .define = define_preview};
}

}  // namespace det::cli
