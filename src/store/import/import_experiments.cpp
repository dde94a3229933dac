#include "det/store/import/importer.h"

// Experiments with their trials and allocations: each experiment in one commit.

namespace det::store {

void Importer::experiments() {
  const auto definition =
      source_.has("experiments", "model_definition")
          ? source_.hash_of("e.model_definition") +
                " AS definition_digest, CAST(length(e.model_definition) AS text) AS definition_bytes"
          : "CAST(NULL AS text) AS definition_digest, CAST(NULL AS text) AS definition_bytes";
  std::vector<SourceRow> rows;
  source_.each_row(
      fmt::format("SELECT {}, {} FROM experiments e ORDER BY e.id",
                  source_.columns("experiments", "e",
                                  {"id", "state", "config", "original_config", "start_time", "end_time",
                                   "archived", "parent_id", "git_remote", "git_commit", "git_committer",
                                   "git_commit_date", "owner_id", "progress", "notes", "job_id", "project_id",
                                   "unmanaged", "external_experiment_id"}),
                  definition),
      [&](SourceRow row) { rows.push_back(std::move(row)); });
  std::int64_t done = 0;
  for (const auto& row : rows) {
    experiment(row);
    target_.progress("experiments", ++done, static_cast<std::int64_t>(rows.size()));
  }
  trials_left_out();
}

// Rows that belong to nothing. Of experiments that were left out, the experiment is reported.
void Importer::trials_left_out() {
  const auto table = source_.has("runs") ? "runs" : "trials";
  target_.left_out("trials", "their experiment is not in the database", "",
                   source_.number(fmt::format("SELECT COUNT(*) FROM {} r WHERE NOT EXISTS (SELECT 1 FROM "
                                              "experiments e WHERE e.id = r.experiment_id)",
                                              table)));
  if (source_.has("runs") && source_.has("trials_v2", "run_id"))
    target_.left_out("trials", "they have no run", "",
                     source_.number("SELECT COUNT(*) FROM trials_v2 t WHERE NOT EXISTS (SELECT 1 FROM runs r "
                                    "WHERE r.id = t.run_id)"));
}

// What an experiment belongs to may have been left out.
void Importer::give_place(ExperimentRecord& record) {
  const auto example = fmt::format("{}", record.id);
  give_owner("experiments", record.owner, example);
  if (projects_.taken.contains(record.project_id)) return;
  target_.changed("experiments", "their project was not imported; they are in the first one now", example);
  record.project_id = 1;
}

void Importer::experiment(const SourceRow& row) {
  const auto key = row.text("id");
  auto mapped = to_experiment(row);
  if (!mapped.problem.empty()) return target_.left_out("experiments", mapped.problem, key);
  const auto id = mapped.record.id.value();
  const auto rows = trial_rows(id);
  const auto tasks = tasks_of(id);
  const auto allocations = allocation_rows(id);
  SourceDigest digest;
  digest.add(row);
  for (const auto& trial : rows) digest.add(trial);
  for (const auto& allocation : allocations) digest.add(allocation);
  const auto mark = target_.mark("experiments", key);
  if (!mark && target_.store().experiment(mapped.record.id))
    return target_.left_out("experiments", "the master here has given its id to another experiment", key);

  struct Taken {
    TrialRecord record;
    const SourceRow* row;
  };
  std::vector<Taken> trials;
  for (const auto& of_trial : rows) {
    const auto trial_id = of_trial.integer("id").value_or(0);
    const auto found = tasks.find(trial_id);
    auto trial = to_trial(of_trial, found == tasks.end() ? std::vector<std::string>{} : found->second);
    if (!trial) {
      target_.left_out("trials", fmt::format("its state is '{}'", of_trial.text("state")),
                       of_trial.text("id"));
      continue;
    }
    if (!mark && target_.store().trial(trial->id))
      return target_.left_out("experiments", "the master here has given the id of a trial to another one",
                              key);
    trials.push_back({*std::move(trial), &of_trial});
  }
  give_place(mapped.record);
  std::string metric;
  if (const auto* searcher = mapped.record.config.if_contains("searcher"); searcher && searcher->is_object())
    metric = json::text_member(searcher->get_object(), "metric");
  experiments_[id] = metric;
  std::map<std::string, const TrialRecord*> trial_of_task;
  for (const auto& [trial, of_trial] : trials) {
    trials_[trial.id.value()] = id;
    task_of_[trial.id.value()] = trial.task_id;
    if (const auto found = tasks.find(trial.id.value()); found != tasks.end())
      for (const auto& task : found->second) {
        tasks_[task] = trial.task_id;
        trial_of_task[task] = &trial;
      }
  }
  if (mapped.was_running)
    target_.changed("experiments",
                    "canceled, or ended as they were about to: nothing of the original runs here", key);
  if (!mapped.warning.empty()) target_.changed("experiments", mapped.warning, key);
  if (mark == digest.text()) {
    target_.unchanged("experiments");
    target_.unchanged("trials", static_cast<std::int64_t>(trials.size()));
    return;
  }

  auto changes = model_definition(mapped);
  changes.emplace_back(PutExperiment{mapped.record});
  if (mapped.external_id)
    changes.emplace_back(PutUnmanaged{{mapped.record.id, TrialId{}, *mapped.external_id}});
  for (const auto& [trial, of_trial] : trials) {
    changes.emplace_back(PutTrial{trial});
    if (mapped.external_id)
      changes.emplace_back(PutUnmanaged{{mapped.record.id, trial.id, of_trial->text("external_trial_id")}});
    if (auto metadata = of_trial->object("metadata"); !metadata.empty())
      changes.emplace_back(SetTrialMetadata{trial.id, std::move(metadata)});
  }
  std::map<std::int64_t, std::int64_t> runs;
  for (const auto& allocation : allocations)
    if (const auto found = trial_of_task.find(allocation.text("task_id")); found != trial_of_task.end())
      changes.emplace_back(
          PutAllocation{to_allocation(allocation, *found->second, ++runs[found->second->id.value()])});
  target_.put("experiments", key, digest.text(), std::move(changes));
  target_.imported("experiments");
  target_.imported("trials", static_cast<std::int64_t>(trials.size()));
  target_.imported("allocations", static_cast<std::int64_t>(allocations.size()));
}

std::vector<SourceRow> Importer::trial_rows(std::int64_t experiment) {
  const bool runs = source_.has("runs");
  const std::string_view table = runs ? "runs" : "trials";
  const auto named = [&](std::string_view of, std::string_view alias, std::string_view column,
                         std::string_view as) {
    return fmt::format("{} AS \"{}\"", source_.column(of, alias, column), as);
  };
  auto list = source_.columns(
      table, "r",
      {"id", "experiment_id", "state", "start_time", "end_time", "hparams", "restarts", "total_batches",
       "runner_state", "searcher_metric_value", "last_activity", "log_policy_matched"});
  std::string joins;
  const bool split = runs && source_.has("trials_v2", "run_id");
  const std::string_view rest = split ? "trials_v2" : table;
  const auto alias = split ? "t" : "r";
  if (split) joins += " LEFT JOIN trials_v2 t ON t.run_id = r.id";
  list += ", " + named(rest, alias, "request_id", "request_id") + ", " + named(rest, alias, "seed", "seed");
  list += ", " + named(table, "r", runs ? "restart_id" : "run_id", "run_id");
  list += ", " + named(table, "r", runs ? "external_run_id" : "external_trial_id", "external_trial_id");
  if (source_.has("runs_metadata", "metadata")) {
    joins += " LEFT JOIN runs_metadata m ON m.run_id = r.id";
    list += ", " + named("runs_metadata", "m", "metadata", "metadata");
  } else {
    list += ", " + named(table, "r", "metadata", "metadata");
  }
  if (source_.has(table, "warm_start_checkpoint_id"))
    list +=
        ", (SELECT CAST(c.uuid AS text) FROM checkpoints_v2 c WHERE c.id = r.warm_start_checkpoint_id) AS "
        "warm_start_checkpoint";
  const auto of_run = source_.has("run_checkpoints", "run_id")
                          ? "c.uuid IN (SELECT k.checkpoint_id FROM run_checkpoints k WHERE k.run_id = r.id)"
                      : source_.has("run_id_task_id", "run_id")
                          ? "c.task_id IN (SELECT k.task_id FROM run_id_task_id k WHERE k.run_id = r.id)"
                      : source_.has("trial_id_task_id", "trial_id")
                          ? "c.task_id IN (SELECT k.task_id FROM trial_id_task_id k WHERE k.trial_id = r.id)"
                          : "c.task_id = r.task_id";
  auto latest = fmt::format(
      "(SELECT CAST(c.uuid AS text) FROM checkpoints_v2 c WHERE CAST(c.state AS text) = 'COMPLETED' AND {} "
      "ORDER BY c.report_time DESC LIMIT 1)",
      of_run);
  if (has_first_checkpoints())
    latest = fmt::format(
        "COALESCE({}, (SELECT CAST(f.uuid AS text) FROM raw_checkpoints f WHERE f.trial_id = r.id AND "
        "CAST(f.state AS text) = 'COMPLETED' ORDER BY f.total_batches DESC LIMIT 1))",
        latest);
  list += fmt::format(", {} AS latest_checkpoint", latest);
  std::vector<SourceRow> rows;
  source_.each_row(fmt::format("SELECT {} FROM {} r{} WHERE r.experiment_id = {} ORDER BY r.id", list, table,
                               joins, experiment),
                   [&](SourceRow row) { rows.push_back(std::move(row)); });
  return rows;
}

// A trial that was continued has several.
std::map<std::int64_t, std::vector<std::string>> Importer::tasks_of(std::int64_t experiment) {
  const auto table = source_.has("runs") ? "runs" : "trials";
  std::string from;
  if (source_.has("run_id_task_id", "run_id"))
    from = "run_id_task_id k JOIN {} r ON r.id = k.run_id";
  else if (source_.has("trial_id_task_id", "trial_id"))
    from = "trial_id_task_id k JOIN {} r ON r.id = k.trial_id";
  else if (source_.has(table, "task_id"))
    from = "(SELECT id, task_id FROM {0}) k JOIN {0} r ON r.id = k.id";
  std::map<std::int64_t, std::vector<std::string>> tasks;
  if (from.empty()) return tasks;
  source_.each_row(
      fmt::format(
          "SELECT CAST(r.id AS text) AS id, CAST(k.task_id AS text) AS task_id FROM {} LEFT JOIN tasks t "
          "ON t.task_id = k.task_id WHERE r.experiment_id = {} ORDER BY r.id, t.start_time, k.task_id",
          fmt::format(fmt::runtime(from), table), experiment),
      [&](const SourceRow& row) { tasks[row.integer("id").value_or(0)].push_back(row.text("task_id")); });
  return tasks;
}

std::vector<SourceRow> Importer::allocation_rows(std::int64_t experiment) {
  std::vector<SourceRow> rows;
  const auto table = source_.has("runs") ? "runs" : "trials";
  if (!source_.has("allocations", "task_id")) return rows;
  const auto tasks = source_.has("run_id_task_id", "run_id")
                         ? "SELECT k.task_id FROM run_id_task_id k JOIN {} r ON r.id = k.run_id"
                     : source_.has("trial_id_task_id", "trial_id")
                         ? "SELECT k.task_id FROM trial_id_task_id k JOIN {} r ON r.id = k.trial_id"
                         : "SELECT r.task_id FROM {} r";
  const auto node = source_.has("allocation_accelerators", "node_name")
                        ? "(SELECT CAST(MIN(x.node_name) AS text) FROM allocation_accelerators x WHERE "
                          "x.allocation_id = a.allocation_id)"
                        : "CAST(NULL AS text)";
  source_.each_row(
      fmt::format(
          "SELECT {}, {} AS node_name FROM allocations a WHERE a.task_id IN ({} WHERE r.experiment_id = "
          "{}) ORDER BY a.start_time, a.allocation_id",
          source_.columns("allocations", "a",
                          {"allocation_id", "task_id", "slots", "start_time", "end_time", "exit_reason"}),
          node, fmt::format(fmt::runtime(tasks), table), experiment),
      [&](SourceRow row) { rows.push_back(std::move(row)); });
  return rows;
}

// The archive itself only where no experiment before has had the same.
std::vector<Change> Importer::model_definition(const MappedExperiment& mapped) {
  std::vector<Change> changes;
  const auto& digest = mapped.record.model_definition;
  if (digest.empty() || !definitions_.emplace(digest, "").second) return changes;
  source_.each(fmt::format("SELECT model_definition FROM experiments WHERE id = {}", mapped.record.id),
               [&](const Statement& row) {
                 changes.emplace_back(PutModelDefinition{digest, std::string(row.bytes(0))});
               });
  return changes;
}

}  // namespace det::store
