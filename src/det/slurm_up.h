#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "det/master/master.h"

namespace det::commands {

/// `det up --slurm`: a master of one's own on a login node, whose trials run on a partition.
class SlurmUp {
 public:
  void add_to(CLI::App& app);
  bool wanted() const { return wanted_; }
  /// Makes what a master needs that others can reach: a certificate, a password, a port that stays the same.
  Result<void> prepare(master::MasterOptions& options, bool port_given, bool address_given);
  /// What to do next, once the master listens.
  std::string announcement(const master::Master& server) const;

 private:
  bool wanted_ = false;
  master::ProviderSettings settings_{.type = master::ProviderType::Slurm, .limits = {.max_nodes = 4}};
  std::string time_limit_, idle_timeout_ = "5m", grace_period_ = "2m", granularity_ = "pool";
  std::string host_;
  std::filesystem::path directory_;
};

}  // namespace det::commands
