#include <map>

#include "det/config/merge.h"
#include "det/config/schema/schema.h"
#include "det/config/values/duration.h"

namespace det::config::schema {

namespace {

Type task_resources(bool slots_fixed) {
  auto slots = integer().at_least(0).says("resources.slots must be >= 0");
  if (slots_fixed) slots = integer().at_least(0).at_most(0).says("a tensorboard takes no slots");
  return section(
      {field("slots", std::move(slots), "GPUs (or CPUs) of the task, all on one agent; 0: none.")
           .otherwise(slots_fixed ? 0 : 1),
       field("priority",
             integer().at_least(1).at_most(99).says(
                 "scheduling priority must be greater than 0 and less than 100"),
             "Smaller goes first.")
           .otherwise(nullptr),
       field("resource_pool", string(), "Where to run; empty: the default pool.").otherwise(""),
       field("weight", number().above(0), "Accepted, and used for experiments only.").otherwise(1),
       field("shm_size", any_of({integer(), string()}), "Accepted; there is no limit.").otherwise(nullptr),
       field("devices", devices(), "Devices of the machine to pass on to a container.")
           .otherwise(json::array{})
           .merged_by(merge_by_container_path)});
}

std::vector<Field> common(bool slots_fixed) {
  return {
      field("description", string(), "What it is, for lists."),
      field("resources", task_resources(slots_fixed), "What it gets to run on.").otherwise(json::object{}),
      field("environment", environment(), "What its processes see.").otherwise(json::object{}),
      field("bind_mounts", bind_mounts(), "Not supported: there are no containers.")
          .otherwise(json::array{})
          .merged_by(merge_by_container_path),
      field("work_dir", string(), "Not supported: it works in the directory of its files.")
          .otherwise(nullptr),
      field("idle_timeout",
            any_of({integer().at_least(0), string()
                                               .matches(kDurationPattern, is_duration)
                                               .says("must be a duration such as 30s, 1h or 1m30s")})
                .says("must be a duration such as 30s, 1h or 1m30s"),
            "It is ended when nobody used it for so long.")
          .otherwise(nullptr),
      field("workspace", string(), "The workspace that it belongs to.").otherwise(""),
      field("debug", boolean(), "Verbose logs.").otherwise(false),
      field("slurm", map(any()), "For Slurm.").otherwise(json::object{}),
      field("pbs", map(any()), "For PBS.").otherwise(json::object{})};
}

Type make(std::string_view kind) {
  auto fields = common(kind == "tensorboard");
  if (kind == "command")
    fields.push_back(
        field("entrypoint",
              any_of({string(), list(string())}).says("entrypoint must be a string or a list of strings"),
              "The program and its arguments; one text alone is for the shell."));
  if (kind == "notebook")
    fields.push_back(field("notebook_idle_type",
                           one_of({"kernels_or_terminals", "kernel_connections", "activity"})
                               .says("invalid notebook idle type"),
                           "What counts as use of it.")
                         .otherwise("kernels_or_terminals"));
  if (kind == "tensorboard")
    fields.push_back(field("tensorboard_args", list(string()), "Further arguments of tensorboard.")
                         .otherwise(json::array{}));
  return section(std::move(fields));
}

}  // namespace

const Type& task(std::string_view kind) {
  static const std::map<std::string, Type, std::less<>> kTypes = {{"command", make("command")},
                                                                  {"shell", make("shell")},
                                                                  {"notebook", make("notebook")},
                                                                  {"tensorboard", make("tensorboard")}};
  return kTypes.find(kind)->second;
}

}  // namespace det::config::schema
