#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

/// Trials that do the same, in words.
struct Group {
  std::int64_t trials = 0;
  std::int64_t steps = 0;  ///< of each; only where the search counts steps
  std::string text;
};

/// What a search does, in the form that its configuration has: with `max_time` or no length how far trials
/// train, with `max_length` or `max_steps` where each of them validates.
struct Groups {
  bool in_steps = false;
  const char* title = "Training Time";
  std::vector<Group> list;
};

std::string length_text(const json::value& unit) {
  const auto& maximal = at(unit, "maxLength");
  if (maximal.is_bool() && maximal.get_bool()) return "train to completion";
  return fmt::format("train for {} {}", integer_at(unit, "value"), text_at(unit, "name"));
}

/// "train for 100 batches, then 300": totals.
std::string lengths_text(const json::array& lengths, const std::string& unit) {
  std::string text;
  for (const auto& each : lengths) {
    const auto length = json::to_int64(each).value_or(0);
    text += text.empty() ? fmt::format("train for {}{}{}", length, unit.empty() ? "" : " ", unit)
                         : fmt::format(", then {}", length);
  }
  return text.empty() ? "train to completion" : text;
}

/// "100 x step, 1 x validation, 200 x step, 1 x validation": one part after the other.
std::string steps_text(const json::array& lengths) {
  std::string text;
  std::int64_t before = 0;
  for (const auto& each : lengths) {
    const auto length = json::to_int64(each).value_or(0);
    text += fmt::format("{}{} x step, 1 x validation", text.empty() ? "" : ", ", length - before);
    before = length;
  }
  return text;
}

Groups groups_of(const json::value& summary) {
  Groups groups;
  const auto& breakdown = at(summary, "breakdown");
  if (breakdown.is_null()) {
    for (const auto& group : list_at(summary, "trials"))
      groups.list.push_back({.trials = integer_at(group, "count"), .text = length_text(at(group, "unit"))});
    return groups;
  }
  const auto unit = text_at(breakdown, "unit");
  groups.in_steps = unit == "steps";
  groups.title = "Breakdown";
  for (const auto& group : list_at(breakdown, "trials")) {
    const auto& lengths = list_at(group, "lengths");
    groups.list.push_back({.trials = integer_at(group, "count"),
                           .steps = lengths.empty() ? 0 : json::to_int64(lengths.back()).value_or(0),
                           .text = groups.in_steps ? steps_text(lengths) : lengths_text(lengths, unit)});
  }
  return groups;
}

Table table_of(const Groups& groups) {
  Table table(groups.in_steps ? std::vector<std::string>{"Trials", "Steps", groups.title}
                              : std::vector<std::string>{"Trials", groups.title});
  for (const auto& group : groups.list) {
    if (groups.in_steps)
      table.add({json::value(group.trials), json::value(group.steps), json::value(group.text)});
    else
      table.add({json::value(group.trials), json::value(group.text)});
  }
  return table;
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

std::string total_text(const Groups& groups) {
  std::int64_t trials = 0, steps = 0;
  for (const auto& group : groups.list) {
    trials += group.trials;
    steps += group.trials * group.steps;
  }
  const auto text = fmt::format("This search will create a total of {} trial(s)", trials);
  return groups.in_steps ? fmt::format("{} and run {} steps", text, steps) : text + ".";
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
  const auto groups = groups_of(summary);
  const auto table = table_of(groups);
  if (form.json || form.yaml || form.csv) {
    show(console, form, summary, table);
    return 0;
  }
  console.good("Using search configuration:");
  console.write(config::emit_yaml(document.document.at("searcher")));
  console.line("\n{}", total_text(groups));
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
  app.add_option("config_file", options->file, "Configuration file of the experiment (YAML)")
      ->type_name("CONFIG_FILE")
      ->required();
  app.add_option("--config", options->overrides,
                 "Override a setting, such as searcher.max_trials=4; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--plot", options->plot, "Draw how many trials train how far");
  add_output_flags(app, options->form);
  return [options](Session& session) {
    return preview(session, options->file, options->overrides, options->form, options->plot);
  };
}

}  // namespace

Command preview_search_command() {
  return {.names = {"preview-search"},
          .help = "Preview the trials of a search",
          .example = "det preview-search adaptive.yaml",
          .define = define_preview};
}

}  // namespace det::cli
