#include "det/search/halving/sync_halving.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "det/search/sampling/sampling.h"

namespace det::search {

namespace {

void rise(std::vector<SyncHalving::Rung>& rungs, bool steps) {
  for (std::size_t i = 1; i < rungs.size(); ++i)
    rungs[i].length = std::max(rungs[i].length, rungs[i - 1].length + (steps ? 1 : 0));
}

}  // namespace

std::vector<SyncHalving::Rung> rungs_of_budget(std::int64_t longest, std::int64_t budget, double divisor,
                                               int rungs, bool steps) {
  const auto lengths = rung_lengths(longest, divisor, rungs);
  std::vector<SyncHalving::Rung> made;
  double expected = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto k = std::pow(divisor, static_cast<double>(rungs - 1) - static_cast<double>(i));
    made.push_back({lengths[i], std::max<std::int64_t>(static_cast<std::int64_t>(k), 1), 0});
    expected += static_cast<double>((i == 0 ? lengths[0] : lengths[i] - lengths[i - 1]) * made[i].start);
  }
  const double times = static_cast<double>(budget) / expected;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].start = static_cast<std::int64_t>(times * static_cast<double>(made[i].start));
    if (i == 0) continue;
    made[i].start = std::max<std::int64_t>(std::min(made[i].start, made[i - 1].start), 1);
    made[i - 1].promote = made[i].start;
  }
  made.front().start = std::max<std::int64_t>(made.front().start, 1);
  rise(made, steps);
  return made;
}

std::vector<SyncHalving::Rung> rungs_of_trials(std::int64_t longest, std::int64_t trials, double divisor,
                                               int rungs, bool steps) {
  std::vector<SyncHalving::Rung> made;
  const auto lengths = rung_lengths(longest, divisor, rungs);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto share = static_cast<double>(trials) / std::pow(divisor, static_cast<double>(i));
    made.push_back({lengths[i], std::max<std::int64_t>(static_cast<std::int64_t>(share), 1), 0});
    if (i > 0) made[i - 1].promote = made[i].start;
  }
  rise(made, steps);
  return made;
}

SyncHalving::SyncHalving(Options options, const config::ExperimentConfig& config)
    : options_(std::move(options)),
      hyperparameters_(config.hyperparameters),
      generation_(config.generation),
      rankings_(options_.rungs.size()) {
  lay(options_.rungs);
}

void SyncHalving::lay(std::vector<Rung> rungs) {
  rungs_ = std::move(rungs);
  expected_ = 0;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    const auto below = i == 0 ? 0 : rungs_[i - 1].length;
    const auto each =
        std::max<std::int64_t>(rungs_[i].length - below, i == 0 ? 0 : 1) + (options_.steps ? 1 : 0);
    expected_ += static_cast<double>(each * rungs_[i].start);
  }
}

Operations SyncHalving::start(Random& random) {
  Operations operations;
  for (std::int64_t i = 0; i < rungs_[0].start; ++i) {
    auto create = create_trial(sample(hyperparameters_, generation_, random), random);
    const auto id = create.request_id;
    operations.emplace_back(std::move(create));
    train(id, trials_[id], rungs_[0].length, operations);
  }
  return operations;
}

/// Who is on the way to the top goes on to where it is now; who was there and is closed stays closed.
Operations SyncHalving::resized(Random&) {
  Operations operations;
  const auto more = options_.rungs.back().length - rungs_.back().length;
  if (more <= 0) return operations;
  auto rungs = rungs_;
  rungs.back().length += more;
  lay(std::move(rungs));
  for (auto& [trial, state] : trials_)
    if (state.training && state.rung + 1 == rungs_.size())
      train(trial, state, state.length + more, operations);
  return operations;
}

void SyncHalving::train(const RequestId& trial, Trial& state, std::int64_t length, Operations& operations) {
  state.length = length;
  state.training = true;
  operations.emplace_back(ValidateAfter{.request_id = trial, .length = length * options_.step});
}

void SyncHalving::close(const RequestId& trial, Operations& operations) {
  const auto it = trials_.find(trial);
  if (it == trials_.end() || it->second.exited || it->second.closing) return;
  it->second.closing = true;
  operations.emplace_back(Close{.request_id = trial});
}

Operations SyncHalving::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                             Random&) {
  auto& state = trials_.at(trial);
  if (length < state.length * options_.step) return {};  // it was asked for more since
  state.training = false;
  trained(state, static_cast<double>(state.length));
  if (options_.steps) done_ += 1;
  Operations operations;
  result(trial, state.rung, metric, operations);
  return operations;
}

void SyncHalving::result(RequestId trial, std::size_t number, double metric, Operations& operations) {
  // Who has ended already has the worst result of the next rung at once.
  for (;; ++number, metric = kWorstMetric) {
    auto& ranking = rankings_[number];
    const auto& rung = rungs_[number];
    // With so many still to come, this many of those that are here are surely among the best.
    const auto sure = ranking.size() + 1 + rung.promote - rung.start;
    const bool itself = ranking.insert(uuid_of(trial), metric, Ranking::Ties::OldestFirst, sure);
    if (number + 1 == rankings_.size()) return close(trial, operations);
    DET_ASSERT(ranking.size() <= rung.start);
    const RequestId promoted = sure <= 0 ? RequestId()
                               : itself  ? trial
                                         : uuid_text(ranking.last_of_best().trial);
    bool ended = false;
    if (sure > 0) {
      const auto it = trials_.find(promoted);
      ended = it == trials_.end() || it->second.exited;
      if (!ended) {
        auto& state = it->second;
        state.rung = number + 1;
        const auto more = rungs_[number + 1].length - rung.length;
        train(promoted, state, state.length + std::max<std::int64_t>(more, 1), operations);
      }
    }
    if (ranking.size() == rung.start) {
      const auto all = ranking.in_order();
      for (const auto& loser : std::span(all).subspan(static_cast<std::size_t>(rung.promote)))
        close(uuid_text(loser.trial), operations);
    }
    if (!ended) return;
    trial = promoted;
  }
}

Operations SyncHalving::trial_exited_early(const RequestId& trial, ExitedReason, Random&) {
  auto& state = trials_.at(trial);
  state.exited = true;
  Operations operations;
  if (!state.training)
    return operations;  // It has its result; promoted, it has the worst one of the next rung.
  state.training = false;
  result(trial, state.rung, kWorstMetric, operations);
  return operations;
}

Operations SyncHalving::trial_closed(const RequestId& trial, Random&) {
  trials_.erase(trial);
  ++closed_;
  return {};
}

void SyncHalving::trained(Trial& state, double units) {
  if (units <= state.units) return;
  done_ += units - state.units;
  state.units = units;
}

void SyncHalving::trial_progressed(const RequestId& trial, double units) {
  auto& state = trials_.at(trial);
  const double asked = static_cast<double>(state.length);
  const double parts = units / static_cast<double>(options_.step);
  trained(state, std::min(options_.steps ? std::floor(parts) : parts, asked));
}

double SyncHalving::progress() const {
  if (closed_ == rungs_[0].start) return 1;
  return std::min(1.0, done_ / expected_);
}

struct SyncHalving::Saved {
  std::string search_method_type = "sync_halving";
  std::vector<Rung> laid;  ///< empty: by an earlier release, when the configuration's stayed
  std::vector<Ranking> rungs;
  std::map<RequestId, Trial> trials;
  double units_done = 0;
  std::int64_t closed_trials = 0;
  BOOST_DESCRIBE_CLASS(Saved, (), (search_method_type, laid, rungs, trials, units_done, closed_trials), (),
                       ())
};

json::value SyncHalving::snapshot() const {
  Saved saved;
  saved.laid = rungs_;
  saved.rungs = rankings_;
  saved.trials = trials_;
  saved.units_done = done_;
  saved.closed_trials = closed_;
  return json::to_json(saved);
}

Result<void> SyncHalving::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "sync_halving")
    return invalid_argument("search_method_type is \"{}\"; must be \"sync_halving\"",
                            saved.search_method_type);
  if (!saved.laid.empty() && saved.laid.size() != rankings_.size())
    return invalid_argument("laid has {} entries; the configuration makes {}", saved.laid.size(),
                            rankings_.size());
  if (saved.rungs.size() != rankings_.size())
    return invalid_argument("rungs has {} entries; the configuration makes {}", saved.rungs.size(),
                            rankings_.size());
  for (const auto& [id, trial] : saved.trials)
    if (trial.rung >= rankings_.size())
      return invalid_argument("trials.{}.rung is {}; must be below {}", id, trial.rung, rankings_.size());
  if (!saved.laid.empty()) lay(std::move(saved.laid));
  rankings_ = std::move(saved.rungs);
  trials_ = std::move(saved.trials);
  done_ = saved.units_done;
  closed_ = saved.closed_trials;
  return {};
}

}  // namespace det::search
