// A Tree-structured Parzen Estimator: trials are drawn where good results were frequent and bad ones rare.

#include <algorithm>
#include <cmath>

#include "det/search/methods/parzen.h"
#include "det/search/methods/whole_trials.h"
#include "det/search/sampling/sampling.h"
#include "det/search/section.h"

namespace det::search {
namespace {

constexpr std::size_t kCandidates = 32;  // of which the most promising one is tried
constexpr double kGoodPart = 0.16;       // tuned: decision 45
constexpr std::size_t kGoodMax = 25;
/// So many of the newest of those that are not good are looked at: a trial then costs the same, late and
/// early.
constexpr std::size_t kOthersMax = 500;

/// The leaves of a space and their values as numbers, in the order of `sample`.
class Space {
 public:
  explicit Space(const config::Hyperparameters& hyperparameters) : hyperparameters_(hyperparameters) {
    add(hyperparameters_);
  }
  const std::vector<Axis>& axes() const { return axes_; }

  std::vector<double> numbers(const json::object& values) const {
    std::vector<double> numbers;
    read(hyperparameters_, values, numbers);
    return numbers;
  }
  json::object values(const std::vector<double>& numbers) const {
    std::size_t next = 0;
    return write(hyperparameters_, numbers, next);
  }

 private:
  void add(const config::Hyperparameters& level) {
    for (const auto& [name, hyperparameter] : level) {
      const auto& kind = hyperparameter.kind;
      if (const auto* nested = std::get_if<config::Nested>(&kind))
        add(nested->children);
      else if (const auto* integer = std::get_if<config::Integer>(&kind))
        axes_.push_back({Axis::Kind::Integer, static_cast<double>(integer->minval),
                         static_cast<double>(integer->maxval)});
      else if (const auto* real = std::get_if<config::Double>(&kind))
        axes_.push_back({Axis::Kind::Real, real->minval, real->maxval});
      else if (const auto* log = std::get_if<config::Log>(&kind))
        axes_.push_back({Axis::Kind::Real, log->minval, log->maxval});
      else if (const auto* choice = std::get_if<config::Categorical>(&kind))
        axes_.push_back({Axis::Kind::Choice, 0, static_cast<double>(choice->values.size() - 1)});
    }
  }

  static void read(const config::Hyperparameters& level, const json::object& values,
                   std::vector<double>& numbers) {
    for (const auto& [name, hyperparameter] : level) {
      const auto& kind = hyperparameter.kind;
      const auto& value = values.at(name);
      if (const auto* nested = std::get_if<config::Nested>(&kind)) {
        read(nested->children, value.get_object(), numbers);
      } else if (const auto* log = std::get_if<config::Log>(&kind)) {
        const auto exponent = std::log(json::to_double(value).value_or(1)) / std::log(log->base);
        numbers.push_back(std::clamp(exponent, log->minval, log->maxval));
      } else if (const auto* choice = std::get_if<config::Categorical>(&kind)) {
        const auto found = std::ranges::find(choice->values, value);
        numbers.push_back(static_cast<double>(found - choice->values.begin()));
      } else if (!std::holds_alternative<config::Constant>(kind)) {
        numbers.push_back(json::to_double(value).value_or(0));
      }
    }
  }

  static json::object write(const config::Hyperparameters& level, const std::vector<double>& numbers,
                            std::size_t& next) {
    json::object values;
    for (const auto& [name, hyperparameter] : level) {
      const auto& kind = hyperparameter.kind;
      if (const auto* constant = std::get_if<config::Constant>(&kind)) {
        values[name] = constant->value;
      } else if (const auto* nested = std::get_if<config::Nested>(&kind)) {
        values[name] = write(nested->children, numbers, next);
      } else if (const auto* log = std::get_if<config::Log>(&kind)) {
        values[name] = std::pow(log->base, numbers[next++]);
      } else if (const auto* choice = std::get_if<config::Categorical>(&kind)) {
        values[name] = choice->values[static_cast<std::size_t>(numbers[next++])];
      } else if (std::holds_alternative<config::Integer>(kind)) {
        values[name] = static_cast<std::int64_t>(numbers[next++]);
      } else {
        values[name] = numbers[next++];
      }
    }
    return values;
  }

  config::Hyperparameters hyperparameters_;
  std::vector<Axis> axes_;
};

/// Of the best first: falling by the same step to the last, 1 on average.
std::vector<double> weights_by_rank(std::size_t count) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < count; ++i)
    weights.push_back(2 * static_cast<double>(count - i) / static_cast<double>(count + 1));
  return weights;
}

struct Observation {
  std::vector<double> numbers;
  double metric = 0;
};
BOOST_DESCRIBE_STRUCT(Observation, (), (numbers, metric))
struct SavedTpe {
  std::string search_method_type = "tpe";
  json::value trials;
  std::vector<Observation> observations;
  std::map<RequestId, std::vector<double>> open;
};
BOOST_DESCRIBE_STRUCT(SavedTpe, (), (search_method_type, trials, observations, open))

class TpeSearch final : public WholeTrials {
 public:
  TpeSearch(Options options, std::int64_t random_trials, const config::ExperimentConfig& config)
      : WholeTrials(std::move(options)),
        random_trials_(static_cast<std::size_t>(random_trials)),
        hyperparameters_(config.hyperparameters),
        generation_(config.generation),
        space_(config.hyperparameters) {}

  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override {
    if (const auto open = open_.find(trial); open != open_.end()) {
      observations_.push_back({open->second, metric});
      open_.erase(open);
    }
    return WholeTrials::validation_completed(trial, metric, length, random);
  }
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override {
    // Where trials fail or hyperparameters are invalid, it is bad.
    if (const auto open = open_.find(trial); open != open_.end()) {
      if (reason == ExitedReason::Errored || says_invalid_hyperparameters(reason))
        observations_.push_back({open->second, kWorstMetric});
      open_.erase(open);
    }
    return WholeTrials::trial_exited_early(trial, reason, random);
  }
  Operations trial_closed(const RequestId& trial, Random& random) override {
    open_.erase(trial);
    return WholeTrials::trial_closed(trial, random);
  }

  Operations run_again(std::vector<Again>& trials, Random& random) override {
    for (const auto& trial : trials) {  // that it failed says nothing any more
      const auto numbers = space_.numbers(trial.create.hparams);
      const auto known = std::ranges::find_if(observations_, [&](const Observation& each) {
        return each.metric == kWorstMetric && each.numbers == numbers;
      });
      if (known != observations_.end()) observations_.erase(known);
    }
    return WholeTrials::run_again(trials, random);
  }

  json::value snapshot() const override {
    SavedTpe saved{.trials = WholeTrials::snapshot(), .observations = observations_, .open = open_};
    return json::to_json(saved);
  }
  Result<void> restore(const json::value& snapshot) override {
    DET_TRY(auto saved, json::from_json<SavedTpe>(snapshot));
    if (saved.search_method_type != "tpe")
      return invalid_argument("search_method_type is \"{}\"; must be \"tpe\"", saved.search_method_type);
    for (const auto& each : saved.observations)
      if (each.numbers.size() != space_.axes().size())
        return invalid_argument("an observation has {} numbers; the hyperparameters have {}",
                                each.numbers.size(), space_.axes().size());
    if (auto restored = WholeTrials::restore(saved.trials); !restored) return restored;
    observations_ = std::move(saved.observations);
    open_ = std::move(saved.open);
    return {};
  }

 private:
  json::object hyperparameters(std::int64_t, Random& random) const override {
    if (observations_.size() < random_trials_ || space_.axes().empty())
      return sample(hyperparameters_, generation_, random);
    return space_.values(promising(random));
  }
  void created(const Create& create) override {
    open_.emplace(create.request_id, space_.numbers(create.hparams));
  }

  /// Of some points drawn near good results: the one where good ones were most frequent, compared with
  /// others.
  std::vector<double> promising(Random& random) const {
    std::vector<std::size_t> order(observations_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto count = static_cast<double>(order.size());
    const auto good = std::min(static_cast<std::size_t>(std::ceil(kGoodPart * count)), kGoodMax);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(good), order.end(),
                      [&](std::size_t a, std::size_t b) {
                        return std::pair(observations_[a].metric, a) < std::pair(observations_[b].metric, b);
                      });
    std::vector<std::size_t> others(order.begin() + static_cast<std::ptrdiff_t>(good), order.end());
    std::ranges::sort(others, std::greater<>());
    others.resize(std::min(others.size(), kOthersMax));
    order.resize(good);
    const auto estimator = [&](const std::vector<std::size_t>& chosen, const std::vector<double>& weights) {
      std::vector<Point> observed;
      for (const auto i : chosen) observed.push_back(observations_[i].numbers);
      return Parzen(space_.axes(), observed, weights);
    };
    const auto near = estimator(order, weights_by_rank(good));
    const auto far = estimator(others, std::vector<double>(others.size(), 1));
    Point best;
    double best_gain = 0;
    for (std::size_t i = 0; i < kCandidates; ++i) {
      auto candidate = near.draw(random);
      const double gain = near.log_density(candidate) - far.log_density(candidate);
      if (best.empty() || gain > best_gain) {
        best = std::move(candidate);
        best_gain = gain;
      }
    }
    return best;
  }

  const std::size_t random_trials_;
  const config::Hyperparameters hyperparameters_;
  const config::Generation generation_;
  const Space space_;
  std::vector<Observation> observations_;  ///< in the order in which they came
  std::map<RequestId, std::vector<double>> open_;
};

struct Section {
  std::int64_t random_trials = 10;
};
BOOST_DESCRIBE_STRUCT(Section, (), (random_trials))

// The snapshot holds every observation, and each trial costs a look at hundreds of them.
constexpr std::int64_t kTrialsMax = 100'000;

}  // namespace

/// `random_trials` independent samples, then trials that results suggest; all train the whole length.
Result<std::unique_ptr<SearchMethod>> make_tpe(const config::ExperimentConfig& config) {
  DET_TRY(auto options, whole_trials_options(config));
  DET_TRY(const auto section, read_section<Section>(config));
  options.trials = config.searcher.max_trials;
  options.replaces_invalid = true;
  if (options.trials < 1 || options.trials > kTrialsMax)
    return invalid_argument("searcher.max_trials is {}; it must be from 1 to {} with the searcher tpe",
                            options.trials, kTrialsMax);
  if (section.random_trials < 1)
    return invalid_argument("searcher.random_trials is {}; it must be at least 1", section.random_trials);
  return std::make_unique<TpeSearch>(std::move(options), section.random_trials, config);
}

}  // namespace det::search
