#pragma once

#include <string>
#include <vector>

#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/shim.h"

namespace det::agent {

/// The namespaces, mounts and control group of one task. Each step is taken
/// only where the spec asks for it and the machine allows it; `taken` tells.
class Isolation {
 public:
  explicit Isolation(const ShimSpec& spec) : spec_(spec) {}

  /// In the shim, before it forks the init.
  void before_fork();
  /// In the init, before anything else runs in it.
  void in_init();

  bool own_pids() const { return own_pids_; }
  const std::vector<std::string>& taken() const { return taken_; }
  const ControlGroups& groups() const { return groups_; }

 private:
  bool wants(const char* step) const;
  void hide_files();

  const ShimSpec& spec_;
  std::vector<std::string> taken_;
  ControlGroups groups_;
  bool own_pids_ = false;
};

/// Kills all descendants of this process, which must be a subreaper, and reaps
/// them; gives up after some seconds of a race with a fork bomb.
void end_descendants();

}  // namespace det::agent
