#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

struct SimulateOptions {
  std::vector<std::string> files, overrides;
  std::optional<int> agents, slots_per_agent;
  std::string pool, policy;
  bool preemption = false, no_preemption = false, plot = false;
  std::optional<std::int64_t> from_experiment;
  std::optional<double> seconds_per_batch, start_seconds, validation_seconds, checkpoint_seconds;
  int seed = 0;
  OutputForm form;
};

Result<json::object> request_of(const SimulateOptions& options) {
  json::object body;
  json::array configs;
  for (const auto& file : options.files) {
    DET_TRY(const auto document, read_experiment_document(file, options.overrides));
    configs.emplace_back(document.document);
  }
  body["configs"] = std::move(configs);
  const auto give = [&](const char* name, const auto& value) {
    if (value) body[name] = *value;
  };
  give("agents", options.agents);
  give("slotsPerAgent", options.slots_per_agent);
  give("fromExperiment", options.from_experiment);
  give("secondsPerBatch", options.seconds_per_batch);
  give("startSeconds", options.start_seconds);
  give("validationSeconds", options.validation_seconds);
  give("checkpointSeconds", options.checkpoint_seconds);
  if (!options.pool.empty()) body["resourcePool"] = options.pool;
  if (!options.policy.empty()) body["policy"] = options.policy;
  if (options.preemption || options.no_preemption) body["preemption"] = options.preemption;
  body["seed"] = options.seed;
  return body;
}

double number_at(const json::value& value, std::string_view name) {
  return json::to_double(at(value, name)).value_or(0);
}

std::string hours(double slot_seconds) {
  return fmt::format("{:.2f}", slot_seconds / 3600);
}

/// A line of blocks: how much of `most` each part of the time has.
std::string blocks(const json::array& usage, const char* name, std::int64_t most) {
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const auto& moment : usage) {
    const auto value = integer_at(moment, name);
    const auto height = most == 0 ? 0 : (value * 8 + most - 1) / most;
    line += kBlocks[std::clamp<std::int64_t>(height, 0, 8)];
  }
  return line;
}

void plot(Console& console, const json::value& forecast) {
  const auto& usage = at(forecast, "usage");
  if (!usage.is_array() || usage.get_array().empty()) return;
  const auto& moments = usage.get_array();
  std::int64_t waiting = 0;
  for (const auto& moment : moments) waiting = std::max(waiting, integer_at(moment, "waiting"));
  const auto slots = integer_at(forecast, "slots");
  console.line("\nSlots in use (of {}) and waiting trials (at most {}):", slots, waiting);
  console.line("used  |{}|", blocks(moments, "slotsUsed", slots));
  console.line("wait  |{}|", blocks(moments, "waiting", waiting));
  const auto end = duration_text(number_at(forecast, "end"));
  console.line("       0{:>{}}", end, moments.size() - 1);
  for (const auto& experiment : list_at(forecast, "experiments")) {
    console.line("\n{}: number of trials by trained batches", text_at(experiment, "name"));
    std::int64_t most = 1;
    for (const auto& row : list_at(experiment, "rows")) most = std::max(most, integer_at(row, "trials"));
    for (const auto& row : list_at(experiment, "rows")) {
      const auto count = integer_at(row, "trials");
      std::string bar;
      for (std::int64_t i = 0; i < std::max<std::int64_t>(1, count * 40 / most); ++i) bar += "█";
      console.line("{:>12} {} {}", integer_at(row, "batches"), bar, count);
    }
  }
}

Result<int> simulate(Session& session, const SimulateOptions& options) {
  DET_TRY(const auto body, request_of(options));
  DET_TRY(const auto answer, session.post("/api/v1/simulate", body));
  auto& console = session.console();
  const auto& forecast = at(answer, "forecast");
  const auto& costs = at(answer, "costs");
  Table table({"Experiment", "Trials", "Batches", "Runs", "Preempted", "First Start", "End", "Slot-Hours",
               "Mean Wait", "Longest Wait"});
  for (const auto& each : list_at(forecast, "experiments")) {
    const bool over = at(each, "completed").is_bool() && at(each, "completed").get_bool();
    table.add({at(each, "name"), json::value(integer_at(each, "trials")),
               json::value(integer_at(each, "batches")), json::value(integer_at(each, "runs")),
               json::value(integer_at(each, "preemptions")),
               json::value(duration_text(number_at(each, "firstStart"))),
               json::value(over ? duration_text(number_at(each, "end")) : "never"),
               json::value(hours(number_at(each, "slotSeconds"))),
               json::value(duration_text(number_at(each, "waitMean"))),
               json::value(duration_text(number_at(each, "waitMax")))});
  }
  if (options.form.json || options.form.yaml || options.form.csv) {
    show(console, options.form, answer, table);
    return 0;
  }
  console.line(
      "{} agents with {} slots in total, policy {}; {:.4g} s per batch, {:.4g} s per start, {:.4g} s per "
      "validation, {:.4g} s per checkpoint",
      integer_at(answer, "agents"), integer_at(forecast, "slots"), text_at(answer, "policy"),
      number_at(costs, "secondsPerBatch"), number_at(costs, "startSeconds"),
      number_at(costs, "validationSeconds"), number_at(costs, "checkpointSeconds"));
  if (const auto curves = integer_at(answer, "curves"); curves > 0)
    console.line("Metrics follow the curves of the {} trials of experiment {}", curves,
                 *options.from_experiment);
  console.write(table.text());
  for (const auto& each : list_at(forecast, "experiments"))
    if (!text_at(each, "waitsFor").empty())
      console.line("{} never completes: {}", text_at(each, "name"), text_at(each, "waitsFor"));
  const auto whole = number_at(forecast, "end") * static_cast<double>(integer_at(forecast, "slots"));
  console.line("Total: {} and {} slot-hours; the slots are in use for {:.0f}% of the time.",
               duration_text(number_at(forecast, "end")), hours(number_at(forecast, "slotSeconds")),
               whole > 0 ? 100 * number_at(forecast, "slotSeconds") / whole : 0.0);
  if (options.plot) plot(console, forecast);
  return 0;
}

Action define_simulate(CLI::App& app) {
  const auto options = std::make_shared<SimulateOptions>();
  app.add_option("config_file", options->files,
                 "Configuration files of the experiments (YAML), all submitted at the same time")
      ->type_name("CONFIG_FILE")
      ->required();
  app.add_option("--config", options->overrides,
                 "Override a setting in all of them, such as searcher.max_trials=4; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--agents", options->agents, "Number of agents (default: the current agents of the pool)");
  app.add_option("--slots-per-agent", options->slots_per_agent, "Number of slots per agent (default: 1)");
  app.add_option("--resource-pool", options->pool, "Resource pool whose agents and policy to use");
  app.add_option("--policy", options->policy,
                 "Scheduling policy: fifo, round_robin, fair_share or priority (default: the pool's)");
  auto* preemption = app.add_flag("--preemption", options->preemption,
                                  "With the policy priority: preempt less important trials");
  app.add_flag("--no-preemption", options->no_preemption, "With the policy priority: preempt nothing")
      ->excludes(preemption);
  app.add_option("--from-experiment", options->from_experiment,
                 "Experiment to take durations and metrics from")
      ->type_name("EXPERIMENT_ID");
  app.add_option("--seconds-per-batch", options->seconds_per_batch,
                 "Seconds per batch of a trial (default: 0.1)");
  app.add_option("--start-seconds", options->start_seconds,
                 "Seconds to start a trial, up to its first batch (default: 3)");
  app.add_option("--validation-seconds", options->validation_seconds, "Seconds per validation (default: 1)");
  app.add_option("--checkpoint-seconds", options->checkpoint_seconds,
                 "Seconds per checkpoint before a trial releases its slots (default: 1)");
  app.add_option("--seed", options->seed, "Seed of the simulated metrics");
  app.add_flag("--plot", options->plot, "Draw the slots in use and how far trials train");
  add_output_flags(app, options->form);
  return [options](Session& session) { return simulate(session, *options); };
}

}  // namespace

Command simulate_command() {
  return {.names = {"simulate"},
          .help = "Simulate experiments on a cluster, to predict their duration and slot-hours",
          .example =
              "det simulate adaptive.yaml --agents 4 --slots-per-agent 8 --seconds-per-batch 0.05 --plot\n"
              "det simulate adaptive.yaml --from-experiment 7",
          .define = define_simulate};
}

}  // namespace det::cli
