#include "det/store/import/importer.h"

// Checkpoints, and the models that name them. Their files stay where they are.

namespace det::store {

void Importer::checkpoints() {
  std::int64_t done = 0;
  for (const auto& [id, metric] : experiments_) {
    checkpoints_of(id, metric);
    target_.progress("checkpoints", ++done, static_cast<std::int64_t>(experiments_.size()));
  }
  const auto other =
      source_.number("SELECT COUNT(*) FROM checkpoints_v2") - static_cast<std::int64_t>(checkpoints_.size());
  target_.left_out("checkpoints", "they belong to no trial that was imported, or were never completed", "",
                   other);
}

void Importer::checkpoints_of(std::int64_t experiment, const std::string& metric) {
  const auto runs = source_.has("runs") ? "runs" : "trials";
  const auto join =
      source_.has("run_checkpoints", "run_id")
          ? fmt::format("run_checkpoints k ON k.checkpoint_id = c.uuid JOIN {} r ON r.id = k.run_id", runs)
      : source_.has("run_id_task_id", "run_id")
          ? fmt::format("run_id_task_id k ON k.task_id = c.task_id JOIN {} r ON r.id = k.run_id", runs)
      : source_.has("trial_id_task_id", "trial_id")
          ? fmt::format("trial_id_task_id k ON k.task_id = c.task_id JOIN {} r ON r.id = k.trial_id", runs)
          : fmt::format("{} r ON r.task_id = c.task_id", runs);
  const auto select = fmt::format(
      "SELECT {}, CAST(r.id AS text) AS trial_id FROM checkpoints_v2 c JOIN {} WHERE r.experiment_id = {} "
      "ORDER "
      "BY c.report_time, c.uuid",
      source_.columns("checkpoints_v2", "c",
                      {"uuid", "task_id", "allocation_id", "report_time", "state", "resources", "metadata"}),
      join, experiment);
  std::vector<SourceRow> rows;
  SourceDigest digest;
  source_.each_row(select, [&](SourceRow row) {
    digest.add(row);
    rows.push_back(std::move(row));
  });
  if (rows.empty()) return;
  std::vector<Change> changes;
  for (const auto& row : rows) {
    auto checkpoint = to_checkpoint(row, ExperimentId(experiment));
    if (!checkpoint || !trials_.contains(checkpoint->trial_id.value())) continue;
    if (!checkpoints_.insert(checkpoint->uuid).second) continue;
    if (const auto found = task_of_.find(checkpoint->trial_id.value()); found != task_of_.end())
      checkpoint->task_id = found->second;
    const auto reports = target_.store().metrics({.trial = checkpoint->trial_id,
                                                  .group = "validation",
                                                  .after_batches = checkpoint->batches - 1,
                                                  .up_to_batches = checkpoint->batches});
    if (!reports.empty())
      if (const auto* value = reports.front().avg_metrics.if_contains(metric))
        checkpoint->searcher_metric = json::to_double(*value);
    changes.emplace_back(PutCheckpoint{*std::move(checkpoint)});
  }
  const auto count = static_cast<std::int64_t>(changes.size());
  const auto key = std::to_string(experiment);
  if (target_.mark("checkpoints", key) == digest.text()) return target_.unchanged("checkpoints", count);
  target_.put("checkpoints", key, digest.text(), std::move(changes));
  target_.imported("checkpoints", count);
}

void Importer::models() {
  if (!source_.has("models", "id")) return;
  simple(
      "models",
      fmt::format("SELECT {}, (SELECT CAST(COALESCE(MAX(v.version), 0) AS text) FROM model_versions v WHERE "
                  "v.model_id = m.id) AS last_version FROM models m ORDER BY m.id",
                  source_.columns("models", "m",
                                  {"id", "name", "description", "notes", "labels", "metadata", "archived",
                                   "user_id", "creation_time", "last_updated_time", "workspace_id"})),
      "id", [&](const SourceRow& row) {
        auto model = to_model(row);
        std::vector<Change> changes;
        for (const auto& known : target_.store().models())
          if ((known.name == model.name) != (known.id == model.id)) {
            target_.left_out("models", "the master here has a model of its name or id", model.name);
            return changes;
          }
        changes.emplace_back(PutModel{std::move(model)});
        return changes;
      });
}

void Importer::model_versions() {
  if (!source_.has("model_versions", "model_id")) return;
  simple(
      "model versions",
      fmt::format("SELECT {}, concat_ws('-', v.model_id, v.version) AS key FROM model_versions v ORDER BY "
                  "v.model_id, v.version",
                  source_.columns("model_versions", "v",
                                  {"model_id", "version", "checkpoint_uuid", "name", "comment", "notes",
                                   "labels", "metadata", "user_id", "creation_time", "last_updated_time"})),
      "key", [&](const SourceRow& row) {
        auto version = to_model_version(row);
        std::vector<Change> changes;
        if (!checkpoints_.contains(version.checkpoint)) {
          target_.left_out("model versions", "its checkpoint was not imported", row.text("key"));
          return changes;
        }
        changes.emplace_back(PutModelVersion{std::move(version)});
        return changes;
      });
}

}  // namespace det::store
