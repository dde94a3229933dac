#include "det/search/methods/barrier.h"

#include <utility>

namespace det::search {

Operations Barrier::start(Random& random) {
  return noted(search_->start(random));
}

/// Leaves out what is about a trial of whose end the search is yet to hear: it will say the right thing then.
Operations Barrier::noted(Operations operations) {
  std::erase_if(operations, [&](const Operation& operation) {
    if (const auto* create = std::get_if<Create>(&operation)) {
      trials_.insert(create->request_id, {.number = next_++});
    } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
      auto& state = trials_.at(after->request_id);
      if (state.exit) return true;
      if (state.asked == 0 || state.metric) ++training_;  // else it trains already, and further now
      state.asked = after->length;
      state.metric.reset();
      reported_.erase(state.number);
    } else if (const auto* close = std::get_if<Close>(&operation)) {
      return trials_.at(close->request_id).exit.has_value();
    }
    return false;
  });
  return operations;
}

Operations Barrier::trial_created(const RequestId& trial, Random& random) {
  return noted(search_->trial_created(trial, random));
}

Operations Barrier::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                         Random& random) {
  auto& state = trials_.at(trial);
  if (state.asked == 0 || state.metric || length < state.asked) return {};  // not what it was asked for
  state.metric = metric;
  reported_.emplace(state.number, trial);
  --training_;
  return release(random);
}

Operations Barrier::trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) {
  auto& state = trials_.at(trial);
  state.exit = reason;
  reported_.emplace(state.number, trial);
  if (state.asked > 0 && !state.metric) --training_;
  return release(random);
}

Operations Barrier::trial_closed(const RequestId& trial, Random& random) {
  auto& state = trials_.at(trial);
  if (state.exit) {  // after its exit, of which the search has not heard
    state.closed = true;
    return {};
  }
  reported_.erase(state.number);
  trials_.erase(trial);
  return noted(search_->trial_closed(trial, random));
}

void Barrier::trial_progressed(const RequestId& trial, double units) {
  if (const auto* state = trials_.find(trial); state != nullptr && !state->exit)
    search_->trial_progressed(trial, units);
}

/// Tells the search what was reported, once nobody trains: ends first, so that nobody is promoted who is
/// gone.
Operations Barrier::release(Random& random) {
  Operations all;
  const auto take = [&](Operations operations) {
    for (auto& operation : noted(std::move(operations))) all.push_back(std::move(operation));
  };
  while (training_ == 0 && !reported_.empty()) {
    const auto reported = std::exchange(reported_, {});
    std::vector<RequestId> reports;
    for (const auto& [number, id] : reported) {
      const auto state = trials_.at(id);
      if (!state.exit) {
        reports.push_back(id);
        continue;
      }
      take(search_->trial_exited_early(id, *state.exit, random));
      trials_.at(id) = {.number = number};
      if (!state.closed) continue;
      trials_.erase(id);
      take(search_->trial_closed(id, random));
    }
    for (const auto& id : reports) {
      auto& state = trials_.at(id);
      const auto metric = *std::exchange(state.metric, std::nullopt);
      const auto length = std::exchange(state.asked, 0);
      take(search_->validation_completed(id, metric, length, random));
    }
  }
  return all;
}

Operations Barrier::resized(Random& random) {
  return noted(search_->resized(random));
}

Operations Barrier::run_again(std::vector<Again>& trials, Random& random) {
  return noted(search_->run_again(trials, random));
}

struct Barrier::Saved {
  std::string search_method_type = "barrier";
  json::value search;
  TrialMap<Trial> trials;
  std::int64_t next_number = 0, training = 0;
  BOOST_DESCRIBE_CLASS(Saved, (), (search_method_type, search, trials, next_number, training), (), ())
};

json::value Barrier::snapshot() const {
  return json::object{{"search_method_type", "barrier"},
                      {"search", search_->snapshot()},
                      {"trials", trials_.to_json()},
                      {"next_number", next_},
                      {"training", training_}};
}

Result<void> Barrier::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "barrier")
    return invalid_argument("search_method_type is \"{}\"; must be \"barrier\"", saved.search_method_type);
  if (auto restored = search_->restore(saved.search); !restored) return restored;
  trials_ = std::move(saved.trials);
  reported_.clear();
  for (const auto& [id, state] : trials_.in_order())
    if (is_reported(*state)) reported_.emplace(state->number, uuid_text(id));
  next_ = saved.next_number;
  training_ = saved.training;
  return {};
}

}  // namespace det::search
