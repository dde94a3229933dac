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
      {field("aggregation_frequency", integer().at_least(1), "Batches of one optimizer step.").otherwise(1),
       field("average_aggregated_gradients", boolean(), "Divide gradients by aggregation_frequency.")
           .otherwise(true),
       field("average_training_metrics", boolean(), "Average training metrics over the slots.")
           .otherwise(true)
           .otherwise_in_steps(false),
       field("gradient_compression", boolean(), "Exchange gradients in 16 bits.").otherwise(false),
       field("mixed_precision",
             one_of({"O0", "O1", "O2", "O3"})
                 .says("mixed_precision should be a string starting with an uppercase letter 'O'"),
             "The level of mixed precision.")
           .otherwise("O0"),
       field("tensor_fusion_threshold", integer().at_least(0), "In MB.").otherwise(64),
       field("tensor_fusion_cycle_time", integer().at_least(0), "In milliseconds.")
           .otherwise(1)
           .otherwise_in_steps(5),
       field("auto_tune_tensor_fusion", boolean(), "Find good values for the two by trying.")
           .otherwise(false),
       field("grad_updates_size_file", string(), "Sizes of sparse updates.").otherwise(nullptr)});
}

Type slurm() {
  return section(
      {field("slots_per_node", integer().at_least(1), "Slots of a machine."),
       field("gpu_type", string(), "The GPU asked for."),
       field("sbatch_args", list(string()), "Further arguments of sbatch.").otherwise(json::array{})});
}

Type pbs() {
  return section(
      {field("slots_per_node", integer().at_least(1), "Slots of a machine."),
       field("pbsbatch_args", list(string()), "Further arguments of qsub.").otherwise(json::array{})});
}

Type integrations() {
  return section({field("pachyderm", map(any()), "Where the data came from."),
                  field("webhooks",
                        section({field("webhook_id", list(integer()), "Webhooks to call, by id."),
                                 field("webhook_name", list(string()), "Webhooks to call, by name."),
                                 field("exclude", boolean(), "Call none at all.").otherwise(false)}),
                        "Which webhooks hear of the experiment.")});
}

Type internal() {
  return section(
      {field("native",
             section({field("command", list(string()), "The script that defines the experiment.").required(),
                      field("framework", string(), "Its framework.")}),
             "Set by the native API.")});
}

std::vector<Field> identity() {
  return {field("name", string(), "What the experiment is called."),
          field("description", string(), "What it is about.").otherwise(nullptr),
          field("labels", any_of({list(string()), map(boolean())}).says("labels must be a list of strings"),
                "Words to find it by.")
              .otherwise(json::array{})
              .merged_by(merge_labels),
          field("workspace", string(), "The workspace of the project.").otherwise(""),
          field("project", string(), "The project that the experiment belongs to.").otherwise(""),
          field("data", map(any()), "Passed to the trial as it is.")
              .otherwise(json::object{})
              .merged_by(merge_maps),
          field("entrypoint", entrypoint(), "\"module:Class\" of a trial, or a command.").otherwise(nullptr),
          field("hyperparameters", map(reference(hyperparameter)), "Values for the trial, or what to search.")
              .otherwise(json::object{})
              .merged_by(merge_hyperparameters)};
}

std::vector<Field> training() {
  return {
      field("searcher", searcher(), "How hyperparameters are chosen and how long trials train.").required(),
      period("min_validation_period", "Validate at least this often."),
      period("min_checkpoint_period", "Checkpoint at least this often."),
      field("perform_initial_validation", boolean(), "Validate before the first batch.").otherwise(false),
      field("records_per_epoch", integer().at_least(0), "Records of one pass over the data.").otherwise(0),
      field("batches_per_step", integer().at_least(1), "The older name of scheduling_unit."),
      field("scheduling_unit", integer().at_least(1), "Batches between two looks at what to do next.")
          .otherwise(100),
      field("max_restarts", integer().at_least(0), "How often a failed trial is started again.").otherwise(5),
      field("optimizations", optimizations(), "How gradients are computed and exchanged.")
          .otherwise(json::object{}),
      field("reproducibility",
            section({field("experiment_seed", integer().at_least(0).at_most(4294967295.0),
                           "What all chance of the experiment derives from.")}),
            "How to run it again.")
          .otherwise(json::object{}),
      field(
          "profiling",
          section(
              {field("enabled", boolean(), "Whether to profile.").otherwise(false),
               field("begin_on_batch", integer().at_least(0), "The first batch.").otherwise(0),
               field("end_after_batch", integer().at_least(0), "The last batch.").otherwise(nullptr),
               field("sync_timings", boolean(), "Wait for the device at each measurement.").otherwise(true)}),
          "What to measure.")
          .otherwise(json::object{})};
}

std::vector<Field> running() {
  return {
      field("resources", resources(), "What a trial gets to run on.").otherwise(json::object{}),
      field("checkpoint_storage", checkpoint_storage(), "Where checkpoints are kept, and which.").required(),
      field("checkpoint_policy",
            one_of({"best", "all", "none"})
                .says("checkpoint_policy must be one of \"best\", \"all\" or \"none\""),
            "Which validations are followed by a checkpoint.")
          .otherwise("best"),
      field("environment", environment(), "What processes of a trial see.").otherwise(json::object{}),
      field("bind_mounts", bind_mounts(), "Directories of the machine that a trial sees.")
          .otherwise(json::array{})
          .merged_by(merge_by_container_path),
      field("debug", boolean(), "Verbose logs.").otherwise(false),
      field("log_policies", log_policies(), "What to do about lines of a trial's log.")
          .otherwise(json::array{})
          .merged_by(merge_log_policies),
      field("retention_policy",
            section({field("log_retention_days", integer().at_least(-1).at_most(32767),
                           "-1: for ever, 0: until logs are deleted next.")}),
            "For how many days after a trial's end its log is kept.")
          .otherwise(nullptr),
      field("preemption_timeout", integer().at_least(0),
            "Seconds that a trial has to checkpoint before it is killed.")
          .otherwise(nullptr),
      field("slurm", slurm(), "For Slurm.").otherwise(json::object{}),
      field("pbs", pbs(), "For PBS.").otherwise(json::object{}),
      field("integrations", integrations(), "What else hears of the experiment.").otherwise(nullptr)};
}

std::vector<Field> old() {
  return {
      field("tensorboard_storage", any(), "Ignored."),
      field("data_layer", any(), "Where cached data sets are kept."),
      field("security",
            section({field("kerberos", section({field("config_file", string(), "Its file.")}), "Not used.")}),
            "Not used."),
      field("internal", internal(), "Set by the native API."), field("version", integer(), "Only 0.")};
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
