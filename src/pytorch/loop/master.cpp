#include "det/pytorch/loop/master.h"

#include <cmath>

namespace det::pytorch {

namespace {

class RemoteMaster final : public Master {
 public:
  explicit RemoteMaster(trial::Client& client) : client_(client) {}

  Result<trial::Operations> operations(std::int64_t known, std::chrono::milliseconds timeout) override {
    return client_.operations(known, timeout);
  }
  Result<void> complete_operation(std::int64_t length, double metric) override {
    return client_.complete_operation(length, metric);
  }
  Result<void> report_training(std::int64_t batches, json::object average, json::array each_batch,
                               std::int64_t records) override {
    return client_.report_training(batches, std::move(average), std::move(each_batch), records);
  }
  Result<void> report_validation(std::int64_t batches, json::object metrics, std::int64_t records) override {
    return client_.report_validation(batches, std::move(metrics), records);
  }
  Result<void> report_progress(double fraction) override { return client_.report_progress(fraction); }
  Result<void> report_state(const std::string& state) override { return client_.report_state(state); }
  Result<void> begin_checkpoint(const std::string& uuid) override { return client_.begin_checkpoint(uuid); }
  Result<void> report_checkpoint(const std::string& uuid, std::int64_t batches,
                                 const std::map<std::string, std::int64_t>& resources,
                                 json::object metadata) override {
    return client_.report_checkpoint(uuid, batches, resources, std::move(metadata));
  }
  Result<void> report_early_exit(const std::string& reason) override {
    return client_.report_early_exit(reason);
  }
  Result<bool> preempt_requested() override { return client_.preempt_requested(); }
  Result<void> acknowledge_preemption() override { return client_.acknowledge_preemption(true); }
  Result<trial::Client::Wish> wish(std::chrono::milliseconds timeout) override {
    return client_.wish(timeout);
  }
  Result<std::optional<double>> best_validation() override { return client_.best_validation(); }
  Result<void> flush() override { return client_.flush(); }

 private:
  trial::Client& client_;
};

class LocalMaster final : public Master {
 public:
  explicit LocalMaster(LocalMasterOptions options) : options_(std::move(options)) {}

  Result<trial::Operations> operations(std::int64_t, std::chrono::milliseconds) override {
    return trial::Operations{.lengths = {options_.batches}, .completed = completed_, .closed = true};
  }
  Result<void> complete_operation(std::int64_t, double metric) override {
    ++completed_;
    const auto better = [&](double a, double b) { return options_.smaller_is_better ? a < b : a > b; };
    if (!best_ || better(metric, *best_)) best_ = metric;
    return {};
  }
  Result<void> report_training(std::int64_t batches, json::object average, json::array,
                               std::int64_t) override {
    options_.print(fmt::format("training after batch {}: {}", batches, json::serialize(average)));
    return {};
  }
  Result<void> report_validation(std::int64_t batches, json::object metrics, std::int64_t) override {
    options_.print(fmt::format("validation after batch {}: {}", batches, json::serialize(metrics)));
    return {};
  }
  Result<void> report_progress(double) override { return {}; }
  Result<void> report_state(const std::string&) override { return {}; }
  Result<void> begin_checkpoint(const std::string&) override { return {}; }
  Result<void> report_checkpoint(const std::string& uuid, std::int64_t,
                                 const std::map<std::string, std::int64_t>&, json::object) override {
    if (options_.on_checkpoint) options_.on_checkpoint(uuid);
    return {};
  }
  Result<void> report_early_exit(const std::string& reason) override {
    options_.print("the trial ended early: " + reason);
    return {};
  }
  Result<bool> preempt_requested() override { return false; }
  Result<void> acknowledge_preemption() override { return {}; }
  Result<trial::Client::Wish> wish(std::chrono::milliseconds) override { return trial::Client::Wish::Leave; }
  Result<std::optional<double>> best_validation() override { return best_; }
  Result<void> flush() override { return {}; }

 private:
  LocalMasterOptions options_;
  std::int64_t completed_ = 0;
  std::optional<double> best_;
};

}  // namespace

std::unique_ptr<Master> remote_master(trial::Client& client) {
  return std::make_unique<RemoteMaster>(client);
}

std::unique_ptr<Master> local_master(LocalMasterOptions options) {
  return std::make_unique<LocalMaster>(std::move(options));
}

}  // namespace det::pytorch
