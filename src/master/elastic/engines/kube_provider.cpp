// Kubernetes, by the REST paths of its API server.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "det/base/text.h"
#include "det/http/client/client.h"
#include "det/master/elastic/engines/kube_text.h"
#include "det/master/elastic/provider.h"

namespace det::master {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::chrono::minutes kKeptAfterEnd{10};  ///< for `kubectl logs`

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Kubernetes final : public Provider {
 public:
  Kubernetes(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)) {
    if (settings_.program.empty()) settings_.program = "det";
  }

  Result<void> check() override {
    if (auto reached = connect(); !reached) return reached;
    return call("GET", path("pods") + "?limit=1").map([](const auto&) {});
  }

  Result<std::string> submit(const EngineRequest& request) override {
    DET_TRY([[maybe_unused]] const auto secret, create("secrets", kube_secret(request)));
    json::array owners;
    for (int node = 0; node < request.nodes; ++node) {
      auto pod = create("pods", kube_pod(settings_, pilot_, request, node));
      if (!pod) {
        (void)remove(request.name, request.nodes);
        return tl::unexpected(pod.error());
      }
      if (const auto* metadata = pod->if_contains("metadata"); metadata != nullptr && metadata->is_object())
        if (const auto* uid = metadata->get_object().if_contains("uid"))
          owners.push_back({{"apiVersion", "v1"},
                            {"kind", "Pod"},
                            {"name", kube_pod_name(request.name, node)},
                            {"uid", *uid}});
    }
    // Whoever deletes the pods deletes it, too.
    (void)call("PATCH", path("secrets", request.name),
               json::object{{"metadata", {{"ownerReferences", std::move(owners)}}}});
    return request.name;
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    const auto selector = "determined-cluster=" + kube_cluster_label(prefix);
    DET_TRY(const auto answer, call("GET", path("pods") + "?labelSelector=" + percent_encode(selector)));
    DET_TRY(auto found, read_kube_pods(answer, settings_, now()));
    std::vector<EngineJob> jobs;
    pods_.clear();
    for (auto& [job, pods, broken] : found) {
      pods_[job.name] = static_cast<int>(pods.size());
      if (job.state == EngineJob::State::Ended) {
        const auto seen = ended_.emplace(job.name, std::chrono::steady_clock::now()).first->second;
        // A gang that has lost a node gives back the others.
        if (broken || std::chrono::steady_clock::now() - seen > kKeptAfterEnd) {
          for (const auto& pod : pods) (void)discard(path("pods", pod));
          (void)discard(path("secrets", job.name));
        }
      }
      jobs.push_back(std::move(job));
    }
    std::erase_if(ended_, [&](const auto& entry) { return !pods_.contains(entry.first); });
    return jobs;
  }

  std::string log_of(const std::string& name) const override {
    return fmt::format("kubectl logs {}", kube_pod_name(name, 0));
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    for (const auto& job : jobs)
      if (auto done = remove(job.name, std::max(1, pods_[job.name])); !done) return done;
    return {};
  }

 private:
  static Time now() {
    return Time{std::chrono::duration_cast<std::chrono::microseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count()};
  }

  std::string path(const std::string& kind, const std::string& name = "") const {
    return fmt::format("/api/v1/namespaces/{}/{}{}{}", namespace_, kind, name.empty() ? "" : "/", name);
  }

  /// Where the API server is: as the settings say, or as a pod finds it.
  Result<void> connect() {
    if (client_) return {};
    KubeConfig config;
    if (!settings_.kubeconfig.empty()) {
      if (!std::filesystem::exists(settings_.kubeconfig))
        return failed_precondition("Kubernetes: provider.kubeconfig is {}; there is no such file",
                                   settings_.kubeconfig);
      auto read = read_kubeconfig(content_of(settings_.kubeconfig));
      if (!read)
        return failed_precondition("Kubernetes: {}: {}", settings_.kubeconfig, read.error().message());
      config = *std::move(read);
    } else if (!settings_.address.empty()) {
      config.server = settings_.address;
    } else if (const char* host = std::getenv("KUBERNETES_SERVICE_HOST"); host != nullptr) {
      const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
      const std::string name = host;
      config.server =
          fmt::format("https://{}:{}", name.find(':') == std::string::npos ? name : "[" + name + "]",
                      port == nullptr ? "443" : port);
      config.authority_file = fmt::format("{}/ca.crt", kServiceAccount);
      config.token_file = fmt::format("{}/token", kServiceAccount);
      config.k8s_namespace = trim(content_of(fmt::format("{}/namespace", kServiceAccount)));
    } else {
      return failed_precondition(
          "Kubernetes: the master does not run in a pod; name its API server in provider.kubeconfig or "
          "provider.address");
    }
    auto url = http::parse_url(config.server);
    if (!url)
      return failed_precondition("Kubernetes: the server is '{}': {}", config.server, url.error().message());
    if (!config.authority.empty()) {
      const auto file = std::filesystem::path(pilot_.log_dir) / "kubernetes-ca.pem";
      std::ofstream(file) << config.authority;
      config.authority_file = file.string();
    }
    http::ClientOptions options;
    options.trust = {.file = config.authority_file, .name = config.server_name, .verify = config.verify};
    token_ = config.token;
    token_file_ = config.token_file;
    namespace_ = !settings_.k8s_namespace.empty() ? settings_.k8s_namespace
                 : !config.k8s_namespace.empty()  ? config.k8s_namespace
                                                  : "default";
    client_.emplace(*std::move(url), options);
    return {};
  }

  Result<std::string> call(const std::string& method, const std::string& where,
                           const json::object& body = {}) {
    if (const auto reached = connect(); !reached) return tl::unexpected(reached.error());
    http::Call call;
    call.method = method;
    call.path = where;
    call.timeout = std::chrono::milliseconds(20'000);
    call.headers.set("Accept", "application/json");
    if (!body.empty()) {
      call.headers.set("Content-Type",
                       method == "PATCH" ? "application/merge-patch+json" : "application/json");
      call.body = json::serialize(body);
    }
    // The file of a service account changes before its token expires.
    const auto token = token_file_.empty() ? token_ : std::string(trim(content_of(token_file_)));
    if (!token.empty()) call.headers.set("Authorization", "Bearer " + token);
    auto reply = client_->request(std::move(call));
    if (!reply) return fail(reply.error().code(), "Kubernetes does not answer: {}", reply.error().message());
    if (reply->ok()) return std::move(reply->body);
    const auto words = kube_error(reply->status, reply->body);
    if (reply->status == 404) return fail(ErrorCode::NotFound, "Kubernetes: {}", words);
    if (reply->status == 409) return fail(ErrorCode::AlreadyExists, "Kubernetes: {}", words);
    if (reply->status >= 500 || reply->status == 429)
      return fail(ErrorCode::Unavailable, "Kubernetes does not answer: {}", words);
    return fail(ErrorCode::FailedPrecondition, "Kubernetes: {}", words);
  }

  /// What is there already, of an earlier attempt, is as good.
  Result<json::object> create(const std::string& kind, const json::object& object) {
    auto created = call("POST", path(kind), object);
    if (!created && created.error().code() == ErrorCode::AlreadyExists) {
      if (created.error().message().find("being deleted") != std::string::npos)
        return fail(ErrorCode::Unavailable, "{}", created.error().message());
      created = call("GET", path(kind, std::string(object.at("metadata").at("name").get_string())));
    }
    if (!created && created.error().code() == ErrorCode::NotFound)  // the namespace
      return fail(ErrorCode::FailedPrecondition, "{}", created.error().message());
    if (!created) return tl::unexpected(created.error());
    auto answer = json::parse(*created);
    if (!answer || !answer->is_object())
      return fail(ErrorCode::Unavailable, "Kubernetes answered '{}'", *created);
    return std::move(answer->get_object());
  }

  Result<void> discard(const std::string& where) {
    auto done = call("DELETE", where);
    if (!done && done.error().code() != ErrorCode::NotFound) return tl::unexpected(done.error());
    return {};
  }

  Result<void> remove(const std::string& name, int nodes) {
    Result<void> done;
    for (int node = 0; node < nodes; ++node)
      if (auto one = discard(path("pods", kube_pod_name(name, node))); !one) done = one;
    if (auto secret = discard(path("secrets", name)); !secret) done = secret;
    return done;
  }

  ProviderSettings settings_;
  PilotSettings pilot_;
  std::optional<http::Client> client_;
  std::string token_, token_file_, namespace_ = "default";
  std::map<std::string, int> pods_;  ///< how many an allotment has, as last listed
  std::map<std::string, std::chrono::steady_clock::time_point> ended_;
};

}  // namespace

std::unique_ptr<Provider> make_kubernetes(const ProviderSettings& settings, const PilotSettings& pilot) {
  return std::make_unique<Kubernetes>(settings, pilot);
}

}  // namespace det::master
