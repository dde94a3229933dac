#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/environment.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/log_retention.h"
#include "det/cli/experiment/workloads.h"
#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/download.h"

namespace det::cli {
namespace {

Action define_trial_describe(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    bool metrics = false;
    bool summary = false;
    Paging paging{.limit = 20'000};
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("trial_id", options->id, "ID of the trial")->type_name("TRIAL_ID")->required();
  app.add_flag("--metrics", options->metrics, "Show a column for each metric");
  app.add_flag("--metrics-summary", options->summary,
               "Show the minimum, maximum, mean and last value of each metric");
  add_paging_flags(app, options->paging);
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(auto answer, session.get(trial_path(options->id)));
    DET_TRY(const auto entries, fetch_workloads(session, options->id, options->paging));
    const auto trial = at(answer, "trial");
    std::vector<std::string> headers = {"Experiment ID", "State", "H-Params", "Started", "Ended"};
    std::vector<json::value> row = {at(trial, "experimentId"), state_cell(at(trial, "state")),
                                    json::value(json::pretty(at(trial, "hparams"), 4)),
                                    time_cell(at(trial, "startTime")), time_cell(at(trial, "endTime"))};
    if (options->summary) {
      headers.push_back("Summary Metrics");
      row.push_back(json::value(json::pretty(at(trial, "summaryMetrics"), 4)));
    }
    Table table(headers);
    table.add(std::move(row));
    WorkloadTable workloads;
    workloads.add(options->id, entries);
    const auto environment = session.get(trial_path(options->id) + "/environment");
    if (answer.is_object()) {
      answer.get_object()["workloads"] = entries;
      if (environment && environment->is_object())  // a master of an earlier release knows nothing of it
        for (const auto& [name, value] : environment->get_object()) answer.get_object()[name] = value;
    }
    auto& console = session.console();
    show(console, options->form, answer, table);
    if (options->form.json || options->form.yaml) return 0;
    console.write_line("\nWorkloads:");
    show(console, options->form, answer, workloads.table(options->metrics, false));
    if (!environment || options->form.csv) return 0;
    console.write_line("");
    show(console, options->form, answer, environment_table(*environment));
    return 0;
  };
}

Action define_trial_logs(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    LogOptions logs;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("trial_id", options->id, "ID of the trial")->type_name("TRIAL_ID")->required();
  add_log_flags(app, options->logs);
  return [options](Session& session) -> Result<int> {
    const auto id = options->id;
    FollowHooks hooks;
    hooks.is_over = [&session, id]() -> Result<bool> {
      DET_TRY(const auto now, session.get(trial_path(id)));
      return is_terminal(text_at(now, "trial.state"));
    };
    if (auto shown = show_logs(session, trial_path(id) + "/logs", options->logs, std::move(hooks)); !shown)
      return tl::unexpected(shown.error());
    if (!options->logs.json)
      session.console().good(
          fmt::format("Trial log stream ended. To reopen log stream, run: det trial logs -f {}", id));
    return 0;
  };
}

Action define_trial_kill(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  app.add_option("trial_id", *id, "ID of the trial")->type_name("TRIAL_ID")->required();
  return [id](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.post(trial_path(*id) + "/kill"));
    session.console().line("Killed trial {}", *id);
    return 0;
  };
}

struct TrialDownload {
  std::int64_t id = 0;
  bool best = false;
  bool latest = false;
  std::string uuid;
  std::string directory;
  CheckpointOrder order;
  bool quiet = false;
};

Result<json::value> choose(const json::array& checkpoints, const TrialDownload& options) {
  if (options.best) {
    const auto best = best_checkpoints(checkpoints, 1, options.order);
    if (best.empty())
      return not_found("trial {} has no checkpoint with a value of {}; try --latest", options.id,
                       options.order.metric.empty() ? "its searcher's metric" : options.order.metric);
    return best[0];
  }
  const json::value* chosen = nullptr;
  for (const auto& checkpoint : checkpoints) {
    if (options.latest
            ? chosen == nullptr || text_at(checkpoint, "reportTime") > text_at(*chosen, "reportTime")
            : text_at(checkpoint, "uuid") == options.uuid)
      chosen = &checkpoint;
  }
  if (chosen != nullptr) return *chosen;
  if (options.latest) return not_found("trial {} has no checkpoint", options.id);
  return not_found("trial {} has no checkpoint {}", options.id, options.uuid);
}

Action define_trial_download(CLI::App& app) {
  const auto options = std::make_shared<TrialDownload>();
  app.add_option("trial_id", options->id, "ID of the trial")->type_name("TRIAL_ID")->required();
  auto* which = app.add_option_group("which");
  which->add_flag("--best", options->best, "Download the checkpoint with the best metric");
  which->add_flag("--latest", options->latest, "Download the latest checkpoint");
  which->add_option("--uuid", options->uuid, "Download the checkpoint with this UUID")->type_name("UUID");
  which->require_option(1);
  app.add_option("-o,--output-dir", options->directory,
                 "Directory for the checkpoint (default: checkpoints/<uuid>)")
      ->type_name("DIR");
  auto* sort = app.add_option("--sort-by,--metric-name", options->order.metric,
                              "With --best: validation metric to sort by (default: the searcher's metric)")
                   ->type_name("METRIC");
  app.add_option("--smaller-is-better", options->order.smaller_is_better,
                 "Direction of the --sort-by metric: true or false")
      ->type_name("BOOL")
      ->needs(sort);
  app.add_flag("-q,--quiet", options->quiet, "Print only the path");
  return [options](Session& session) -> Result<int> {
    QueryItems query;
    if (options->uuid.empty()) query.emplace_back("states", "STATE_COMPLETED");
    DET_TRY(const auto checkpoints,
            session.pages(trial_path(options->id) + "/checkpoints", query, "checkpoints", 1000));
    DET_TRY(const auto checkpoint, choose(checkpoints, *options));
    const auto directory = options->directory.empty()
                               ? std::filesystem::path("checkpoints") / text_at(checkpoint, "uuid")
                               : std::filesystem::path(options->directory);
    if (auto done = download_checkpoint(session, checkpoint, directory); !done)
      return tl::unexpected(done.error());
    auto& console = session.console();
    if (options->quiet) {
      console.write_line(directory.string());
      return 0;
    }
    console.line("Local checkpoint path:\n{}\n", std::filesystem::absolute(directory).string());
    json::array one;
    one.push_back(checkpoint);
    console.write(checkpoint_table(one).text());
    return 0;
  };
}

}  // namespace

Command trial_commands() {
  return {.names = {"trial", "t"},
          .help = "Manage trials",
          .example = "det trial logs -f 12\ndet trial describe 12 --metrics\ndet trial download 12 --best",
          .children = {
              {{"describe"}, "Describe a trial", "det trial describe 12 --metrics", define_trial_describe},
              {{"logs"},
               "Show the logs of a trial",
               "det trial logs -f 12\ndet trial logs 12 --tail 20 --level WARNING",
               define_trial_logs},
              {{"kill"}, "Kill a trial", "", define_trial_kill},
              {{"support-bundle"},
               "Write the log, metrics and configuration of a trial to an archive",
               "det trial support-bundle 12 -o /tmp",
               define_support_bundle},
              {.names = {"set"},
               .help = "Change a setting of a trial",
               .children = {{{"log-retention"},
                             "Set how long the logs of a trial are kept",
                             "det trial set log-retention 12 --days 30",
                             define_trial_retention}}},
              {{"download"},
               "Download a checkpoint of a trial",
               "det trial download 12 --best\ndet trial download 12 --latest -o /tmp/model",
               define_trial_download}}};
}

}  // namespace det::cli
