#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "det/cli/experiment/experiment.h"
#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 200ms;
constexpr std::size_t kStageWidth = 25;
constexpr std::array kStages = {"Scheduling task", "Testing training", "Testing validation",
                                "Testing checkpointing"};

// How many of the stages are done.
std::size_t stages_done(const json::value& experiment, const json::value& trial) {
  if (text_at(experiment, "state") == "STATE_COMPLETED") return kStages.size();
  if (trial.is_null()) return 0;
  if (integer_at(trial, "checkpointCount") > 0 || !at(trial, "bestCheckpoint").is_null()) return 4;
  if (!at(trial, "latestValidation").is_null()) return 3;
  if (integer_at(trial, "totalBatchesProcessed") > 0) return 2;
  const auto state = text_at(trial, "state");
  return state == "STATE_RUNNING" || is_terminal(state) ? 1 : 0;
}

std::string stage_name(std::size_t stage) {
  std::string name = kStages[stage];
  return name.append(kStageWidth - std::min(kStageWidth, name.size()), '.');
}

// "Scheduling task.......... [✓], Testing training......... [x], …"
std::string stages_text(const Console& console, std::size_t done, bool failed) {
  std::string text;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    std::string mark = "[ ]";
    if (i < done)
      mark = console.paint(Colour::Green, "[\u2713]");
    else if (i == done)
      mark = failed ? console.paint(Colour::Red, "[x]") : console.paint(Colour::Yellow, "[.]");
    text += (i > 0 ? ", " : "") + stage_name(i) + ' ' + mark;
  }
  return text;
}

// The same while it runs, without colours; one stage where there is no room for all.
std::string status_text(const Console& console, std::size_t done) {
  std::string text;
  for (std::size_t i = 0; i < kStages.size(); ++i)
    text += (i > 0 ? ", " : "") + stage_name(i) + (i < done ? " [\u2713]" : i == done ? " [.]" : " [ ]");
  if (display_width(text) < static_cast<std::size_t>(console.columns())) return text;
  return fmt::format("{} [{}/{}]", stage_name(std::min(done, kStages.size() - 1)), done, kStages.size());
}

}  // namespace

Result<int> watch_test_experiment(Session& session, std::int64_t experiment_id) {
  auto& console = session.console();
  std::size_t done = 0;
  while (true) {
    DET_TRY(const auto answer, session.get(experiment_path(experiment_id)));
    DET_TRY(const auto trials, session.get(experiment_path(experiment_id) + "/trials"));
    const auto& list = list_at(trials, "trials");
    const auto trial = list.empty() ? json::value(nullptr) : list[0];
    const auto& experiment = at(answer, "experiment");
    done = std::max(done, stages_done(experiment, trial));
    const auto state = text_at(experiment, "state");
    const bool failed = state == "STATE_ERROR";
    if (!is_terminal(state)) {
      console.status(status_text(console, done));
      std::this_thread::sleep_for(kLook);
      continue;
    }
    console.finish_status(stages_text(console, done, failed));
    // A test is nobody's result: it leaves the lists. It may be too early for
    // that, or not allowed; the test's outcome is the same.
    (void)session.post(experiment_path(experiment_id) + "/archive");
    if (state == "STATE_COMPLETED") {
      console.good("Model definition test succeeded! \U0001F389");
      return 0;
    }
    if (!failed) {
      console.note(
          fmt::format("Model definition test (ID: {}) canceled before model test could complete. Please "
                      "re-run the command.",
                      experiment_id));
      return 1;
    }
    if (!trial.is_null()) {
      console.write_line(fmt::format("Trial log of the test (trial {}):", integer_at(trial, "id")));
      if (auto shown = show_logs(session, trial_path(integer_at(trial, "id")) + "/logs", {}); !shown)
        console.warn(shown.error().message());
    }
    console.fail(fmt::format("Model definition test (ID: {}) failed", experiment_id));
    return 1;
  }
}

}  // namespace det::cli
