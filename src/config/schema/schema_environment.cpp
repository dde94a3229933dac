#include "det/base/text.h"
#include "det/config/merge.h"
#include "det/config/schema/schema.h"
#include "det/config/values/memory_size.h"

namespace det::config::schema {

namespace {

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

// "/dev/x:/dev/y[:rwm]", as in docker run --device.
bool is_device(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || !is_absolute(parts[0]) || !is_absolute(parts[1])) return false;
  return parts.size() == 2 || (!parts[2].empty() && parts[2].find_first_not_of("rwm") == std::string::npos);
}

Field host_path() {
  return field("host_path", string().matches("^/", is_absolute).says("host_path must be an absolute path"),
               "A path on the agent's machine.")
      .required();
}

Field text(const char* name, const char* about) {
  return field(name, string(), about);
}

// The same for all device types, or apart; `gpu` is the older word for cuda.
std::vector<Field> for_each_device(const Type& type) {
  return {field("cpu", type, "For CPU slots."), field("cuda", type, "For NVIDIA GPU slots."),
          field("gpu", type, "The old name of cuda."), field("rocm", type, "For AMD GPU slots.")};
}

Type capabilities() {
  return list(string().at_least(1));
}

}  // namespace

Type resources() {
  auto memory = any_of({integer().at_least(0),
                        string()
                            .matches("^[0-9]+(\\.[0-9]+)? ?([kKmMgGtTpP]([iI]?[bB])?|[bB])?$",
                                     [](std::string_view text) { return memory_size(text).has_value(); })
                            .says("must be a valid memory size")})
                    .says("must be a valid memory size");
  auto range = section(
      {field("min", integer().at_least(1), "The fewest slots that a trial runs on.").required(),
       field("max", integer().at_least(1), "The most slots that a trial runs on.").required(),
       field("batch", one_of({"global", "per_slot"}),
             "What stays when the number of slots changes: global_batch_size (only numbers of slots that "
             "divide it are used), or the batch size of a slot (global_batch_size is that of max slots).")
           .otherwise("global"),
       field("resize_after", integer().at_least(0),
             "Seconds for which a run keeps its slots before it may get more or fewer.")
           .otherwise(60)});
  return section(
      {field("slots_per_trial", any_of({integer().at_least(0), std::move(range)}),
             "GPUs (or CPUs) per trial; 0 for none; {min: 2, max: 8} for a number that may change.")
           .otherwise(1),
       field("max_slots", integer().at_least(0), "The most slots that the experiment uses at once.")
           .otherwise(nullptr),
       field("weight", number().above(0), "The experiment's weight in a pool with fair-share scheduling.")
           .otherwise(1),
       field("priority",
             integer().at_least(1).at_most(99).says(
                 "scheduling priority must be greater than 0 and less than 100"),
             "1 to 99; a smaller number means more important.")
           .otherwise(nullptr),
       field("resource_pool", string(), "The resource pool; if empty, the default pool.").otherwise(""),
       field("is_single_node", boolean(), "Place all slots of a trial on one machine.").otherwise(nullptr),
       field("shm_size", std::move(memory), "Shared memory: bytes, or a size such as 4.5 G.")
           .otherwise(nullptr),
       field("devices", devices(), "Devices of the machine to make available.")
           .otherwise(json::array{})
           .merged_by(merge_by_container_path),
       field("native_parallel", boolean(), "Use the framework's own parallelism on one machine.")
           .otherwise(false),
       field("agent_label", string(),
             "Run only on agents with this label; if empty, only on agents without one.")
           .otherwise(""),
       field("agent_attributes", map(string().at_least(1)),
             "Run only on agents with all of these attributes, as name: value.")});
}

Type bind_mounts() {
  return list(section(
      {host_path(),
       field("container_path",
             string()
                 .at_least(1)
                 .matches("^(?!\\.$)", [](std::string_view path) { return path != "."; })
                 .says("container_path must not be \".\""),
             "The path that the trial sees; relative to its working directory.")
           .required(),
       field("read_only", boolean(), "Whether the mount is read-only (the trial may not write to it).")
           .otherwise(false),
       field("propagation", one_of({"private", "rprivate", "shared", "rshared", "slave", "rslave"}),
             "The propagation mode of the mount.")
           .otherwise("rprivate")}));
}

Type devices() {
  const auto* rule =
      "is neither a list of --device strings nor a map containing host_path, container_path, and mode";
  return list(
      any_of(
          {string().matches("^/[^:]*:/[^:]*(:[rwm]+)?$", is_device).says(rule),
           section({host_path(),
                    field("container_path", string().at_least(1), "The path that the trial sees.").required(),
                    field("mode",
                          string()
                              .matches("^[rwm]+$",
                                       [](std::string_view mode) {
                                         return !mode.empty() &&
                                                mode.find_first_not_of("rwm") == std::string_view::npos;
                                       })
                              .says("mode must consist of the letters r, w and m"),
                          "The trial's access: r (read), w (write), m (mknod).")
                        .otherwise("mrw")})})
          .says(rule));
}

Type environment() {
  auto image = any_of({string().at_least(1), section(for_each_device(string().at_least(1)))})
                   .says("is neither a string nor a map of cpu, cuda, or rocm to strings");
  auto variables =
      any_of({list(string()), section(for_each_device(list(string())))})
          .says("is neither a list of strings nor a map of cpu, cuda, or rocm to lists of strings");
  auto proxy_port = section(
      {field("proxy_port", integer().at_least(1).at_most(65535), "The port number.").required(),
       field("proxy_tcp", boolean(), "Whether the proxy forwards plain TCP instead of HTTP.")
           .otherwise(false),
       field("unauthenticated", boolean(), "Whether the port needs no authentication.").otherwise(false),
       field("default_service_id", boolean(),
             "Whether this port is the default one of the task's proxy address.")
           .otherwise(false)});
  auto registry =
      section({text("username", "Who."), text("password", "The password.").secret(),
               text("auth", "user:password in base64.").secret(),
               text("email", "Ignored by most registries."), text("serveraddress", "The registry's address."),
               text("identitytoken", "An identity token, instead of a password.").secret(),
               text("registrytoken", "A registry token, instead of a password.").secret()});
  return section(
      {field("image", std::move(image), "The container image, on clusters where trials run in containers.")
           .otherwise(nullptr)
           .merged_by(merge_image),
       field("environment_variables", std::move(variables), "NAME=VALUE, or NAME alone for an empty value.")
           .otherwise(json::array{})
           .merged_by(merge_environment_variables),
       field("ports", map(integer().at_least(1).at_most(65535)), "More ports to expose, by name.")
           .otherwise(json::object{}),
       field("proxy_ports", list(std::move(proxy_port)), "Ports that the master's proxy serves.")
           .otherwise(json::array{})
           .merged_by(merge_by_proxy_port),
       field("registry_auth", std::move(registry), "Credentials for the image's registry.")
           .otherwise(nullptr),
       field("force_pull_image", boolean(), "Whether to pull the image at every start.").otherwise(false),
       field("add_capabilities", capabilities(), "Linux capabilities to add to containers.")
           .otherwise(json::array{}),
       field("drop_capabilities", capabilities(), "Linux capabilities to drop from containers.")
           .otherwise(json::array{}),
       field("pod_spec", map(any()), "Merged into the pod specification, on Kubernetes.")
           .otherwise(nullptr)
           .merged_by(merge_pod_spec),
       field("slurm", map(any()), "The old place of slurm."),
       field("pbs", map(any()), "The old place of pbs.")});
}

Type log_policies() {
  auto action = any_of({one_of({"cancel_retries", "exclude_node"})
                            .says("must be one of \"cancel_retries\" or \"exclude_node\""),
                        section({field("type",
                                       one_of({"cancel_retries", "exclude_node"})
                                           .says("must be one of \"cancel_retries\" or \"exclude_node\""),
                                       "The old form: an action as a map.")
                                     .required()})})
                    .says("must be one of \"cancel_retries\" or \"exclude_node\"");
  return list(section(
      {field("name", string().at_least(1), "Shown next to trials whose log matched the policy."),
       field("pattern", string(), "A regular expression that is matched against each line of a trial's log."),
       field("action", std::move(action), "What to do when a line matches.")}));
}

}  // namespace det::config::schema
