// The trials of ../four in C++: one for each model, with SGD.
#include <chrono>
#include <fstream>

#include "models.h"

namespace four {

/// The trial, writing the time per batch between `data.first` and `data.last` to `data.times`.
template <typename Model>
class Timed final : public Trial<Model, Sgd> {
  using Base = Trial<Model, Sgd>;

 public:
  explicit Timed(typename Base::TrialContext& trial_context)
      : Base(trial_context),
        first_(this->context.get_data_config().template get<std::int64_t>("first")),
        last_(this->context.get_data_config().template get<std::int64_t>("last")) {}

  typename Base::Metrics train_batch(const typename Base::Batch& batch, std::int64_t epoch,
                                     std::int64_t index) override {
    const auto now = std::chrono::steady_clock::now();
    if (index == first_) start_ = now;
    if (index == last_ && this->context.distributed().is_chief())
      std::ofstream(this->context.get_data_config().template get<std::string>("times"))
          << std::chrono::duration<double>(now - start_).count() / static_cast<double>(last_ - first_);
    return Base::train_batch(batch, epoch, index);
  }
  typename Base::Metrics evaluate_batch(const typename Base::Batch&) override { return {{"nothing", 0.0}}; }

 private:
  std::int64_t first_;
  std::int64_t last_;
  std::chrono::steady_clock::time_point start_;
};

using TinyTrial = Timed<Tiny>;
using MlpTrial = Timed<Mlp>;
using CnnTrial = Timed<Cnn>;
using LstmTrial = Timed<Lstm>;

}  // namespace four

DET_TRIAL(four::TinyTrial)
DET_TRIAL(four::MlpTrial)
DET_TRIAL(four::CnnTrial)
DET_TRIAL(four::LstmTrial)
