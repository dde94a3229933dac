#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "det/base/text.h"
#include "det/cli/environment.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/workloads.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

struct DescribeOptions {
  std::string ids;
  std::string directory;
  bool metrics = false;
  OutputForm form;
};

Result<std::vector<std::int64_t>> parse_ids(const std::string& text) {
  std::vector<std::int64_t> ids;
  for (const auto& part : split(text, ',')) {
    const auto id = json::to_int64(json::value(trim(part)));
    if (!id || *id < 1)
      return invalid_argument(
          "'{}' is not an experiment ID; give one ID or several separated by commas, such as 7,8", part);
    ids.push_back(*id);
  }
  return ids;
}

Result<void> write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(ErrorCode::Unavailable, "cannot write {}", path.string());
  return {};
}

Result<int> describe(Session& session, const DescribeOptions& options) {
  DET_TRY(const auto ids, parse_ids(options.ids));
  json::array documents;
  Table experiments({"Experiment ID", "State", "Progress", "Started", "Ended", "Name", "Description",
                     "Archived", "Resource Pool", "Labels", "Git Revision"});
  Table trials({"Trial ID", "Experiment ID", "State", "Started", "Ended", "H-Params"});
  WorkloadTable workloads;
  std::vector<std::string> errors;
  for (const auto id : ids) {
    DET_TRY(auto answer, session.get(experiment_path(id)));
    const auto& experiment = at(answer, "experiment");
    std::string labels;
    for (const auto& label : list_at(experiment, "labels"))
      labels += (labels.empty() ? "" : ", ") + cell_text(label);
    experiments.add(
        {at(experiment, "id"), state_cell(at(experiment, "state")), percent_cell(at(experiment, "progress")),
         time_cell(at(experiment, "startTime")), time_cell(at(experiment, "endTime")), at(experiment, "name"),
         at(experiment, "description"), at(experiment, "archived"), at(experiment, "resourcePool"),
         json::value(labels), json::value(git_text(at(experiment, "git")))});
    if (const auto error = text_at(experiment, "error"); !error.empty())
      errors.push_back(fmt::format("Experiment {} failed: {}", id, error));
    DET_TRY(const auto list, session.pages(experiment_path(id) + "/trials", {}, "trials", 1000));
    json::array described;
    for (const auto& trial : list) {
      trials.add({at(trial, "id"), json::value(id), state_cell(at(trial, "state")),
                  time_cell(at(trial, "startTime")), time_cell(at(trial, "endTime")),
                  json::value(json::pretty(at(trial, "hparams"), 4))});
      DET_TRY(const auto entries, fetch_workloads(session, integer_at(trial, "id")));
      workloads.add(integer_at(trial, "id"), entries);
      if (options.form.json || options.form.yaml) {
        auto document = trial;
        if (document.is_object()) document.get_object()["workloads"] = entries;
        described.push_back(std::move(document));
      }
    }
    if (answer.is_object()) answer.get_object()["trials"] = std::move(described);
    documents.push_back(std::move(answer));
  }
  const auto workload_table = workloads.table(options.metrics, true);
  auto& console = session.console();
  if (!options.directory.empty()) {
    const std::filesystem::path directory = options.directory;
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    const std::pair<const char*, const Table*> files[] = {
        {"experiments.csv", &experiments}, {"trials.csv", &trials}, {"workloads.csv", &workload_table}};
    for (const auto& [name, table] : files)
      if (auto written = write_file(directory / name, table->csv()); !written)
        return tl::unexpected(written.error());
    return 0;
  }
  if (options.form.json || options.form.yaml) {
    show(console, options.form, documents, experiments);
    return 0;
  }
  const std::pair<const char*, const Table*> parts[] = {
      {"Experiment:", &experiments}, {"\nTrials:", &trials}, {"\nWorkloads:", &workload_table}};
  for (const auto& [title, table] : parts) {
    console.write_line(title);
    console.write(options.form.csv ? table->csv() : table->text());
    if (table != &experiments || options.form.csv) continue;
    for (const auto& error : errors) console.write_line(error);
  }
  return 0;
}

}  // namespace

Action define_describe(CLI::App& app) {
  const auto options = std::make_shared<DescribeOptions>();
  app.add_option("experiment_ids", options->ids, "IDs of the experiments, separated by commas: 7 or 7,8")
      ->type_name("EXPERIMENT_IDS")
      ->required();
  app.add_flag("--metrics", options->metrics, "Show a column for each metric");
  add_output_flags(app, options->form);
  app.add_option("--outdir", options->directory, "Write the tables as CSV files into this directory")
      ->type_name("DIR")
      ->excludes("--csv")
      ->excludes("--json")
      ->excludes("--yaml");
  return [options](Session& session) { return describe(session, *options); };
}

}  // namespace det::cli
