#include <CLI/CLI.hpp>
#include <memory>

#include "det/base/text.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

// pause, kill, …: POST experiments/{id}/<verb>, then a line.
Action define_verb(CLI::App& app, const char* verb, const char* done) {
  const auto id = std::make_shared<std::int64_t>();
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  return [id, verb, done](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.post(fmt::format("{}/{}", experiment_path(*id), verb)));
    session.console().line("{} experiment {}", done, *id);
    return 0;
  };
}

Action define_label(CLI::App& app, bool add) {
  struct Options {
    std::int64_t id = 0;
    std::string label;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option("label", options->label, "Label")->type_name("LABEL")->required();
  return [options, add](Session& session) -> Result<int> {
    if (trim(options->label).empty())
      return invalid_argument("the label is empty; give at least one character that is not a space");
    const auto path = experiment_path(options->id) + "/labels/" + url_encode(options->label);
    DET_TRY(const auto answer, add ? session.put(path) : session.del(path));
    if (add)
      session.console().line("Added label '{}' to experiment {}", options->label, options->id);
    else
      session.console().line("Removed label '{}' from experiment {}", options->label, options->id);
    return 0;
  };
}

}  // namespace

Action define_pause(CLI::App& app) {
  return define_verb(app, "pause", "Paused");
}
Action define_activate(CLI::App& app) {
  return define_verb(app, "activate", "Activated");
}
Action define_cancel(CLI::App& app) {
  return define_verb(app, "cancel", "Canceled");
}
Action define_kill(CLI::App& app) {
  return define_verb(app, "kill", "Killed");
}
Action define_archive(CLI::App& app) {
  return define_verb(app, "archive", "Archived");
}
Action define_unarchive(CLI::App& app) {
  return define_verb(app, "unarchive", "Unarchived");
}
Action define_label_add(CLI::App& app) {
  return define_label(app, true);
}
Action define_label_list(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(experiment_path(options->id)));
    const auto& labels = at(answer, "experiment.labels");
    Table table({"Label"});
    for (const auto& label : list_at(answer, "experiment.labels")) table.add({label});
    show(session.console(), options->form, labels, table);
    return 0;
  };
}
Action define_label_remove(CLI::App& app) {
  return define_label(app, false);
}

Action define_delete(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_flag("-y,--yes", options->yes, "Skip the confirmation prompt");
  return [options](Session& session) -> Result<int> {
    if (!options->yes &&
        !session.console().confirm(fmt::format("This permanently deletes experiment {} with its logs, "
                                               "metrics and checkpoints. To hide it instead, "
                                               "run: det experiment archive {}\nDo you wish to proceed?",
                                               options->id, options->id))) {
      session.console().line("Aborting experiment deletion.");
      return 0;
    }
    DET_TRY(const auto answer, session.del(experiment_path(options->id)));
    session.console().line("Deletion of experiment {} is in progress", options->id);
    return 0;
  };
}

Action define_delete_tb_files(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  return [id](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.del(experiment_path(*id) + "/tensorboard-files"));
    session.console().line("Deletion of the TensorBoard files of experiment {} is in progress", *id);
    return 0;
  };
}

}  // namespace det::cli
