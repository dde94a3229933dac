#include "det/search/halving/async_halving.h"

#include <algorithm>
#include <cmath>

#include "det/search/sampling/sampling.h"

namespace det::search {

namespace {

std::int64_t part(std::int64_t count, double divisor) {
  return static_cast<std::int64_t>(static_cast<double>(count) / divisor);
}

}  // namespace

AsyncHalving::AsyncHalving(Options options, const config::ExperimentConfig& config)
    : options_(std::move(options)),
      hyperparameters_(config.hyperparameters),
      generation_(config.generation),
      rungs_(options_.lengths.size()) {
  // Where the divisor makes them equal, each is a unit longer than the one below: nobody validates twice at
  // a length.
  for (std::size_t i = 0; i < rungs_.size(); ++i)
    rungs_[i].length = i == 0 ? options_.lengths[0] : std::max(options_.lengths[i], rungs_[i - 1].length + 1);
}

Operations AsyncHalving::start(Random& random) {
  Operations operations;
  for (std::int64_t i = concurrent_max(); i > 0; --i) create(operations, random);
  return operations;
}

/// How many trials train at a time.
std::int64_t AsyncHalving::concurrent_max() const {
  auto most = options_.concurrent_max;
  if (most == 0) {
    const double wanted = std::pow(options_.divisor, static_cast<double>(top()));
    most =
        wanted < static_cast<double>(options_.trials) ? static_cast<std::int64_t>(wanted) : options_.trials;
  }
  return std::clamp<std::int64_t>(std::min(most, kTrialsAtOnceMax), 1, options_.trials);
}

/// Losers that were closed stay closed: they are promoted no more, and make no room for a promotion either.
void AsyncHalving::forget_who_is_gone() {
  for (auto& rung : rungs_)
    rung.ranking.each([&](Ranking::Entry& entry) {
      if (alive(entry.trial) == nullptr) entry.promoted = true;
    });
}

Operations AsyncHalving::resized(Random& random) {
  forget_who_is_gone();
  Operations operations;
  raise_top(operations);
  while (has_room()) create(operations, random);
  if (!options_.stop_once && rungs_[0].ranking.size() >= options_.trials) close_losers(operations);
  return operations;
}

/// Who is on the way to the top goes on to where it is now; who was there and is closed stays closed.
void AsyncHalving::raise_top(Operations& operations) {
  const auto longest = options_.lengths.back();
  if (longest <= rungs_.back().length) return;
  rungs_.back().length = longest;
  for (const auto& [trial, state] : trials_.in_order())
    if (state->training && state->rung == top())
      operations.emplace_back(ValidateAfter{.request_id = uuid_text(trial), .length = longest});
}

/// The rung that the trial was on the way to.
std::size_t AsyncHalving::rung_of(const Again& again) const {
  return std::min(static_cast<std::size_t>(again.validations), top());
}

/// Takes back the results that the ends of trials counted as, and says of which it did: others are of another
/// search.
TrialMap<bool> AsyncHalving::forget_ends(const std::vector<Again>& trials) {
  TrialMap<std::size_t> first_rungs;
  for (const auto& again : trials) first_rungs.insert(again.create.request_id, rung_of(again));
  TrialMap<bool> forgotten;
  for (std::size_t i = 0; i < rungs_.size(); ++i)
    rungs_[i].ranking.erase_if([&](const Ranking::Entry& entry) {
      const auto* first = first_rungs.find(entry.trial);
      if (first == nullptr || i < *first) return false;
      forgotten.insert(entry.trial, true);
      return true;
    });
  return forgotten;
}

Operations AsyncHalving::run_again(std::vector<Again>& trials, Random& random) {
  const auto forgotten = forget_ends(trials);
  std::erase_if(trials, [&](Again& again) {
    if (!forgotten.contains(again.create.request_id)) return false;
    --completed_;
    again_.push_back(std::move(again));
    return true;
  });
  forget_who_is_gone();
  Operations operations;
  while (has_room()) create(operations, random);
  return operations;
}

bool AsyncHalving::has_room() const {
  return (created_ - invalid_ < options_.trials || !again_.empty()) && training() < concurrent_max();
}

/// The trial continues where it stopped, in the rung that it trained towards.
void AsyncHalving::create_again(Operations& operations) {
  const auto again = std::move(again_.front());
  again_.pop_front();
  const auto& id = again.create.request_id;
  const auto rung = rung_of(again);
  trials_.insert(id, {.rung = static_cast<std::uint32_t>(rung)});
  ++rungs_[rung].training;
  settled_ = std::min(settled_, rung);
  operations.emplace_back(again.create);
  operations.emplace_back(ValidateAfter{.request_id = id, .length = rungs_[rung].length});
}

std::int64_t AsyncHalving::training() const {
  std::int64_t trials = 0;
  for (const auto& rung : rungs_) trials += rung.training;
  return trials;
}

void AsyncHalving::create(Operations& operations, Random& random) {
  if (!again_.empty()) return create_again(operations);
  auto create = create_trial(sample(hyperparameters_, generation_, random), random);
  const auto id = create.request_id;
  trials_.insert(id);
  ++created_;
  ++rungs_[0].training;
  settled_ = 0;
  operations.emplace_back(std::move(create));
  operations.emplace_back(ValidateAfter{.request_id = id, .length = rungs_[0].length});
}

void AsyncHalving::create_if_wanted(Operations& operations, Random& random) {
  if (has_room()) create(operations, random);
}

/// The trial that stands in a ranking, if it can still be told to go on.
AsyncHalving::Trial* AsyncHalving::alive(const Uuid& trial) {
  auto* state = trials_.find(trial);
  return state == nullptr || state->exited || state->closing ? nullptr : state;
}

void AsyncHalving::close(const Uuid& trial, Operations& operations) {
  auto* state = alive(trial);
  if (state == nullptr) return;
  state->closing = true;
  operations.emplace_back(Close{.request_id = uuid_text(trial)});
}

void AsyncHalving::climb(Trial& state, const Uuid& trial, Operations& operations) {
  auto& rung = rungs_[++state.rung];
  ++rung.training;
  state.training = true;
  operations.emplace_back(ValidateAfter{.request_id = uuid_text(trial), .length = rung.length});
}

/// The rung that a trial trained towards and now has a result of.
std::size_t AsyncHalving::arrived(Trial& state) {
  DET_ASSERT(state.training);
  state.training = false;
  --rungs_[state.rung].training;
  return state.rung;
}

Operations AsyncHalving::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                              Random& random) {
  Operations operations;
  const auto id = uuid_of(trial);
  // A trial that decides itself when it validates may pass several rungs at once.
  for (auto* state = &trials_.at(id); state->training && length >= rungs_[state->rung].length;
       state = &trials_.at(id))
    result(id, *state, metric, operations, random);
  return operations;
}

void AsyncHalving::result(const Uuid& trial, Trial& state, double metric, Operations& operations,
                          Random& random) {
  const auto rung = arrived(state);
  const bool goes_on =
      options_.stop_once ? judge(trial, rung, metric, operations) : promote(trial, rung, metric, operations);
  if (!goes_on) create_if_wanted(operations, random);
  if (!options_.stop_once && rungs_[0].ranking.size() >= options_.trials) close_losers(operations);
}

/// With promotion: sends up whoever is among the best now, this trial or another. True if somebody trains on.
bool AsyncHalving::promote(Uuid trial, std::size_t rung, double metric, Operations& operations) {
  // Who has ended already has the worst result of the next rung at once.
  for (;; ++rung, metric = kWorstMetric) {
    auto& ranking = rungs_[rung].ranking;
    const auto before = part(ranking.size(), options_.divisor);
    const auto after = part(ranking.size() + 1, options_.divisor);
    const bool itself = ranking.insert(trial, metric, Ranking::Ties::OldestFirst, after, rung < top());
    if (rung == top()) {
      close(trial, operations);
      return false;
    }
    if (!itself) {
      if (after == before || ranking.last_of_best().promoted) return false;
      ranking.last_of_best().promoted = true;
      trial = ranking.last_of_best().trial;
    }
    if (auto* state = alive(trial)) {
      climb(*state, trial, operations);
      return true;
    }
  }
}

/// With `stop_once`: sends this trial up if it is among the best so far, else stops it for good.
bool AsyncHalving::judge(const Uuid& trial, std::size_t rung, double metric, Operations& operations) {
  auto& ranking = rungs_[rung].ranking;
  const auto allowed = std::max<std::int64_t>(part(ranking.size() + 1, options_.divisor), 1);
  const bool among = ranking.insert(trial, metric, Ranking::Ties::NewestFirst, allowed);
  auto* state = alive(trial);
  if (state != nullptr && rung < top() && among) {
    climb(*state, trial, operations);
    return true;
  }
  close(trial, operations);
  return false;
}

/// Everybody has been in the lowest rung: who was not promoted out of a rung where nobody trains will not be.
void AsyncHalving::close_losers(Operations& operations) {
  for (; settled_ < rungs_.size() && rungs_[settled_].training == 0; ++settled_) {
    const auto all = rungs_[settled_].ranking.in_order();
    const auto losers = std::ranges::count(all, false, &Ranking::Entry::promoted);
    operations.reserve(operations.size() + static_cast<std::size_t>(losers));
    for (const auto& entry : all)
      if (!entry.promoted) close(entry.trial, operations);
  }
}

Operations AsyncHalving::trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) {
  Operations operations;
  const auto id = uuid_of(trial);
  auto& state = trials_.at(id);
  state.exited = true;
  if (says_invalid_hyperparameters(reason)) {
    // Most have no result yet, and nobody need be looked for.
    const auto rungs = state.training ? state.rung : rungs_.size();
    if (state.training) arrived(state);
    ++invalid_;
    for (std::size_t i = 0; i < rungs; ++i)
      rungs_[i].ranking.erase_if([&](const Ranking::Entry& entry) { return entry.trial == id; });
    create(operations, random);
  } else if (state.training) {
    result(id, state, kWorstMetric, operations, random);
  }  // Else it waited in its rung, and has the worst result of the next one if it is promoted.
  return operations;
}

Operations AsyncHalving::trial_closed(const RequestId& trial, Random&) {
  trials_.erase(trial);
  ++completed_;
  return {};
}

double AsyncHalving::progress() const {
  const auto trials = static_cast<double>(options_.trials);
  const auto first = rungs_[0].ranking.size();
  const double part = static_cast<double>(first) / (1.2 * trials);
  if (first < options_.trials && completed_ - invalid_ < options_.trials) return part;
  return std::max(part, static_cast<double>(completed_ - invalid_) / trials);
}

namespace {

struct SavedRung {
  std::int64_t units_needed = 0;  ///< 0: by an earlier release, when the configuration's stayed
  Ranking metrics;
  std::int64_t outstanding_trials = 0;
};
BOOST_DESCRIBE_STRUCT(SavedRung, (), (units_needed, metrics, outstanding_trials))

}  // namespace

struct AsyncHalving::Saved {
  std::string search_method_type = "asha";
  std::vector<SavedRung> rungs;
  TrialMap<Trial> trials;
  std::deque<Again> again_trials;
  std::int64_t created_trials = 0;
  std::int64_t invalid_trials = 0;
  std::int64_t trials_completed = 0;
  std::uint64_t settled_rungs = 0;
  BOOST_DESCRIBE_CLASS(Saved, (),
                       (search_method_type, rungs, trials, again_trials, created_trials, invalid_trials,
                        trials_completed, settled_rungs),
                       (), ())
};

json::value AsyncHalving::snapshot() const {
  Saved saved;
  for (const auto& rung : rungs_) saved.rungs.push_back({rung.length, rung.ranking, rung.training});
  saved.trials = trials_;
  saved.again_trials = again_;
  saved.created_trials = created_;
  saved.invalid_trials = invalid_;
  saved.trials_completed = completed_;
  saved.settled_rungs = settled_;
  return json::to_json(saved);
}

Result<void> AsyncHalving::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "asha")
    return invalid_argument("search_method_type is \"{}\"; must be \"asha\"", saved.search_method_type);
  if (saved.rungs.size() != rungs_.size())
    return invalid_argument("rungs has {} entries; the configuration makes {}", saved.rungs.size(),
                            rungs_.size());
  for (const auto& [id, trial] : saved.trials.in_order())
    if (trial->rung >= rungs_.size())
      return invalid_argument("trials.{}.rung is {}; must be below {}", uuid_text(id), trial->rung,
                              rungs_.size());
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    rungs_[i].ranking = std::move(saved.rungs[i].metrics);
    rungs_[i].training = saved.rungs[i].outstanding_trials;
    if (saved.rungs[i].units_needed > 0) rungs_[i].length = saved.rungs[i].units_needed;
  }
  trials_ = std::move(saved.trials);
  again_ = std::move(saved.again_trials);
  created_ = saved.created_trials;
  invalid_ = saved.invalid_trials;
  completed_ = saved.trials_completed;
  settled_ = static_cast<std::size_t>(saved.settled_rungs);
  return {};
}

}  // namespace det::search
