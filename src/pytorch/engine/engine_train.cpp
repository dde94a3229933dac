#include <torch/torch.h>

#include "det/pytorch/engine/engine_parts.h"

namespace det::pytorch {

Trained Engine::train(std::int64_t batches) {
  auto& p = *parts_;
  ++p.workloads;
  p.note(c10::str("training the batches ", p.trained, " to ", p.trained + batches - 1));
  p.reset_reducers();
  const auto before = p.trial->training_records();
  for (auto& model : p.own.models) model->train();
  Collector collector("train_batch");
  {
    const torch::AutoGradMode enabled(true);
    try {
      p.train_batches(batches, collector);
    } catch (...) {
      p.note(c10::str("training batch ", p.own.batch_index));
      throw;
    }
  }
  collector.finish();
  p.records = p.trial->training_records() - before;
  if (p.ranks != nullptr && p.own.environment.average_training_metrics)
    collector.set_rows(mean_over_ranks(collector, *p.ranks));
  Trained done{.averages = collector.averages(), .names = collector.names(), .batches = collector.rows()};
  p.reduce_own(true, done.averages);
  p.call(&Callback::on_training_workload_end, done.averages, done.batches);
  return done;
}

void Engine::Parts::train_batches(std::int64_t count, Collector& collector) {
  const auto length = own.epoch_length;
  const auto aggregation = own.environment.aggregation_frequency;
  const auto end = trained + count;
  for (std::int64_t index = trained; index < end; ++index) {
    const auto epoch = (index + own.epoch_ahead) / length;
    const auto in_epoch = (index + own.epoch_ahead) % length;
    own.batch_index = index;
    if (ranks != nullptr) {
      if (!own.exchanges.empty()) own.spread_buffers();
      for (const auto& exchange : own.exchanges) exchange->begin_batch(context.is_update_batch());
    }
    if (in_epoch == 0 && !callbacks.empty()) call(&Callback::on_training_epoch_start, epoch);
    const auto metrics = [&] {
      const auto mixed = precision();
      return trial->train_next(epoch, index);
    }();
    if (own.scales && context.is_update_batch()) own.scaler->update();
    if (!own.schedulers.empty() && context.is_update_batch())
      for (auto& wrapped : own.schedulers)
        for (auto due = steps_due(wrapped.step_mode, wrapped.frequency, index + own.chiefs_epoch_ahead,
                                  aggregation, own.chiefs_epoch_length);
             due > 0; --due)
          wrapped.scheduler->step();
    collector.add(metrics, index);
    if (in_epoch == length - 1 && !callbacks.empty()) call(&Callback::on_training_epoch_end, epoch);
    trained = index + 1;
  }
}

}  // namespace det::pytorch
