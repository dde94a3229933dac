#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

struct ParetoOptions {
  std::int64_t id = 0;
  std::vector<std::string> metrics;
  OutputForm form;
};

Result<int> show_front(Session& session, const ParetoOptions& options) {
  QueryItems query;
  for (const auto& metric : options.metrics) query.emplace_back("metrics", metric);
  DET_TRY(const auto answer, session.get(experiment_path(options.id) + "/pareto", query));
  std::vector<std::string> columns = {"Trial ID", "# of Batches"};
  for (const auto& metric : list_at(answer, "metrics")) columns.push_back(cell_text(metric));
  columns.insert(columns.end(), {"H-params", "Checkpoint"});
  Table table(columns);
  for (const auto& point : list_at(answer, "front")) {
    std::vector<json::value> row = {at(point, "trialId"), json::value(integer_at(point, "batches"))};
    for (const auto& value : list_at(point, "values")) row.push_back(value);
    row.emplace_back(json::serialize(at(point, "hparams")));
    row.push_back(at(point, "checkpointUuid"));
    table.add(std::move(row));
  }
  show(session.console(), options.form, answer, table);
  return 0;
}

}  // namespace

Action define_pareto(CLI::App& app) {
  const auto options = std::make_shared<ParetoOptions>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option(
         "--metric", options->metrics,
         "Validation metric to minimize; NAME:max to maximize, such as accuracy:max; may be repeated; "
         "default: the metrics that the searcher optimizes")
      ->type_name("NAME[:min|:max]")
      ->allow_extra_args(false);
  add_output_flags(app, options->form);
  return [options](Session& session) { return show_front(session, *options); };
}

}  // namespace det::cli
