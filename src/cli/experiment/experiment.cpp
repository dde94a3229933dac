#include "det/cli/experiment/experiment.h"

namespace det::cli {

Command experiment_commands() {
  Command set{.names = {"set"},
              .help = "Change a setting of an experiment",
              .example = "",
              .children = set_commands()};
  Command label{
      .names = {"label"},
      .help = "Manage labels of experiments",
      .example = "",
      .children = {
          {{"add"}, "Add a label", "det experiment label add 7 baseline", define_label_add},
          {{"list", "ls"},
           "List the labels of an experiment",
           "det experiment label list 7",
           define_label_list},
          {{"remove"}, "Remove a label", "det experiment label remove 7 baseline", define_label_remove}}};
  return {
      .names = {"experiment", "e"},
      .help = "Manage experiments",
      .example =
          "det experiment create const.yaml .\n"
          "det experiment create const.yaml . -f\n"
          "det experiment describe 7 --metrics\n"
          "det experiment wait 7 && det experiment list-checkpoints 7 --best 1",
      .children =
          {{{"create"},
            "Create an experiment",
            "det experiment create const.yaml .\n"
            "det experiment create const.yaml . -f                     follow the log of the first trial\n"
            "det experiment create const.yaml . --config searcher.max_trials=4\n"
            "det experiment create const.yaml . --test                 test one batch on the cluster\n"
            "det experiment create const.yaml . --local --test         test one batch on this machine",
            define_create},
           {{"list", "ls"},
            "List experiments",
            "det experiment list\ndet experiment list --all --json",
            define_list},
           {{"describe"},
            "Describe an experiment",
            "det experiment describe 7 --metrics\ndet experiment describe 7,8 --csv",
            define_describe},
           {{"logs"}, "Show the logs of the first trial", "det experiment logs 7 -f", define_experiment_logs},
           {{"watch"},
            "Watch the trials and metrics of an experiment in the terminal",
            "det experiment watch 7\ndet experiment watch 7 --metric accuracy",
            define_watch},
           {{"wait"}, "Wait for an experiment to end", "det experiment wait 7", define_wait},
           {{"pareto"},
            "List the Pareto-optimal validations for several metrics",
            "det experiment pareto 7 --metric loss --metric accuracy:max",
            define_pareto},
           {{"pause"}, "Pause an experiment", "", define_pause},
           {{"activate", "unpause"}, "Activate an experiment", "", define_activate},
           {{"cancel"}, "Cancel an experiment", "", define_cancel},
           {{"kill"}, "Kill an experiment", "", define_kill},
           {{"continue"},
            "Continue a finished experiment under the same ID",
            "det experiment continue 7 --config searcher.max_length.batches=2000\n"
            "det experiment continue 7 --config-file longer.yaml -f\n"
            "det experiment continue 8 --config max_restarts=3",
            define_continue},
           {{"delete-tb-files"},
            "Delete the TensorBoard files of an experiment",
            "det experiment delete-tb-files 7",
            define_delete_tb_files},
           {{"archive"}, "Archive an experiment", "", define_archive},
           {{"unarchive"}, "Unarchive an experiment", "", define_unarchive},
           {{"delete"}, "Delete an experiment", "det experiment delete 7 --yes", define_delete},
           {{"move"},
            "Move an experiment to another project",
            "det experiment move 7 vision detectors",
            define_move},
           {{"config"}, "Show the configuration of an experiment", "det experiment config 7", define_config},
           {{"download-model-def"},
            "Download the model definition of an experiment",
            "det experiment download-model-def 7 --output-dir /tmp",
            define_download_model_def},
           {{"download"},
            "Download the best checkpoints of an experiment",
            "det experiment download 7 --top-n 3",
            define_download},
           {{"list-trials", "lt"},
            "List the trials of an experiment",
            "det experiment list-trials 7",
            define_list_trials},
           {{"list-checkpoints", "lc"},
            "List the checkpoints of an experiment",
            "det experiment list-checkpoints 7 --best 3",
            define_list_checkpoints},
           std::move(label),
           std::move(set)},
      .default_child = "list"};
}

}  // namespace det::cli
