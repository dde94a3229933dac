#include <CLI/CLI.hpp>
#include <algorithm>
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

/// A bar a group: how many trials train how far. The longest fills the width.
void plot(Console& console, const json::value& groups) {
  constexpr std::int64_t kWidth = 40;
  std::int64_t most = 1;
  std::size_t widest = 0;
  for (const auto& group : groups.get_array()) {
    most = std::max(most, integer_at(group, "count"));
    widest = std::max(widest, length_text(at(group, "unit")).size());
  }
  console.line("");
  for (const auto& group : groups.get_array()) {
    const auto count = integer_at(group, "count");
    std::string bar;
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, count * kWidth / most); ++i) bar += "█";
    console.line("{:<{}} {} {}", length_text(at(group, "unit")), widest, bar, count);
  }
}

Result<int> preview(Session& session, const std::string& path, const std::vector<std::string>& overrides,
                    const OutputForm& form, bool with_plot) {
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
  if (with_plot && at(summary, "trials").is_array()) plot(console, at(summary, "trials"));
  return 0;
}

Action define_preview(CLI::App& app) {
  struct Options {
    std::string file;
    std::vector<std::string> overrides;
    OutputForm form;
    bool plot = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("config_file", options->file, "the experiment's configuration (YAML)")
      ->type_name("CONFIG_FILE")
      ->required();
  app.add_option("--config", options->overrides, "set one setting: searcher.max_trials=4")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--plot", options->plot, "also draw how many trials train how far");
  add_output_flags(app, options->form);
  return [options](Session& session) {
    return preview(session, options->file, options->overrides, options->form, options->plot);
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
