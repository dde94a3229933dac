#include "det/cli/experiment/experiment.h"

namespace det::cli {

Command experiment_commands() {
  Command set{.names = {"set"},
              .help = "change a setting of an experiment",
              .example = "",
              .children = set_commands()};
  Command label{
      .names = {"label"},
      .help = "label experiments",
      .example = "",
      .children = {
          {{"add"}, "add label", "det experiment label add 7 baseline", define_label_add},
          {{"list", "ls"},
           "list the labels of an experiment",
           "det experiment label list 7",
           define_label_list},
          {{"remove"}, "remove label", "det experiment label remove 7 baseline", define_label_remove}}};
  return {.names = {"experiment", "e"},
          .help = "manage experiments",
          .example =
              "det experiment create const.yaml .\n"
              "det experiment create const.yaml . -f\n"
              "det experiment describe 7 --metrics\n"
              "det experiment wait 7 && det experiment list-checkpoints 7 --best 1",
          .children =
              {{{"create"},
                "create experiment",
                "det experiment create const.yaml .\n"
                "det experiment create const.yaml . -f                     follow the first trial\n"
                "det experiment create const.yaml . --config searcher.max_trials=4\n"
                "det experiment create const.yaml . --test                 one batch on the cluster\n"
                "det experiment create const.yaml . --local --test         one batch right here",
                define_create},
               {{"list", "ls"},
                "list experiments",
                "det experiment list\ndet experiment list --all --json",
                define_list},
               {{"describe"},
                "describe experiment",
                "det experiment describe 7 --metrics\ndet experiment describe 7,8 --csv",
                define_describe},
               {{"logs"}, "show logs of the first trial", "det experiment logs 7 -f", define_experiment_logs},
               {{"watch"},
                "watch an experiment in the terminal: its curves and its trials, live",
                "det experiment watch 7\ndet experiment watch 7 --metric accuracy",
                define_watch},
               {{"wait"}, "wait for experiment", "det experiment wait 7", define_wait},
               {{"pareto"},
                "list validations that no other one beats in all of several metrics",
                "det experiment pareto 7 --metric loss --metric accuracy:max",
                define_pareto},
               {{"pause"}, "pause experiment", "", define_pause},
               {{"activate", "unpause"}, "activate experiment", "", define_activate},
               {{"cancel"}, "cancel experiment", "", define_cancel},
               {{"kill"}, "kill experiment", "", define_kill},
               {{"continue"},
                "go on with a finished experiment, under its own id",
                "det experiment continue 7 --config searcher.max_length.batches=2000\n"
                "det experiment continue 7 --config-file longer.yaml -f\n"
                "det experiment continue 8 --config max_restarts=3",
                define_continue},
               {{"delete-tb-files"},
                "delete the TensorBoard files of experiment",
                "det experiment delete-tb-files 7",
                define_delete_tb_files},
               {{"archive"}, "archive experiment", "", define_archive},
               {{"unarchive"}, "unarchive experiment", "", define_unarchive},
               {{"delete"}, "delete experiment", "det experiment delete 7 --yes", define_delete},
               {{"move"},
                "move experiment to another project",
                "det experiment move 7 vision detectors",
                define_move},
               {{"config"}, "show configuration of experiment", "det experiment config 7", define_config},
               {{"download-model-def"},
                "download model definition",
                "det experiment download-model-def 7 --output-dir /tmp",
                define_download_model_def},
               {{"download"},
                "download checkpoints of experiment",
                "det experiment download 7 --top-n 3",
                define_download},
               {{"list-trials", "lt"},
                "list trials of experiment",
                "det experiment list-trials 7",
                define_list_trials},
               {{"list-checkpoints", "lc"},
                "list checkpoints of experiment",
                "det experiment list-checkpoints 7 --best 3",
                define_list_checkpoints},
               std::move(label),
               std::move(set)},
          .default_child = "list"};
}

}  // namespace det::cli
