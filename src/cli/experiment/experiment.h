#pragma once

#include "det/cli/command.h"
#include "det/cli/output/output.h"
#include "det/cli/tasks/tunnel.h"

/// The commands of `det experiment`, one function each: it adds the arguments
/// and says what to do.
namespace det::cli {

Action define_create(CLI::App& app);    // experiment_create.cpp
Action define_continue(CLI::App& app);  // experiment_continue.cpp

Action define_list(CLI::App& app);  // experiment_list.cpp
Action define_list_trials(CLI::App& app);
Action define_list_checkpoints(CLI::App& app);
Action define_config(CLI::App& app);

Action define_describe(CLI::App& app);  // experiment_describe.cpp

Action define_pause(CLI::App& app);  // experiment_change.cpp
Action define_activate(CLI::App& app);
Action define_cancel(CLI::App& app);
Action define_kill(CLI::App& app);
Action define_archive(CLI::App& app);
Action define_unarchive(CLI::App& app);
Action define_delete(CLI::App& app);
Action define_delete_tb_files(CLI::App& app);
Action define_move(CLI::App& app);  // workspace.cpp
Action define_label_add(CLI::App& app);
Action define_label_list(CLI::App& app);
Action define_label_remove(CLI::App& app);

Action define_pareto(CLI::App& app);  // experiment_pareto.cpp

Action define_support_bundle(CLI::App& app);  // trial_bundle.cpp

std::vector<Command> set_commands();  // experiment_set.cpp

Action define_wait(CLI::App& app);  // experiment_follow.cpp
Action define_experiment_logs(CLI::App& app);

Action define_watch(CLI::App& app);  // experiment_watch.cpp

Action define_download(CLI::App& app);  // experiment_download.cpp
Action define_download_model_def(CLI::App& app);

/// A list of experiments as the API gives it, one a line.
void show_experiments(Console& console, const OutputForm& form, const json::array& experiments,
                      bool with_project, bool with_archived);

/// "/api/v1/experiments/7"
std::string experiment_path(std::int64_t id);
std::string trial_path(std::int64_t id);

/// Whether an experiment's or trial's state is final.
bool is_terminal(std::string_view state);

/// Waits until the experiment has a trial, then shows that trial's log until
/// the trial ends, with a line on its progress where there is a terminal.
/// Returns the exit code: 1 where the trial ended in an error.
/// `ports`: connected to the trial meanwhile; null: none.
Result<int> follow_first_trial(Session& session, std::int64_t experiment_id,
                               const PublishedPorts* ports = nullptr);

/// Runs a submitted test experiment to its end, showing its stages.
Result<int> watch_test_experiment(Session& session, std::int64_t experiment_id);

}  // namespace det::cli
