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
               "A path of the machine.")
      .required();
}

Field text(const char* name, const char* about) {
  return field(name, string(), about);
}

// The same for all device types, or apart; `gpu` is the older word for cuda.
std::vector<Field> for_each_device(const Type& type) {
  return {field("cpu", type, "For slots that are CPUs."),
          field("cuda", type, "For slots that are NVIDIA GPUs."),
          field("gpu", type, "The older name of cuda."), field("rocm", type, "For slots that are AMD GPUs.")};
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
  return section(
      {field("slots_per_trial", integer().at_least(0), "GPUs (or CPUs) of one trial; 0: none.").otherwise(1),
       field("max_slots", integer().at_least(0), "The most slots that the experiment uses at a time.")
           .otherwise(nullptr),
       field("weight", number().above(0), "The experiment's share of a pool that is shared fairly.")
           .otherwise(1),
       field("priority",
             integer().at_least(1).at_most(99).says(
                 "scheduling priority must be greater than 0 and less than 100"),
             "Smaller goes first.")
           .otherwise(nullptr),
       field("resource_pool", string(), "Where to run; empty: the default pool.").otherwise(""),
       field("is_single_node", boolean(), "All slots of a trial on one machine.").otherwise(nullptr),
       field("shm_size", std::move(memory), "Shared memory, in bytes or such as 4.5 G.").otherwise(nullptr),
       field("devices", devices(), "Devices of the machine to pass on.")
           .otherwise(json::array{})
           .merged_by(merge_by_container_path),
       field("native_parallel", boolean(), "Use the framework's own parallelism on one machine.")
           .otherwise(false),
       field("agent_label", string(), "Run on agents with this label only; empty: on those without one.")
           .otherwise(""),
       field("agent_attributes", map(string().at_least(1)),
             "Run only on agents that have all of these attributes, by name, with these values.")});
}

Type bind_mounts() {
  return list(
      section({host_path(),
               field("container_path",
                     string()
                         .at_least(1)
                         .matches("^(?!\\.$)", [](std::string_view path) { return path != "."; })
                         .says("container_path must not be \".\""),
                     "Where the trial sees it; relative to its working directory.")
                   .required(),
               field("read_only", boolean(), "Whether the trial may write to it.").otherwise(false),
               field("propagation", one_of({"private", "rprivate", "shared", "rshared", "slave", "rslave"}),
                     "How the mount propagates.")
                   .otherwise("rprivate")}));
}

Type devices() {
  const auto* rule =
      "is neither a list of --device strings nor a map containing host_path, container_path, and mode";
  return list(
      any_of({string().matches("^/[^:]*:/[^:]*(:[rwm]+)?$", is_device).says(rule),
              section({host_path(),
                       field("container_path", string().at_least(1), "Where the trial sees it.").required(),
                       field("mode",
                             string()
                                 .matches("^[rwm]+$",
                                          [](std::string_view mode) {
                                            return !mode.empty() &&
                                                   mode.find_first_not_of("rwm") == std::string_view::npos;
                                          })
                                 .says("mode must be made of the letters r, w and m"),
                             "What the trial may do with it.")
                           .otherwise("mrw")})})
          .says(rule));
}

Type environment() {
  auto image = any_of({string().at_least(1), section(for_each_device(string().at_least(1)))})
                   .says("is neither a string nor a map of cpu, cuda, or rocm to strings");
  auto variables =
      any_of({list(string()), section(for_each_device(list(string())))})
          .says("is neither a list of strings nor a map of cpu, cuda, or rocm to lists of strings");
  auto proxy_port =
      section({field("proxy_port", integer().at_least(1).at_most(65535), "The port.").required(),
               field("proxy_tcp", boolean(), "Whether it is plain TCP.").otherwise(false),
               field("unauthenticated", boolean(), "Whether it is open to everyone.").otherwise(false),
               field("default_service_id", boolean(), "Whether the task's own address leads to it.")
                   .otherwise(false)});
  auto registry =
      section({text("username", "Who."), text("password", "The password.").secret(),
               text("auth", "Both, in base64.").secret(), text("email", "Ignored by most registries."),
               text("serveraddress", "The registry."), text("identitytoken", "A token instead.").secret(),
               text("registrytoken", "A token instead.").secret()});
  return section(
      {field("image", std::move(image), "The container image, where trials run in containers.")
           .otherwise(nullptr)
           .merged_by(merge_image),
       field("environment_variables", std::move(variables), "NAME=VALUE, or NAME alone for an empty one.")
           .otherwise(json::array{})
           .merged_by(merge_environment_variables),
       field("ports", map(integer().at_least(1).at_most(65535)), "Further ports to expose, by name.")
           .otherwise(json::object{}),
       field("proxy_ports", list(std::move(proxy_port)), "Ports that the master's proxy serves.")
           .otherwise(json::array{})
           .merged_by(merge_by_proxy_port),
       field("registry_auth", std::move(registry), "How to log in to the image's registry.")
           .otherwise(nullptr),
       field("force_pull_image", boolean(), "Whether to ask for the image at each start.").otherwise(false),
       field("add_capabilities", capabilities(), "Capabilities that containers get.")
           .otherwise(json::array{}),
       field("drop_capabilities", capabilities(), "Capabilities that containers lose.")
           .otherwise(json::array{}),
       field("pod_spec", map(any()), "Merged into the pod, on Kubernetes.")
           .otherwise(nullptr)
           .merged_by(merge_pod_spec),
       field("slurm", map(any()), "The older place of slurm."),
       field("pbs", map(any()), "The older place of pbs.")});
}

Type log_policies() {
  auto action = any_of({one_of({"cancel_retries", "exclude_node"})
                            .says("must be one of \"cancel_retries\" or \"exclude_node\""),
                        section({field("type",
                                       one_of({"cancel_retries", "exclude_node"})
                                           .says("must be one of \"cancel_retries\" or \"exclude_node\""),
                                       "The older form.")
                                     .required()})})
                    .says("must be one of \"cancel_retries\" or \"exclude_node\"");
  return list(section({field("name", string().at_least(1), "Shown with trials that the policy has matched."),
                       field("pattern", string(), "A regular expression for lines of a trial's log."),
                       field("action", std::move(action), "What to do on a match.")}));
}

}  // namespace det::config::schema
