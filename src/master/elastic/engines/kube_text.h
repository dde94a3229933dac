#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/master/elastic/provider.h"

/// What the API server of Kubernetes is told, and what it says. Pure.
namespace det::master {

/// How to reach an API server, as a kubeconfig file says it for its current context.
struct KubeConfig {
  std::string server, k8s_namespace, token, token_file;
  std::string authority_file, authority;  ///< certificates: a file, or in PEM form
  std::string server_name;
  bool verify = true;
};
Result<KubeConfig> read_kubeconfig(const std::string& yaml);

/// What carries the token of an allotment to its pods.
json::object kube_secret(const EngineRequest& request);
json::object kube_pod(const ProviderSettings& settings, const PilotSettings& pilot,
                      const EngineRequest& request, int node);
std::string kube_pod_name(const std::string& allotment, int node);
/// "det-3f2a1b77-17" and "det-3f2a1b77-" are of this cluster: "det-3f2a1b77".
std::string kube_cluster_label(const std::string& name);

/// An allotment, and the pods that it still has.
struct KubeJob {
  EngineJob job;
  std::vector<std::string> pods;
  bool broken = false;  ///< it has ended, but some of its pods have not
};
Result<std::vector<KubeJob>> read_kube_pods(const std::string& text, const ProviderSettings& settings,
                                            Time now);
/// The sentence of an answer that is no success.
std::string kube_error(int status, const std::string& text);

}  // namespace det::master
