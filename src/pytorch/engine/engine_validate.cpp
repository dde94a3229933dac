#include <torch/torch.h>

#include "det/pytorch/engine/engine_parts.h"
#include "det/pytorch/engine/random.h"

namespace det::pytorch {

Numbers Engine::validate() {
  auto& p = *parts_;
  p.note(c10::str("validating after batch ", p.trained));
  const Untouched untouched(p.on_gpu());
  p.reset_reducers();
  p.own.spread_buffers();
  for (auto& model : p.own.models) model->eval();
  p.call(&Callback::on_validation_start);
  Numbers metrics;
  {
    const torch::NoGradGuard no_grad;
    const auto mixed = p.precision();
    if (auto whole = p.evaluate_whole())
      metrics = *std::move(whole);
    else
      p.evaluate_batches(metrics);
  }
  p.records = p.trial->validation_records();
  p.reduce_own(false, metrics);
  p.call(&Callback::on_validation_end, metrics);
  return metrics;
}

void Engine::Parts::evaluate_batches(Numbers& metrics) {
  call(&Callback::on_validation_epoch_start);
  Collector collector("evaluate_batch");
  trial->start_validation(false);
  for (std::int64_t batch = 0; const auto result = trial->validate_next(batch); ++batch) {
    collector.add(*result, batch);
    if (own.environment.test_mode) break;
  }
  collector.finish();
  if (!callbacks.empty()) {
    std::vector<Numbers> rows;
    for (const auto& row : collector.rows()) {
      auto& named = rows.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i) named.emplace_back(collector.names()[i], row[i]);
    }
    call(&Callback::on_validation_epoch_end, rows);
  }
  const auto choice = trial->evaluation_reducer();
  const auto* by_name = std::get_if<std::map<std::string, Reducer>>(&choice);
  if (by_name != nullptr && by_name->size() != collector.names().size())
    throw UsageError(c10::str("evaluation_reducer() names ", by_name->size(),
                              " metrics; evaluate_batch returns ", collector.names().size(),
                              "; each metric needs a reducer"));
  if (ranks != nullptr && collector.rows().empty())
    throw UsageError(
        c10::str("rank ", own.environment.rank, " has no validation batches; it must have at least one"));
  std::vector<Reducer> reducers;
  for (const auto& name : collector.names()) {
    if (by_name != nullptr && !by_name->contains(name))
      throw UsageError("evaluation_reducer() has no reducer for the metric " + name);
    reducers.push_back(by_name != nullptr ? by_name->at(name) : std::get<Reducer>(choice));
  }
  for (std::size_t i = 0; i < reducers.size(); ++i)
    metrics.emplace_back(collector.names()[i], reduce(reducers[i], collector.column(i)));
  if (ranks != nullptr)
    metrics =
        reduce_over_ranks(metrics, reducers, static_cast<std::int64_t>(collector.rows().size()), *ranks);
}

/// Nothing where the trial evaluates batches. Of several ranks the first alone evaluates the whole set.
std::optional<Numbers> Engine::Parts::evaluate_whole() {
  std::optional<Numbers> metrics;
  if (own.environment.rank == 0) {
    trial->start_validation(true);
    if (const auto result = trial->validate_whole()) {
      Collector collector("evaluate_full_dataset");
      collector.add(*result, 0);
      collector.finish();
      metrics = collector.averages();
    }
  }
  return ranks != nullptr ? announce(metrics, *ranks) : metrics;
}

void Engine::Parts::reduce_own(bool training, Numbers& metrics) {
  std::vector<const WrappedReducer*> chosen;
  for (const auto& wrapped : own.reducers)
    if (training ? wrapped.for_training : wrapped.for_validation) chosen.push_back(&wrapped);
  if (chosen.empty()) return;
  std::vector<std::vector<std::vector<double>>> by_reducer;
  for (const auto* wrapped : chosen) by_reducer.push_back({wrapped->reducer->per_slot_reduce()});
  if (ranks != nullptr) gather_slots(by_reducer, *ranks);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    metrics.emplace_back(chosen[i]->name, chosen[i]->reducer->cross_slot_reduce(by_reducer[i]));
}

}  // namespace det::pytorch
