#include <CLI/CLI.hpp>
#include <memory>

#include "det/base/text.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/log_retention.h"
#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"
#include "det/cli/output/output.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

struct Setting {
  std::int64_t id = 0;
  std::string value;
};

std::shared_ptr<Setting> add_setting(CLI::App& app, const char* name, const char* help) {
  const auto setting = std::make_shared<Setting>();
  app.add_option("experiment_id", setting->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option(name, setting->value, help)->type_name("VALUE")->required();
  return setting;
}

// Sets a text of the experiment itself.
Action define_text(CLI::App& app, const char* name) {
  const auto setting = add_setting(app, name, "New text");
  return [setting, name](Session& session) -> Result<int> {
    json::object change;
    change[name] = setting->value;
    DET_TRY(const auto answer, session.patch(experiment_path(setting->id), change));
    session.console().line("Set {} of experiment {} to '{}'", name, setting->id, setting->value);
    return 0;
  };
}

// Sets a number of a section: `resources` or `searcher`.
Action define_number(CLI::App& app, const char* name, const char* wire_name, bool integer, bool may_be_none,
                     const char* section = "resources") {
  const auto setting = add_setting(app, name, may_be_none ? "New value, or none" : "New value");
  return [=](Session& session) -> Result<int> {
    const auto word = to_lower(setting->value);
    json::value value;
    if (!(may_be_none && (word == "none" || word == "null"))) {
      const auto parsed = config::parse_yaml_value(setting->value);
      const bool fits =
          parsed && (integer ? parsed->is_int64() : parsed->is_number()) && *json::to_double(*parsed) >= 0;
      if (!fits)
        return invalid_argument("{} is '{}'; it must be {} of at least 0{}", name, setting->value,
                                integer ? "an integer" : "a number", may_be_none ? ", or none" : "");
      value = *parsed;
    }
    json::object numbers;
    numbers[wire_name] = value;
    json::object change;
    change[section] = std::move(numbers);
    DET_TRY(const auto answer, session.patch(experiment_path(setting->id), change));
    session.console().line("Set `{}` of experiment {} to {}", name, setting->id,
                           value.is_null() ? "none" : setting->value);
    return 0;
  };
}

Action define_name(CLI::App& app) {
  return define_text(app, "name");
}
Action define_description(CLI::App& app) {
  return define_text(app, "description");
}
Action define_max_slots(CLI::App& app) {
  return define_number(app, "max_slots", "maxSlots", true, true);
}
Action define_weight(CLI::App& app) {
  return define_number(app, "weight", "weight", false, false);
}
Action define_priority(CLI::App& app) {
  return define_number(app, "priority", "priority", true, false);
}
Action define_max_trials(CLI::App& app) {
  return define_number(app, "max_trials", "maxTrials", true, false, "searcher");
}
Action define_max_length(CLI::App& app) {
  return define_number(app, "max_length", "maxLength", true, false, "searcher");
}
Action define_max_concurrent_trials(CLI::App& app) {
  return define_number(app, "max_concurrent_trials", "maxConcurrentTrials", true, false, "searcher");
}

Action define_num_rounds(CLI::App& app) {
  return define_number(app, "num_rounds", "numRounds", true, false, "searcher");
}

struct GcPolicy {
  std::int64_t id = 0;
  std::int64_t experiment_best = 0;
  std::int64_t trial_best = 0;
  std::int64_t trial_latest = 0;
  bool yes = false;
};

// Shows which checkpoints the policy deletes and asks. False: do not.
Result<bool> confirm_policy(Session& session, const GcPolicy& policy) {
  DET_TRY(const auto preview, session.get(fmt::format("/experiments/{}/preview_gc", policy.id),
                                          {{"save_experiment_best", std::to_string(policy.experiment_best)},
                                           {"save_trial_best", std::to_string(policy.trial_best)},
                                           {"save_trial_latest", std::to_string(policy.trial_latest)}}));
  auto& console = session.console();
  const auto metric = text_at(preview, "metric_name");
  Table table({"Trial ID", "# of Batches", "State", fmt::format("Validation Metric\n({})", metric), "UUID",
               "Resources"});
  std::size_t without = 0;
  for (const auto& checkpoint : list_at(preview, "checkpoints")) {
    const auto& value = at(checkpoint, "training.searcherMetric");
    if (value.is_null()) {
      ++without;
      continue;
    }
    std::string files;
    if (at(checkpoint, "resources").is_object())
      for (const auto& file : at(checkpoint, "resources").get_object())
        files += (files.empty() ? "" : "\n") + std::string(file.key());
    table.add({at(checkpoint, "training.trialId"), at(checkpoint, "metadata.steps_completed"),
               state_cell(at(checkpoint, "state")), value, at(checkpoint, "uuid"), json::value(files)});
  }
  if (table.size() > 0) {
    console.write_line(
        "The following checkpoints with validation will be deleted by applying this GC Policy:");
    console.write(table.text());
  }
  console.line(
      "This policy will delete {} checkpoints with validations and {} checkpoints without validations.",
      table.size(), without);
  return console.confirm(
      "Changing the checkpoint garbage collection policy of an experiment may result\n"
      "in the unrecoverable deletion of checkpoints.  Do you wish to proceed?");
}

Result<int> set_gc_policy(Session& session, const GcPolicy& policy) {
  if (!policy.yes) {
    DET_TRY(const bool confirmed, confirm_policy(session, policy));
    if (!confirmed) {
      session.console().line("Aborting operations.");
      return 0;
    }
  }
  json::object storage;
  storage["saveExperimentBest"] = policy.experiment_best;
  storage["saveTrialBest"] = policy.trial_best;
  storage["saveTrialLatest"] = policy.trial_latest;
  json::object change;
  change["checkpointStorage"] = std::move(storage);
  DET_TRY(const auto answer, session.patch(experiment_path(policy.id), change));
  session.console().line("Set GC policy of experiment {} to", policy.id);
  json::object shown;
  shown["save_experiment_best"] = policy.experiment_best;
  shown["save_trial_best"] = policy.trial_best;
  shown["save_trial_latest"] = policy.trial_latest;
  show_json(session.console(), shown);
  return 0;
}

Action define_gc_policy(CLI::App& app) {
  const auto policy = std::make_shared<GcPolicy>();
  app.add_option("experiment_id", policy->id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  const auto add = [&](const char* flag, std::int64_t& value, const char* help) {
    app.add_option(flag, value, help)->type_name("N")->required()->check(at_least(0));
  };
  add("--save-experiment-best", policy->experiment_best,
      "Number of best checkpoints of the experiment to keep");
  add("--save-trial-best", policy->trial_best, "Number of best checkpoints of each trial to keep");
  add("--save-trial-latest", policy->trial_latest, "Number of latest checkpoints of each trial to keep");
  app.add_flag("-y,--yes", policy->yes, "Skip the confirmation prompt");
  return [policy](Session& session) { return set_gc_policy(session, *policy); };
}

}  // namespace

std::vector<Command> set_commands() {
  return {
      {{"name"}, "Set the name of an experiment", "det experiment set name 7 baseline", define_name},
      {{"description"}, "Set the description of an experiment", "", define_description},
      {{"log-retention"},
       "Set how long the logs of an experiment are kept",
       "det experiment set log-retention 7 --days 30\ndet experiment set log-retention 7 --forever",
       define_experiment_retention},
      {{"max-slots"},
       "Set the maximum number of slots of an experiment",
       "det experiment set max-slots 7 4\ndet experiment set max-slots 7 none",
       define_max_slots},
      {{"weight"}, "Set the weight of an experiment", "", define_weight},
      {{"priority"}, "Set the priority of an experiment", "", define_priority},
      {{"max-trials"},
       "Set the number of trials of a search, or extend a completed search",
       "det experiment set max-trials 7 64",
       define_max_trials},
      {{"max-length"},
       "Set how far trials train, in the unit of the searcher",
       "det experiment set max-length 7 2000",
       define_max_length},
      {{"max-concurrent-trials"},
       "Set how many trials run at the same time (0: no limit)",
       "det experiment set max-concurrent-trials 7 8",
       define_max_concurrent_trials},
      {{"num-rounds"},
       "Set the number of rounds of a running pbt search",
       "det experiment set num-rounds 7 20",
       define_num_rounds},
      {{"gc-policy"},
       "Set the checkpoint garbage collection policy of an experiment",
       "det experiment set gc-policy 7 --save-experiment-best 1 --save-trial-best 1 --save-trial-latest 0",
       define_gc_policy}};
}

}  // namespace det::cli
