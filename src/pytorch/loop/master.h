#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "det/trial/client.h"

namespace det::pytorch {

/// What the loop says to whoever wants the trial trained, and hears from it: a master, or the user at a
/// terminal. The calls are those of trial::Client, with its promises.
class Master {
 public:
  virtual ~Master() = default;

  virtual Result<trial::Operations> operations(std::int64_t known, std::chrono::milliseconds timeout) = 0;
  virtual Result<void> complete_operation(std::int64_t length, double metric) = 0;
  virtual Result<void> report_training(std::int64_t batches, json::object average, json::array each_batch,
                                       std::int64_t records) = 0;
  virtual Result<void> report_validation(std::int64_t batches, json::object metrics,
                                         std::int64_t records) = 0;
  virtual Result<void> report_progress(double fraction) = 0;
  virtual Result<void> report_state(const std::string& state) = 0;
  virtual Result<void> begin_checkpoint(const std::string& uuid) = 0;
  virtual Result<void> report_checkpoint(const std::string& uuid, std::int64_t batches,
                                         const std::map<std::string, std::int64_t>& resources,
                                         json::object metadata) = 0;
  virtual Result<void> report_early_exit(const std::string& reason) = 0;
  virtual Result<bool> preempt_requested() = 0;
  virtual Result<void> acknowledge_preemption() = 0;  ///< Everything is saved; `wish` says what comes now.
  virtual Result<trial::Client::Wish> wish(std::chrono::milliseconds timeout) = 0;
  virtual Result<std::optional<double>> best_validation() = 0;
  virtual Result<void> flush() = 0;
};

/// `client` must live as long.
std::unique_ptr<Master> remote_master(trial::Client& client);

/// Wants one operation of `batches` and prints what it hears, a line each.
struct LocalMasterOptions {
  std::int64_t batches = 1;
  bool smaller_is_better = true;
  std::function<void(const std::string&)> print;
  std::function<void(const std::string& uuid)> on_checkpoint;
};
std::unique_ptr<Master> local_master(LocalMasterOptions options);

}  // namespace det::pytorch
