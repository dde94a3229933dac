#include "det/config/merge.h"
#include "det/config/schema/schema.h"

namespace det::config::schema {

namespace {

// A number of steps (older form) or a length, where {batches: 0} is off.
Field period(const char* name, const char* about) {
  return field(
             name,
             any_of({integer().at_least(1), length(0)})
                 .says(
                     "a length object must have one attribute named \"batches\", \"records\", or \"epochs\""),
             about)
      .otherwise(json::object{{"batches", 0}});
}

// The words of a shell command or argument list. Which text is a trial class is
// a rule between fields.
Type entrypoint() {
  return any_of({string(), list(string())}).says("entrypoint must be a string or a list of strings");
}

Type optimizations() {
  return section(
      {field("aggregation_frequency", integer().at_least(1), "Batches per optimizer step.").otherwise(1),
       field("average_aggregated_gradients", boolean(), "Divide the gradients by aggregation_frequency.")
           .otherwise(true),
       field("average_training_metrics", boolean(), "Average training metrics over all slots.")
           .otherwise(true)
           .otherwise_in_steps(false),
       field("gradient_compression", boolean(), "Compress gradients to 16 bits for communication.")
           .otherwise(false),
       field("mixed_precision",
             one_of({"O0", "O1", "O2", "O3"})
                 .says("mixed_precision should be a string starting with an uppercase letter 'O'"),
             "The optimization level of mixed precision.")
           .otherwise("O0"),
       field("tensor_fusion_threshold", integer().at_least(0), "In MB.").otherwise(64),
       field("tensor_fusion_cycle_time", integer().at_least(0), "In milliseconds.")
           .otherwise(1)
           .otherwise_in_steps(5),
       field("auto_tune_tensor_fusion", boolean(), "Tune the two above automatically.").otherwise(false),
       field("grad_updates_size_file", string(), "Sizes of sparse gradients.").otherwise(nullptr)});
}

Type slurm() {
  return section(
      {field("slots_per_node", integer().at_least(1), "Slots per machine."),
       field("gpu_type", string(), "The kind of GPU to request."),
       field("sbatch_args", list(string()), "More arguments for sbatch.").otherwise(json::array{})});
}

Type pbs() {
  return section(
      {field("slots_per_node", integer().at_least(1), "Slots per machine."),
       field("pbsbatch_args", list(string()), "More arguments for qsub.").otherwise(json::array{})});
}

Type integrations() {
  return section(
      {field("pachyderm", map(any()), "Where the data came from."),
       field("webhooks",
             section({field("webhook_id", list(integer()), "Webhooks to call, by ID."),
                      field("webhook_name", list(string()), "Webhooks to call, by name."),
                      field("exclude", boolean(), "Call no webhooks for this experiment.").otherwise(false)}),
             "Which webhooks to call for the experiment.")});
}

Type internal() {
  return section(
      {field("native",
             section({field("command", list(string()), "The script that defines the experiment.").required(),
                      field("framework", string(), "Its framework.")}),
             "Set by the old native API.")});
}

std::vector<Field> identity() {
  return {field("name", string(), "The name of the experiment."),
          field("description", string(), "A longer description.").otherwise(nullptr),
          field("labels", any_of({list(string()), map(boolean())}).says("labels must be a list of strings"),
                "Labels to find the experiment by.")
              .otherwise(json::array{})
              .merged_by(merge_labels),
          field("workspace", string(), "The workspace that holds the project.").otherwise(""),
          field("project", string(), "The project that the experiment belongs to.").otherwise(""),
          field("data", map(any()), "Free-form data, passed to the trial unchanged.")
              .otherwise(json::object{})
              .merged_by(merge_maps),
          field("entrypoint", entrypoint(), "\"module:Class\" of a trial, or a command.").otherwise(nullptr),
          field("hyperparameters", map(reference(hyperparameter)),
                "A value or a search range for each hyperparameter.")
              .otherwise(json::object{})
              .merged_by(merge_hyperparameters)};
}

std::vector<Field> training() {
  return {
      field("searcher", searcher(), "How hyperparameters are chosen and how long trials train.").required(),
      period("min_validation_period", "The longest training between two validations."),
      period("min_checkpoint_period", "The longest training between two checkpoints."),
      field("perform_initial_validation", boolean(), "Validate before the first batch is trained.")
          .otherwise(false),
      field("records_per_epoch", integer().at_least(0), "Records in one epoch.").otherwise(0),
      field("batches_per_step", integer().at_least(1), "The old name of scheduling_unit."),
      field("scheduling_unit", integer().at_least(1),
            "Batches between two checks for preemption and reports.")
          .otherwise(100),
      field("max_restarts", integer().at_least(0), "How often a failed trial is restarted.").otherwise(5),
      field("optimizations", optimizations(), "How gradients are computed and communicated.")
          .otherwise(json::object{}),
      field("reproducibility",
            section({field("experiment_seed", integer().at_least(0).at_most(4294967295.0),
                           "The seed for all random choices of the experiment.")}),
            "Settings for reproducing the experiment.")
          .otherwise(json::object{}),
      field(
          "profiling",
          section({field("enabled", boolean(), "Whether to profile.").otherwise(false),
                   field("begin_on_batch", integer().at_least(0), "The first batch to profile.").otherwise(0),
                   field("end_after_batch", integer().at_least(0), "The last batch to profile.")
                       .otherwise(nullptr),
                   field("sync_timings", boolean(), "Synchronize with the device at every measurement.")
                       .otherwise(true)}),
          "Settings of the profiler.")
          .otherwise(json::object{})};
}

std::vector<Field> running() {
  return {
      field("resources", resources(), "The resources of a trial.").otherwise(json::object{}),
      field("checkpoint_storage", checkpoint_storage(), "Where checkpoints are stored, and which are kept.")
          .required(),
      field("checkpoint_policy",
            one_of({"best", "all", "none"})
                .says("checkpoint_policy must be one of \"best\", \"all\" or \"none\""),
            "Which validations are followed by a checkpoint: the best, all or none.")
          .otherwise("best"),
      field("environment", environment(), "The environment of the trial's processes.")
          .otherwise(json::object{}),
      field("bind_mounts", bind_mounts(), "Directories of the machine to make available to the trial.")
          .otherwise(json::array{})
          .merged_by(merge_by_container_path),
      field("debug", boolean(), "Log debug messages.").otherwise(false),
      field("reuse", boolean(), "Whether a process may run several trials, one after the other."),
      field("log_policies", log_policies(), "Actions to take when a line of a trial's log matches a pattern.")
          .otherwise(json::array{})
          .merged_by(merge_log_policies),
      field("retention_policy",
            section({field("log_retention_days", integer().at_least(-1).at_most(32767),
                           "Days; -1 keeps logs forever, 0 deletes them at the next cleanup.")}),
            "How long the log of a trial is kept after the trial ends.")
          .otherwise(nullptr),
      field("preemption_timeout", integer().at_least(0),
            "Seconds to checkpoint after a preemption before the trial is killed.")
          .otherwise(nullptr),
      field("slurm", slurm(), "For Slurm.").otherwise(json::object{}),
      field("pbs", pbs(), "For PBS.").otherwise(json::object{}),
      field("integrations", integrations(), "Webhooks and other integrations to notify.").otherwise(nullptr)};
}

std::vector<Field> old() {
  return {field("tensorboard_storage", any(), "Ignored."),
          field("data_layer", any(), "Where cached datasets are kept."),
          field("security",
                section({field(
                    "kerberos",
                    section({field("config_file", string(), "The entrypoint script of the old native API.")}),
                    "Not used.")}),
                "Not used."),
          field("internal", internal(), "Set by the old native API."),
          field("version", integer(), "Only 0.")};
}

}  // namespace

const Type& experiment() {
  static const auto type = [] {
    std::vector<Field> fields;
    for (auto part : {identity(), training(), running(), old()})
      fields.insert(fields.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    return section(std::move(fields));
  }();
  return type;
}

}  // namespace det::config::schema
