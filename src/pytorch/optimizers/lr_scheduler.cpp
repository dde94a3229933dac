#include "det/pytorch/lr_scheduler.h"

#include <torch/optim/optimizer.h>

#include "det/pytorch/files/state.h"

namespace det::pytorch {

namespace {

/// LibTorch keeps the number of steps for derived classes only.
struct Opened : torch::optim::LRScheduler {
  static unsigned& steps(torch::optim::LRScheduler& scheduler) { return scheduler.*(&Opened::step_count_); }
  static std::vector<double> rates(const torch::optim::LRScheduler& scheduler) {
    return (scheduler.*(&Opened::get_current_lrs))();
  }
};

}  // namespace

std::int64_t steps_due(StepMode mode, std::int64_t frequency, std::int64_t batch, std::int64_t aggregation,
                       std::int64_t epoch_length) {
  switch (mode) {
    case StepMode::STEP_EVERY_BATCH: {
      // Floor division: the batches before the first one are negative.
      const auto floor = [&](std::int64_t n) {
        return n >= 0 ? n / frequency : -((-n + frequency - 1) / frequency);
      };
      return floor(batch + 1) - floor(batch + 1 - aggregation);
    }
    case StepMode::STEP_EVERY_OPTIMIZER_STEP: return (batch + 1) % frequency == 0 ? 1 : 0;
    case StepMode::STEP_EVERY_EPOCH:
      return (batch + aggregation) / epoch_length / frequency - batch / epoch_length / frequency;
    case StepMode::MANUAL_STEP: return 0;
  }
  return 0;
}

LambdaLR::LambdaLR(torch::optim::Optimizer& optimizer, std::function<double(std::int64_t)> factor)
    : LRScheduler(optimizer), base_lrs_(get_current_lrs()), factor_(std::move(factor)) {
  auto& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(base_lrs_[i] * factor_(0));
}

std::vector<double> LambdaLR::get_lrs() {
  const double factor = factor_(static_cast<std::int64_t>(step_count_) + 1);  // counted after this call
  auto rates = base_lrs_;
  for (auto& rate : rates) rate *= factor;
  return rates;
}

StepLR::StepLR(torch::optim::Optimizer& optimizer, std::int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  if (step_size < 1)
    throw UsageError(c10::str("step_size of StepLR is ", step_size, "; it must be at least 1"));
}

std::vector<double> StepLR::get_lrs() {
  auto rates = get_current_lrs();
  if ((static_cast<std::int64_t>(step_count_) + 1) % step_size_ == 0)
    for (auto& rate : rates) rate *= gamma_;
  return rates;
}

Dict scheduler_state(torch::optim::LRScheduler& scheduler) {
  const auto steps = static_cast<std::int64_t>(Opened::steps(scheduler));
  List rates;
  for (const auto rate : Opened::rates(scheduler)) rates.emplace_back(rate);
  Dict saved;
  saved["last_epoch"] = steps;
  saved["_step_count"] = steps + 1;
  saved["_last_lr"] = std::move(rates);
  return saved;
}

void load_scheduler_state(torch::optim::LRScheduler& scheduler, const Dict& state) {
  Opened::steps(scheduler) = static_cast<unsigned>(state.at("last_epoch").integer());
}

}  // namespace det::pytorch
