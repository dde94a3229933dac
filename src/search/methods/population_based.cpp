#include "det/search/methods/population_based.h"

#include <algorithm>
#include <cmath>

#include "det/search/sampling/sampling.h"
#include "det/search/section.h"

namespace det::search {

namespace {

double number(const json::value& value) {
  return json::to_double(value).value_or(0);
}

/// One value, perturbed, by the kind of its hyperparameter.
struct Perturb {
  const json::value& value;
  bool decrease;
  double times;

  json::value operator()(const config::Integer& range) const {
    const double moved = number(value) * times;
    const double whole = decrease ? std::floor(moved) : std::ceil(moved);
    const double low = static_cast<double>(range.minval), high = static_cast<double>(range.maxval);
    return static_cast<std::int64_t>(std::clamp(whole, low, high));
  }
  json::value operator()(const config::Double& range) const {
    return std::clamp(number(value) * times, range.minval, range.maxval);
  }
  json::value operator()(const config::Log& range) const {
    return std::clamp(number(value) * times, std::pow(range.base, range.minval),
                      std::pow(range.base, range.maxval));
  }
  json::value operator()(const auto&) const { return value; }
};

}  // namespace

json::object explore(const config::Hyperparameters& hyperparameters, const json::object& values,
                     const PopulationBased::Options& options, config::Generation generation, Random& random) {
  json::object near;
  for (const auto& [name, hyperparameter] : hyperparameters) {
    const auto* known = values.if_contains(name);
    if (const auto* nested = std::get_if<config::Nested>(&hyperparameter.kind)) {
      const auto inner = known != nullptr && known->is_object() ? known->get_object() : json::object();
      near[name] = explore(nested->children, inner, options, generation, random);
    } else if (random.unit() < options.resample_probability || known == nullptr) {
      near[name] = sample({{name, hyperparameter}}, generation, random).at(name);
    } else {
      const bool decrease = random.unit() < 0.5;
      const double times = decrease ? 1 - options.perturb_factor : 1 + options.perturb_factor;
      near[name] = std::visit(Perturb{*known, decrease, times}, hyperparameter.kind);
    }
  }
  return near;
}

PopulationBased::PopulationBased(const Options& options, const config::ExperimentConfig& config)
    : options_(options), hyperparameters_(config.hyperparameters), generation_(config.generation) {}

Operations PopulationBased::start(Random& random) {
  Operations operations;
  for (std::int64_t i = 0; i < options_.population; ++i)
    create(sample(hyperparameters_, generation_, random), {}, operations, random);
  return operations;
}

void PopulationBased::create(json::object hparams, const RequestId& parent, Operations& operations,
                             Random& random) {
  auto create = create_trial(std::move(hparams), random);
  create.parent = parent;
  auto& member = members_[create.request_id];
  member.hparams = create.hparams;
  const auto id = create.request_id;
  operations.emplace_back(std::move(create));
  train(id, member, operations);
}

void PopulationBased::train(const RequestId& trial, Member& member, Operations& operations) {
  member.length += options_.length;
  member.metric = member.exited ? std::optional(kWorstMetric) : std::nullopt;
  if (!member.exited) operations.emplace_back(ValidateAfter{.request_id = trial, .length = member.length});
}

bool PopulationBased::all_reported() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& one) { return one.second.metric.has_value(); });
}

Operations PopulationBased::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                                 Random& random) {
  Operations operations;
  const auto it = members_.find(trial);
  if (it == members_.end() || it->second.metric || length < it->second.length) return operations;
  it->second.metric = metric;
  end_rounds(operations, random);
  return operations;
}

Operations PopulationBased::trial_exited_early(const RequestId& trial, ExitedReason, Random& random) {
  Operations operations;
  const auto it = members_.find(trial);
  if (it == members_.end()) return operations;  // closed at the end of a round
  it->second.exited = true;
  if (it->second.metric) return operations;
  it->second.metric = kWorstMetric;
  end_rounds(operations, random);
  return operations;
}

/// Who is closed unasked, because the experiment is being stopped, is as good as exited: others may still
/// report.
Operations PopulationBased::trial_closed(const RequestId& trial, Random&) {
  if (const auto it = members_.find(trial); it != members_.end()) {
    it->second.exited = true;
    if (!it->second.metric) it->second.metric = kWorstMetric;
  }
  return {};
}

void PopulationBased::end_rounds(Operations& operations, Random& random) {
  while (all_reported() && rounds_completed_ < options_.rounds) {
    const auto close = [&](const RequestId& trial) {
      if (!members_.at(trial).exited) operations.emplace_back(Close{.request_id = trial});
      members_.erase(trial);
    };
    std::vector<std::pair<double, RequestId>> order;
    for (const auto& [trial, member] : members_) order.emplace_back(*member.metric, trial);
    std::sort(order.begin(), order.end());
    if (++rounds_completed_ >= options_.rounds) {
      for (const auto& [metric, trial] : order) close(trial);
      return;
    }
    const auto count =
        static_cast<std::size_t>(options_.truncate_fraction * static_cast<double>(options_.population));
    const auto replaced = std::min(count, order.size() / 2);
    const auto survivors = order.size() - replaced;
    for (std::size_t i = survivors; i < order.size(); ++i) close(order[i].second);
    for (std::size_t i = 0; i < survivors; ++i)
      train(order[i].second, members_.at(order[i].second), operations);
    for (std::size_t i = 0; i < replaced; ++i) {
      const auto& parent = members_.at(order[i].second);
      if (parent.exited) continue;
      create(explore(hyperparameters_, parent.hparams, options_, generation_, random), order[i].second,
             operations, random);
    }
  }
}

double PopulationBased::progress() const {
  if (rounds_completed_ >= options_.rounds) return 1;
  const auto reported = std::count_if(members_.begin(), members_.end(),
                                      [](const auto& one) { return one.second.metric.has_value(); });
  const double round =
      members_.empty() ? 0 : static_cast<double>(reported) / static_cast<double>(members_.size());
  return (static_cast<double>(rounds_completed_) + round) / static_cast<double>(options_.rounds);
}

struct PopulationBased::Saved {
  std::string search_method_type = "pbt";
  std::map<RequestId, Member> members;
  std::int64_t rounds_completed = 0;
  BOOST_DESCRIBE_CLASS(Saved, (), (search_method_type, members, rounds_completed), (), ())
};

json::value PopulationBased::snapshot() const {
  Saved saved;
  saved.members = members_;
  saved.rounds_completed = rounds_completed_;
  return json::to_json(saved);
}

Result<void> PopulationBased::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "pbt")
    return invalid_argument("search_method_type is \"{}\"; must be \"pbt\"", saved.search_method_type);
  if (saved.members.empty() && saved.rounds_completed > 0 && saved.rounds_completed < options_.rounds)
    return failed_precondition("all {} rounds of the search have ended; it cannot get more rounds",
                               saved.rounds_completed);
  members_ = std::move(saved.members);
  rounds_completed_ = saved.rounds_completed;
  return {};
}

namespace {

struct Replace {
  double truncate_fraction = 0;
};
BOOST_DESCRIBE_STRUCT(Replace, (), (truncate_fraction))
struct Explore {
  double resample_probability = 0, perturb_factor = 0;
};
BOOST_DESCRIBE_STRUCT(Explore, (), (resample_probability, perturb_factor))
struct Section {
  std::int64_t population_size = 1, num_rounds = 1;
  std::optional<std::int64_t> steps_per_round;
  std::optional<json::value> length_per_round;
  Replace replace_function;
  Explore explore_function;
};
BOOST_DESCRIBE_STRUCT(Section, (),
                      (population_size, num_rounds, steps_per_round, length_per_round, replace_function,
                       explore_function))

}  // namespace

Result<std::unique_ptr<SearchMethod>> make_population_based(const config::ExperimentConfig& config) {
  if (auto checked = check_samplable(config.hyperparameters, config.generation); !checked)
    return tl::unexpected(std::move(checked).error());
  DET_TRY(const auto section, read_section<Section>(config));
  std::int64_t length = section.steps_per_round.value_or(0) * config.scheduling_unit;
  if (section.length_per_round) length = length_count(*section.length_per_round).value_or(0);
  if (length < 1) return invalid_argument("searcher.length_per_round is {}; it must be at least 1", length);
  if (section.population_size > kTrialsAtOnceMax)
    return invalid_argument("searcher.population_size is {}; it must be at most {}", section.population_size,
                            kTrialsAtOnceMax);
  return std::make_unique<PopulationBased>(
      PopulationBased::Options{.population = section.population_size,
                               .rounds = section.num_rounds,
                               .length = length,
                               .truncate_fraction = section.replace_function.truncate_fraction,
                               .resample_probability = section.explore_function.resample_probability,
                               .perturb_factor = section.explore_function.perturb_factor},
      config);
}

}  // namespace det::search
