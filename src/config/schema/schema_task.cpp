#include <map>

#include "det/config/merge.h"
#include "det/config/schema/schema.h"
#include "det/config/values/duration.h"

namespace det::config::schema {

namespace {

Type task_resources(bool slots_fixed) {
  auto slots = integer().at_least(0).says("resources.slots must be >= 0");
  if (slots_fixed) slots = integer().at_least(0).at_most(0).says("a TensorBoard uses no slots");
  return section(
      {field("slots", std::move(slots), "GPUs (or CPUs) of the task, all on one agent; 0 for none.")
           .otherwise(slots_fixed ? 0 : 1),
       field("priority",
             integer().at_least(1).at_most(99).says(
                 "scheduling priority must be greater than 0 and less than 100"),
             "1 to 99; a smaller number means more important.")
           .otherwise(nullptr),
       field("resource_pool", string(), "The resource pool; if empty, the default pool.").otherwise(""),
       field("weight", number().above(0), "Accepted, but only experiments use it.").otherwise(1),
       field("shm_size", any_of({integer(), string()}), "Accepted, but there is no limit.")
           .otherwise(nullptr),
       field("devices", devices(), "Devices of the machine to pass to a container.")
           .otherwise(json::array{})
           .merged_by(merge_by_container_path)});
}

std::vector<Field> common(bool slots_fixed) {
  return {
      field("description", string(), "A description, shown in lists."),
      field("resources", task_resources(slots_fixed), "The resources of the task.").otherwise(json::object{}),
      field("environment", environment(), "The environment of the task's processes.")
          .otherwise(json::object{}),
      field("bind_mounts", bind_mounts(), "Directories of the machine to make available to the task.")
          .otherwise(json::array{})
          .merged_by(merge_by_container_path),
      field("work_dir",
            string()
                .matches("^/", [](std::string_view path) { return path.starts_with('/'); })
                .says("work_dir must be an absolute path on the agent's machine"),
            "The directory in which the task's process begins; if absent, that of its files.")
          .otherwise(nullptr),
      field("idle_timeout",
            any_of({integer().at_least(0), string()
                                               .matches(kDurationPattern, is_duration)
                                               .says("must be a duration such as 30s, 1h or 1m30s")})
                .says("must be a duration such as 30s, 1h or 1m30s"),
            "How long the task may be idle before it is ended.")
          .otherwise(nullptr),
      field("workspace", string(), "The workspace of the task.").otherwise(""),
      field("debug", boolean(), "Log debug messages.").otherwise(false),
      field("slurm", map(any()), "For Slurm.").otherwise(json::object{}),
      field("pbs", map(any()), "For PBS.").otherwise(json::object{})};
}

Type make(std::string_view kind) {
  auto fields = common(kind == "tensorboard");
  if (kind == "command" || kind == "generic")
    fields.push_back(
        field("entrypoint",
              any_of({string(), list(string())}).says("entrypoint must be a string or a list of strings"),
              "The program and its arguments; a single string is run by the shell."));
  if (kind == "generic") {
    fields.push_back(
        field("pausable", boolean(), "Whether the task can be paused, and preempted by more important ones.")
            .otherwise(true));
    fields.push_back(field("preemption_timeout", integer().at_least(0),
                           "Seconds to end after a preemption before the task is killed.")
                         .otherwise(nullptr));
  }
  if (kind == "notebook")
    fields.push_back(field("notebook_idle_type",
                           one_of({"kernels_or_terminals", "kernel_connections", "activity"})
                               .says("invalid notebook idle type"),
                           "What counts as activity.")
                         .otherwise("kernels_or_terminals"));
  if (kind == "tensorboard")
    fields.push_back(field("tensorboard_args", list(string()), "More arguments for tensorboard.")
                         .otherwise(json::array{}));
  return section(std::move(fields));
}

}  // namespace

const Type& task(std::string_view kind) {
  static const std::map<std::string, Type, std::less<>> kTypes = {{"command", make("command")},
                                                                  {"shell", make("shell")},
                                                                  {"notebook", make("notebook")},
                                                                  {"tensorboard", make("tensorboard")},
                                                                  {"generic", make("generic")}};
  return kTypes.find(kind)->second;
}

}  // namespace det::config::schema
