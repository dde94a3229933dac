#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "det/cli/experiment/experiment.h"
#include "det/cli/follow/logs.h"
#include "det/cli/follow/progress.h"
#include "det/cli/output/format.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 5min;

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Asks at growing intervals, so that a short wait ends at once and a long one
// costs little.
class Pace {
 public:
  explicit Pace(Clock::duration longest) : longest_(longest) {}
  void wait() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<Clock::duration>(next_ * 3 / 2 + 1ms, longest_);
  }

 private:
  Clock::duration longest_;
  Clock::duration next_ = std::min<Clock::duration>(20ms, longest_);
};

// GET that outlives a restart of the master.
Result<json::value> patient_get(Session& session, const std::string& path) {
  auto answer = session.get(path);
  const auto start = Clock::now();
  bool told = false;
  while (!answer && answer.error().code() == ErrorCode::Unavailable && Clock::now() - start < kPatience) {
    if (!told) session.console().warn("The master does not answer; waiting for it.");
    told = true;
    std::this_thread::sleep_for(500ms);
    answer = session.get(path);
  }
  return answer;
}

Result<int> wait(Session& session, std::int64_t id, double interval) {
  Pace pace(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval)));
  // The first look may fail at once: then there is nobody to wait for.
  DET_TRY(auto answer, session.get(experiment_path(id)));
  while (true) {
    const auto state = text_at(answer, "experiment.state");
    if (is_terminal(state)) {
      session.console().line("Experiment {} terminated with state {}", id,
                             cell_text(state_cell(json::value(state))));
      if (const auto error = text_at(answer, "experiment.error"); !error.empty())
        session.console().fail(error);
      return state == "STATE_COMPLETED" ? 0 : 1;
    }
    pace.wait();
    DET_TRY(answer, patient_get(session, experiment_path(id)));
  }
}

// The trial with the lowest id, or null.
Result<json::value> first_trial(Session& session, std::int64_t experiment_id) {
  DET_TRY(const auto answer, session.get(experiment_path(experiment_id) + "/trials",
                                         {{"limit", "1"}, {"orderBy", "ORDER_BY_ASC"}}));
  const auto& trials = list_at(answer, "trials");
  return trials.empty() ? json::value(nullptr) : trials[0];
}

Result<json::value> wait_for_first_trial(Session& session, std::int64_t experiment_id) {
  Pace pace(1s);
  while (true) {
    DET_TRY(const auto trial, first_trial(session, experiment_id));
    if (!trial.is_null()) return trial;
    DET_TRY(const auto answer, session.get(experiment_path(experiment_id)));
    const auto state = text_at(answer, "experiment.state");
    if (is_terminal(state)) {
      const auto error = text_at(answer, "experiment.error");
      return failed_precondition("experiment {} ended in state {} before its first trial began{}",
                                 experiment_id, cell_text(state_cell(json::value(state))),
                                 error.empty() ? "" : ": " + error);
    }
    if (const auto reason = text_at(answer, "experiment.waitingReason"); !reason.empty())
      session.console().status(reason);
    pace.wait();
  }
}

}  // namespace

std::string experiment_path(std::int64_t id) {
  return fmt::format("/api/v1/experiments/{}", id);
}
std::string trial_path(std::int64_t id) {
  return fmt::format("/api/v1/trials/{}", id);
}

bool is_terminal(std::string_view state) {
  return state == "STATE_COMPLETED" || state == "STATE_CANCELED" || state == "STATE_ERROR" ||
         state == "STATE_DELETED";
}

Result<int> follow_first_trial(Session& session, std::int64_t experiment_id, const PublishedPorts* ports) {
  auto& console = session.console();
  console.write_line("Waiting for first trial to begin...");
  console.flush();
  DET_TRY(const auto trial, wait_for_first_trial(session, experiment_id));
  const auto id = integer_at(trial, "id");
  console.clear_status();
  console.line("Following first trial with ID {}", id);
  if (ports != nullptr)
    if (auto connected = ports->connect(session, text_at(trial, "taskId")); !connected)
      return tl::unexpected(connected.error());

  DET_TRY(const auto experiment, session.get(experiment_path(experiment_id)));
  ProgressMeter meter;
  FollowHooks hooks;
  if (console.out_tty()) {
    hooks.on_tick = [&] {
      if (const auto now = session.get(trial_path(id)); now && !is_terminal(text_at(*now, "trial.state")))
        console.status(meter.line(seconds_now(), at(experiment, "experiment"), at(*now, "trial")));
    };
  }
  std::string state;
  hooks.is_over = [&]() -> Result<bool> {
    DET_TRY(const auto now, session.get(trial_path(id)));
    state = text_at(now, "trial.state");
    return is_terminal(state);
  };
  LogOptions options;
  options.follow = true;
  if (auto shown = show_logs(session, trial_path(id) + "/logs", options, std::move(hooks)); !shown)
    return tl::unexpected(shown.error());
  console.clear_status();
  console.good(fmt::format("Trial log stream ended. To reopen log stream, run: det trial logs -f {}", id));
  if (state != "STATE_ERROR") return 0;
  console.fail(fmt::format("Trial {} ended in state ERROR", id));
  if (const auto now = session.get(experiment_path(experiment_id)); now)
    if (const auto error = text_at(*now, "experiment.error"); !error.empty()) console.fail(error);
  return 1;
}

Action define_wait(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    double interval = 5;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option("--polling-interval", options->interval,
                 "Maximum time between polls in seconds (default: 5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 86400.0));
  return [options](Session& session) { return wait(session, options->id, options->interval); };
}

Action define_experiment_logs(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    LogOptions logs;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  add_log_flags(app, options->logs);
  return [options](Session& session) -> Result<int> {
    DET_TRY(auto trial, options->logs.follow ? wait_for_first_trial(session, options->id)
                                             : first_trial(session, options->id));
    if (trial.is_null()) return not_found("experiment {} has no trial yet", options->id);
    const auto id = integer_at(trial, "id");
    FollowHooks hooks;
    hooks.is_over = [&]() -> Result<bool> {
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

}  // namespace det::cli
