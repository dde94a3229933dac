#include <CLI/CLI.hpp>
#include <memory>

#include "det/base/text.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/output/paging.h"
#include "det/cli/session/download.h"

namespace det::cli {
namespace {

struct ListOptions {
  bool all = false;
  bool show_project = false;
  std::string filter;
  Paging paging;
  OutputForm form;
};

Result<int> list_matching(Session& session, const ListOptions& options) {
  constexpr std::int64_t kAll = 100'000;
  const json::object request{{"query", options.filter},
                             {"sort", "id=asc"},
                             {"offset", options.paging.offset},
                             {"limit", options.paging.pages == "1" ? options.paging.limit : kAll}};
  DET_TRY(const auto answer, session.post("/api/v1/experiments-search", request));
  json::array experiments;
  for (const auto& found : at(answer, "experiments").as_array())
    experiments.push_back(at(found, "experiment"));
  show_experiments(session.console(), options.form, experiments, options.show_project, true);
  return 0;
}

Result<int> list(Session& session, const ListOptions& options) {
  if (!options.filter.empty()) return list_matching(session, options);
  QueryItems query;
  if (!options.all) {
    DET_TRY(const auto user, session.user());
    query = {{"archived", "false"}, {"users", user}};
  }
  if (!options.form.json && !options.form.yaml) query.emplace_back("omitConfig", "true");
  DET_TRY(const auto experiments,
          fetch(session, "/api/v1/experiments", query, "experiments", options.paging));
  show_experiments(session.console(), options.form, experiments, options.show_project, options.all);
  return 0;
}

/// Where it runs; processes outside the cluster run in no pool.
json::value pool_cell(const json::value& experiment) {
  const auto& unmanaged = at(experiment, "unmanaged");
  return unmanaged.is_bool() && unmanaged.get_bool() ? json::value("(unmanaged)")
                                                     : at(experiment, "resourcePool");
}

}  // namespace

void show_experiments(Console& console, const OutputForm& form, const json::array& experiments,
                      bool with_project, bool with_archived) {
  std::vector<std::string> headers = {"ID",       "Owner",   "Name",  "Parent ID",    "State",
                                      "Progress", "Started", "Ended", "Resource Pool"};
  if (with_project) headers.insert(headers.begin(), {"Workspace", "Project"});
  if (with_archived) headers.push_back("Archived");
  Table table(headers);
  for (const auto& experiment : experiments) {
    // Configurations of early releases have a description and no name.
    const auto& name =
        text_at(experiment, "name").empty() ? at(experiment, "description") : at(experiment, "name");
    std::vector<json::value> row = {at(experiment, "id"),
                                    at(experiment, "username"),
                                    name,
                                    at(experiment, "forkedFrom"),
                                    state_cell(at(experiment, "state")),
                                    percent_cell(at(experiment, "progress")),
                                    time_cell(at(experiment, "startTime")),
                                    time_cell(at(experiment, "endTime")),
                                    pool_cell(experiment)};
    if (with_project)
      row.insert(row.begin(), {at(experiment, "workspaceName"), at(experiment, "projectName")});
    if (with_archived) row.push_back(at(experiment, "archived"));
    table.add(std::move(row));
  }
  show(console, form, experiments, table);
}

namespace {

Result<int> list_trials(Session& session, std::int64_t id, const Paging& paging, const OutputForm& form) {
  DET_TRY(const auto trials, fetch(session, experiment_path(id) + "/trials", {}, "trials", paging));
  Table table({"Trial ID", "State", "H-Params", "Started", "Ended", "# of Batches"});
  for (const auto& trial : trials)
    table.add({at(trial, "id"), state_cell(at(trial, "state")),
               json::value(json::pretty(at(trial, "hparams"), 4)), time_cell(at(trial, "startTime")),
               time_cell(at(trial, "endTime")), at(trial, "totalBatchesProcessed")});
  show(session.console(), form, trials, table);
  return 0;
}

Result<int> list_checkpoints(Session& session, std::int64_t id, std::optional<std::size_t> best,
                             const OutputForm& form) {
  DET_TRY(const auto experiment, session.get(experiment_path(id)));
  DET_TRY(auto checkpoints, session.pages(experiment_path(id) + "/checkpoints", {}, "checkpoints", 1000));
  const auto& searcher = at(experiment, "experiment.config.searcher");
  const auto& smaller = at(searcher, "smaller_is_better");
  if (best)
    checkpoints = best_checkpoints(
        checkpoints, *best, {.metric = "", .smaller_is_better = !smaller.is_bool() || smaller.get_bool()});
  Table table({"Trial ID", "# of Batches", "State",
               fmt::format("Validation Metric\n({})", text_at(searcher, "metric")), "UUID", "Resources",
               "Size"});
  for (const auto& checkpoint : checkpoints) {
    const auto& resources = at(checkpoint, "resources");
    std::string files;
    std::int64_t bytes = 0;
    if (resources.is_object()) {
      for (const auto& [name, size] : resources.get_object()) {
        files += (files.empty() ? "" : "\n") + std::string(name);
        bytes += json::to_int64(size).value_or(0);
      }
    }
    table.add({at(checkpoint, "training.trialId"), at(checkpoint, "metadata.steps_completed"),
               state_cell(at(checkpoint, "state")), at(checkpoint, "training.searcherMetric"),
               at(checkpoint, "uuid"), json::value(files), json::value(human_size(bytes))});
  }
  show(session.console(), form, checkpoints, table);
  return 0;
}

}  // namespace

Action define_list(CLI::App& app) {
  const auto options = std::make_shared<ListOptions>();
  app.add_flag("-a,--all", options->all, "Include archived experiments and those of other users");
  app.add_option(
         "--filter", options->filter,
         "Only experiments, of all users, that match an expression: \"lr < 1e-3 and state = RUNNING\"")
      ->type_name("EXPRESSION");
  app.add_flag("--show_project,--show-project", options->show_project, "Show the workspace and the project");
  add_paging_flags(app, options->paging);
  add_output_flags(app, options->form);
  return [options](Session& session) { return list(session, *options); };
}

Action define_list_trials(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  const auto paging = std::make_shared<Paging>(Paging{.limit = 1000});
  const auto form = std::make_shared<OutputForm>();
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  add_paging_flags(app, *paging);
  add_output_flags(app, *form);
  return [id, paging, form](Session& session) { return list_trials(session, *id, *paging, *form); };
}

Action define_list_checkpoints(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  const auto best = std::make_shared<std::optional<std::size_t>>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  app.add_option("--best", *best, "Show only the N best checkpoints by the searcher's metric")
      ->type_name("N");
  add_output_flags(app, *form);
  return [id, best, form](Session& session) { return list_checkpoints(session, *id, *best, *form); };
}

Action define_config(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  add_document_flags(app, *form);
  return [id, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(experiment_path(*id)));
    show_document(session.console(), *form, at(answer, "experiment.config"));
    return 0;
  };
}

}  // namespace det::cli
