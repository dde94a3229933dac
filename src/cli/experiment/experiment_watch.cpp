#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "det/cli/experiment/experiment.h"
#include "det/cli/follow/watch.h"
#include "det/cli/output/format.h"
#include "det/cli/tasks/terminal.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCurves = 6;

struct WatchOptions {
  std::int64_t id = 0;
  std::string metric;
  double interval = 1;
  bool once = false;
};

// As it is now: a window may change its size.
WatchScreen screen_size(const Console& console) {
  const auto size = console.out_tty() ? terminal_size() : TerminalSize{};
  return {.columns = size.columns > 0 ? size.columns : console.columns(),
          .rows = size.rows > 0 ? size.rows - 1 : 24,
          .colours = console.paint(Colour::Green, "x") != "x"};
}

Result<Watched> look(Session& session, const WatchOptions& options, int columns) {
  Watched watched;
  DET_TRY(const auto experiment, session.get(experiment_path(options.id)));
  watched.experiment = at(experiment, "experiment");
  watched.metric = options.metric;
  if (watched.metric.empty()) watched.metric = text_at(watched.experiment, "config.searcher.metric");
  DET_TRY(watched.trials, session.pages(experiment_path(options.id) + "/trials", {}, "trials", 1000));
  QueryItems query{{"metricNames", watched.metric}, {"maxDatapoints", std::to_string(2 * columns)}};
  for (const auto& trial : trials_to_draw(watched.experiment, watched.trials, kCurves))
    query.emplace_back("trialIds", std::to_string(integer_at(trial, "id")));
  if (watched.trials.empty()) return watched;
  DET_TRY(const auto series, session.get("/api/v1/trials/time-series", query));
  for (const auto& entry : list_at(series, "trials")) {
    json::object one{{"id", at(entry, "trial.id")}, {"metrics", at(entry, "metrics")}};
    watched.series.emplace_back(std::move(one));
  }
  return watched;
}

Result<int> watch(Session& session, const WatchOptions& options) {
  auto& console = session.console();
  const bool live = console.out_tty() && !options.once;
  while (true) {
    const auto size = screen_size(console);
    auto watched = look(session, options, size.columns);
    if (!watched && !(live && watched.error().code() == ErrorCode::Unavailable))
      return tl::unexpected(watched.error());
    if (watched) {
      const auto text = watch_text(*watched, size);
      // From the upper left corner over what is there: no flicker. Each line and the rest of the screen are
      // cleared.
      std::string screen = live ? "\x1b[H" : "";
      for (const char c : text) screen += live && c == '\n' ? "\x1b[K\n" : std::string(1, c);
      console.write(screen + (live ? "\x1b[J" : ""));
      console.flush();
      const auto state = text_at(watched->experiment, "state");
      if (is_terminal(state)) return live && state != "STATE_COMPLETED" ? 1 : 0;
      if (!live) return 0;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

}  // namespace

Action define_watch(CLI::App& app) {
  const auto options = std::make_shared<WatchOptions>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option("--metric", options->metric, "Metric to draw (default: the searcher's metric)")
      ->type_name("NAME");
  app.add_option("--interval", options->interval, "Seconds between updates (default: 1)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_flag("--once", options->once,
               "Print the current state once and exit; the default if the output is not a terminal");
  return [options](Session& session) -> Result<int> {
    if (session.console().out_tty() && !options->once) session.console().write("\x1b[2J");
    return watch(session, *options);
  };
}

}  // namespace det::cli
