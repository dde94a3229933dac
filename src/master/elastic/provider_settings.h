#pragma once

#include <map>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/elastic/elastic.h"

namespace det::master {

enum class ProviderType { Slurm, Ray, Kubernetes, Ssh, Process };

/// Who gives the machines of a pool: the member `provider` of a resource pool in the master's configuration.
struct ProviderSettings {
  ProviderType type = ProviderType::Process;
  elastic::Limits limits;
  std::int64_t time_limit = 0;  ///< seconds, of each allotment; 0: the engine's own

  // The pilot, on the machines:
  std::string master_url;  ///< where they reach the master; empty: the address that it listens on
  std::string program;     ///< the path of `det` there; empty: that of the master's program
  std::string work_dir;    ///< for the state of its agent; empty: $TMPDIR or /tmp
  std::string log_dir;     ///< for its log, on a file system that the master shares; empty: the master's own
  std::string prologue;    ///< lines of the shell before the agent starts
  bool gpus = false;       ///< its slots are the GPUs that it finds; else slots_per_node of the CPUs
  std::vector<std::string> agent_options;  ///< further options of `det agent`

  // Slurm, as its options are called:
  std::string partition, account, qos, reservation, gres, constraint;
  int cpus_per_node = 0;  ///< 0: the engine's default; for Ray and Kubernetes: beside GPUs
  std::string mem;
  std::vector<std::string> extra;     ///< further options of sbatch
  std::vector<std::string> as_owner;  ///< words before sbatch and scancel, with {owner}; empty: as we are

  // Ray, Kubernetes, machines by SSH:
  std::string address;                      ///< of the Ray cluster, or of the API server
  std::string python;                       ///< which has Ray; empty: that of agents
  std::map<std::string, double> resources;  ///< further ones of Ray that each node must have
  std::string image, k8s_namespace, kubeconfig;
  json::object pod;                ///< merged into the pod's spec
  std::vector<std::string> hosts;  ///< one node each
  std::vector<std::string> ssh_options;
};

/// The text with {owner} replaced.
std::string for_owner(std::string text, const std::string& owner);
/// Reads the settings; appends what is wrong to `problems`. Settings of other engines are unknown.
ProviderSettings read_provider(json::value value, const std::string& path, std::vector<Error>& problems);
/// In words: "Slurm partition a100".
std::string describe(const ProviderSettings& settings);

}  // namespace det::master
