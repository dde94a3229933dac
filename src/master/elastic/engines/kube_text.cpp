#include "det/master/elastic/engines/kube_text.h"

#include <algorithm>
#include <map>

#include "det/base/text.h"
#include "det/config/yaml/yaml.h"

namespace det::master {
namespace {

/// For so long after the time at which a deleted pod should have ended, its node may be about to say so.
constexpr std::int64_t kConfirmation = 30;

const json::value* at(const json::value* value, std::initializer_list<std::string_view> path) {
  for (const auto name : path) {
    if (value == nullptr || !value->is_object()) return nullptr;
    value = value->get_object().if_contains(name);
  }
  return value;
}

std::string text_at(const json::value* value, std::initializer_list<std::string_view> path) {
  const auto* found = at(value, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::array& list_at(const json::value* value, std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const auto* found = at(value, path);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

/// The member `inner` of the element of a list of a kubeconfig that has this name.
const json::value* named(const json::value& config, std::string_view list, const std::string& name,
                         std::string_view inner) {
  for (const auto& element : list_at(&config, {list}))
    if (text_at(&element, {"name"}) == name) return at(&element, {inner});
  return nullptr;
}

json::object labels(const EngineRequest& request) {
  return {{"app.kubernetes.io/managed-by", "determined"},
          {"determined-cluster", kube_cluster_label(request.name)},
          {"determined-allotment", request.name}};
}

void merge(json::object& into, const json::object& from) {
  for (const auto& member : from) {
    auto& mine = into[member.key()];
    if (mine.is_object() && member.value().is_object())
      merge(mine.get_object(), member.value().get_object());
    else if (mine.is_array() && member.value().is_array() && member.key() == "env")
      for (const auto& one : member.value().get_array()) mine.get_array().push_back(one);
    else
      mine = member.value();
  }
}

std::string sentence(std::string reason, const std::string& message) {
  if (message.empty()) return reason;
  return reason.empty() ? message : reason + ": " + message;
}

/// Why a pod does not run yet.
std::string why_waiting(const json::value& pod) {
  for (const auto& container : list_at(&pod, {"status", "containerStatuses"}))
    if (const auto reason = text_at(&container, {"state", "waiting", "reason"}); !reason.empty())
      return sentence(reason, text_at(&container, {"state", "waiting", "message"}));
  for (const auto& condition : list_at(&pod, {"status", "conditions"}))
    if (text_at(&condition, {"type"}) == "PodScheduled" && text_at(&condition, {"status"}) == "False")
      return sentence(text_at(&condition, {"reason"}), text_at(&condition, {"message"}));
  return text_at(&pod, {"spec", "nodeName"}).empty() ? "it is not scheduled yet" : "it is starting";
}

/// How a pod ended.
std::string why_ended(const json::value& pod) {
  const auto of_pod = sentence(text_at(&pod, {"status", "reason"}), text_at(&pod, {"status", "message"}));
  if (!of_pod.empty()) return of_pod;
  for (const auto& container : list_at(&pod, {"status", "containerStatuses"})) {
    const auto* end = at(&container, {"state", "terminated"});
    if (end == nullptr) continue;
    const auto* code = at(end, {"exitCode"});
    return sentence(fmt::format("{} (exit status {})", text_at(end, {"reason"}),
                                code == nullptr ? "?" : json::serialize(*code)),
                    std::string(trim(text_at(end, {"message"}))));
  }
  return text_at(&pod, {"status", "phase"});
}

}  // namespace

Result<KubeConfig> read_kubeconfig(const std::string& yaml) {
  const auto document = config::parse_yaml_value(yaml);
  if (!document) return tl::unexpected(document.error());
  const auto& config = *document;
  const auto current = text_at(&config, {"current-context"});
  const auto* context = named(config, "contexts", current, "context");
  if (current.empty() || context == nullptr)
    return invalid_argument("its current-context is '{}', which is not among its contexts", current);
  const auto* cluster = named(config, "clusters", text_at(context, {"cluster"}), "cluster");
  const auto* user = named(config, "users", text_at(context, {"user"}), "user");
  KubeConfig read{.server = text_at(cluster, {"server"}),
                  .k8s_namespace = text_at(context, {"namespace"}),
                  .token = text_at(user, {"token"}),
                  .token_file = text_at(user, {"tokenFile"}),
                  .authority_file = text_at(cluster, {"certificate-authority"}),
                  .server_name = text_at(cluster, {"tls-server-name"})};
  if (read.server.empty()) return invalid_argument("the cluster of its current context has no server");
  if (const auto* skip = at(cluster, {"insecure-skip-tls-verify"}); skip != nullptr)
    read.verify = *skip != true;
  if (const auto data = text_at(cluster, {"certificate-authority-data"}); !data.empty()) {
    auto decoded = base64_decode(data);
    if (!decoded) return invalid_argument("certificate-authority-data is not base64");
    read.authority = *std::move(decoded);
  }
  for (const auto* unknown :
       {"exec", "auth-provider", "client-certificate", "client-certificate-data", "username"})
    if (at(user, {unknown}) != nullptr && read.token.empty() && read.token_file.empty())
      return invalid_argument(
          "its user has '{}', which is not supported; make a service account, and put its token there",
          unknown);
  return read;
}

std::string kube_cluster_label(const std::string& name) {
  return name.substr(0, name.rfind('-'));
}

std::string kube_pod_name(const std::string& allotment, int node) {
  return fmt::format("{}-{}", allotment, node);
}

json::object kube_secret(const EngineRequest& request) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", request.name}, {"labels", labels(request)}}},
          {"type", "Opaque"},
          {"data", {{"token", base64_encode(request.token)}}}};
}

json::object kube_pod(const ProviderSettings& settings, const PilotSettings& pilot,
                      const EngineRequest& request, int node) {
  json::object limits;
  const int cpus = settings.gpus ? settings.cpus_per_node
                                 : std::max(settings.cpus_per_node, settings.limits.slots_per_node);
  if (cpus > 0) limits["cpu"] = std::to_string(cpus);
  if (!settings.mem.empty()) limits["memory"] = settings.mem;
  if (settings.gpus) limits["nvidia.com/gpu"] = std::to_string(settings.limits.slots_per_node);
  json::object container{
      {"name", "agent"},
      {"image", settings.image},
      {"command", {"bash", "-c", pilot_script(settings, pilot, request, fmt::format("--node {}", node))}},
      {"env",
       {{{"name", "DET_PILOT_TOKEN"},
         {"valueFrom", {{"secretKeyRef", {{"name", request.name}, {"key", "token"}}}}}}}},
      {"resources", {{"limits", std::move(limits)}}},
      {"terminationMessagePolicy", "FallbackToLogsOnError"}};
  json::object spec{{"restartPolicy", "Never"},
                    {"terminationGracePeriodSeconds", settings.limits.grace_period},
                    {"automountServiceAccountToken", false}};
  if (settings.time_limit > 0) spec["activeDeadlineSeconds"] = settings.time_limit;
  json::array others;
  for (const auto& member : settings.pod) {
    if (member.key() == "containers" && member.value().is_array()) {
      const auto& given = member.value().get_array();
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (i == 0 && given[i].is_object())
          merge(container, given[i].get_object());
        else
          others.push_back(given[i]);
      }
    } else {
      merge(spec, {{member.key(), member.value()}});
    }
  }
  json::array containers{std::move(container)};
  for (auto& other : others) containers.push_back(std::move(other));
  spec["containers"] = std::move(containers);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", kube_pod_name(request.name, node)},
            {"labels", labels(request)},
            {"annotations", {{"determined-nodes", std::to_string(request.nodes)}}}}},
          {"spec", std::move(spec)}};
}

Result<std::vector<KubeJob>> read_kube_pods(const std::string& text, const ProviderSettings& settings,
                                            Time now) {
  const auto answer = json::parse(text);
  if (!answer || at(&*answer, {"items"}) == nullptr)
    return fail(ErrorCode::Unavailable, "Kubernetes answered '{}'", text.substr(0, 200));
  std::map<std::string, std::vector<const json::value*>> found;
  for (const auto& pod : list_at(&*answer, {"items"}))
    found[text_at(&pod, {"metadata", "labels", "determined-allotment"})].push_back(&pod);
  std::vector<KubeJob> jobs;
  for (const auto& [name, pods] : found) {
    KubeJob entry{.job = {.name = name, .id = name}};
    auto& job = entry.job;
    std::size_t running = 0, wanted = 1;
    std::string waiting, ended;
    std::optional<Time> began;
    for (const auto* pod : pods) {
      const auto own = text_at(pod, {"metadata", "name"});
      entry.pods.push_back(own);
      const auto count = text_at(pod, {"metadata", "annotations", "determined-nodes"});
      wanted = std::max<std::size_t>(wanted, static_cast<std::size_t>(std::max(1, std::atoi(count.c_str()))));
      const auto phase = text_at(pod, {"status", "phase"});
      if (phase == "Succeeded" || phase == "Failed") {
        if (ended.empty()) ended = fmt::format("pod {} ended: {}", own, why_ended(*pod));
        continue;
      }
      // Where its machine is gone, nobody confirms that a pod that was deleted has ended.
      if (const auto end = parse_rfc3339(text_at(pod, {"metadata", "deletionTimestamp"}));
          end && now - *end > kConfirmation * kSecond) {
        if (ended.empty()) ended = fmt::format("pod {} was deleted, and its node does not answer", own);
        continue;
      }
      if (phase == "Running") {
        ++running;
        if (const auto start = parse_rfc3339(text_at(pod, {"status", "startTime"}));
            start && (!began || *start < *began))
          began = *start;
      } else if (waiting.empty()) {
        waiting = fmt::format("pod {} is pending: {}", own, why_waiting(*pod));
      }
    }
    if (ended.empty() && pods.size() < wanted)
      ended = fmt::format("{} of its {} pods are gone", wanted - pods.size(), wanted);
    if (ended.empty() && running > 0 && running < wanted && began &&
        now - *began > settings.limits.start_timeout * kSecond)
      ended = fmt::format("{} of its {} pods run after {} s; {}", running, wanted,
                          settings.limits.start_timeout, waiting);
    if (!ended.empty()) {
      job.state = EngineJob::State::Ended;
      job.reason = ended;
      entry.broken = std::ranges::any_of(pods, [](const auto* pod) {
        const auto phase = text_at(pod, {"status", "phase"});
        return phase != "Succeeded" && phase != "Failed" &&
               at(pod, {"metadata", "deletionTimestamp"}) == nullptr;
      });
    } else if (running > 0) {  // the agents of a gang join one after the other
      job.state = EngineJob::State::Running;
      job.reason = wanted == 1        ? fmt::format("pod {}-0 is running", name)
                   : running < wanted ? fmt::format("{} of {} pods are running; {}", running, wanted, waiting)
                                      : fmt::format("{} pods are running", wanted);
      if (settings.time_limit > 0 && began) job.ends = *began + settings.time_limit * kSecond;
    } else {
      job.state = EngineJob::State::Pending;
      job.reason = waiting;
    }
    jobs.push_back(std::move(entry));
  }
  return jobs;
}

std::string kube_error(int status, const std::string& text) {
  if (const auto answer = json::parse(text)) {
    if (auto message = text_at(&*answer, {"message"}); !message.empty()) return message;
  }
  return fmt::format("it answered {} {}", status, trim(text).substr(0, 200));
}

}  // namespace det::master
