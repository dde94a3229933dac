#include "det/store/import/importer.h"

// Checkpoints, and the models that name them. Their files stay where they are.

namespace det::store {

void Importer::checkpoints() {
  std::int64_t done = 0;
  for (const auto& [id, metric] : experiments_) {
    checkpoints_of(id, metric);
    target_.progress("checkpoints", ++done, static_cast<std::int64_t>(experiments_.size()));
  }
  auto other =
      source_.number("SELECT COUNT(*) FROM checkpoints_v2") - static_cast<std::int64_t>(checkpoints_.size());
  if (has_first_checkpoints()) other += source_.number("SELECT COUNT(*) FROM raw_checkpoints");
  target_.left_out("checkpoints", "they belong to no trial that was imported, or were never completed", "",
                   other);
}

bool Importer::has_first_checkpoints() const {
  return source_.has("raw_checkpoints", "trial_id") && source_.has("raw_checkpoints", "uuid") &&
         source_.has("raw_checkpoints", "total_batches") && source_.has("raw_checkpoints", "state");
}

std::string Importer::select_first_checkpoints(std::int64_t experiment) const {
  return fmt::format(
      "SELECT {}, {} AS report_time, CAST(r.id AS text) AS trial_id FROM raw_checkpoints c JOIN {} r ON r.id "
      "= "
      "c.trial_id WHERE r.experiment_id = {} ORDER BY c.trial_id, c.total_batches, c.uuid",
      source_.columns("raw_checkpoints", "c", {"uuid", "state", "resources", "metadata", "total_batches"}),
      source_.column("raw_checkpoints", "c", "end_time"), source_.has("runs") ? "runs" : "trials",
      experiment);
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
  const auto take = [&](SourceRow row) {
    digest.add(row);
    rows.push_back(std::move(row));
  };
  source_.each_row(select, take);
  if (has_first_checkpoints()) source_.each_row(select_first_checkpoints(experiment), take);
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
  NamedHere here;
  for (const auto& model : target_.store().models()) here.add(model.id.value(), model.name);
  simple(
      "models",
      fmt::format("SELECT {}, (SELECT CAST(COALESCE(MAX(v.version), 0) AS text) FROM model_versions v WHERE "
                  "v.model_id = m.id) AS last_version FROM models m ORDER BY m.id",
                  source_.columns("models", "m",
                                  {"id", "name", "description", "notes", "labels", "metadata", "archived",
                                   "user_id", "creation_time", "last_updated_time", "workspace_id"})),
      "id",
      [&](const SourceRow& row) {
        auto model = to_model(row);
        std::vector<Change> changes;
        make_unique("models", model.name, model.id.value(), here);
        give_owner("models", model.owner, model.name);
        if (!workspaces_.taken.contains(model.workspace.value())) {
          target_.changed("models", "their workspace was not imported; they are in the first one now",
                          model.name);
          model.workspace = WorkspaceId(1);
        }
        changes.emplace_back(PutModel{std::move(model)});
        return changes;
      },
      &here);
  models_ = std::move(here.taken);
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
        if (!models_.contains(version.model.value())) {
          target_.left_out("model versions", "its model was not imported", row.text("key"));
          return changes;
        }
        give_owner("model versions", version.owner, row.text("key"));
        if (!checkpoints_.contains(version.checkpoint)) {
          target_.left_out("model versions", "its checkpoint was not imported", row.text("key"));
          return changes;
        }
        changes.emplace_back(PutModelVersion{std::move(version)});
        return changes;
      });
}

}  // namespace det::store
