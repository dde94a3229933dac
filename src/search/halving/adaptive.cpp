#include "det/search/halving/adaptive.h"

#include <algorithm>

#include "det/search/halving/async_halving.h"
#include "det/search/halving/sync_halving.h"
#include "det/search/halving/tournament.h"
#include "det/search/methods/barrier.h"
#include "det/search/sampling/sampling.h"
#include "det/search/section.h"

namespace det::search {

namespace {

/// What the sections of these methods say, read once.
struct Section {
  std::string mode = "standard";
  double divisor = 4;
  std::int64_t max_rungs = 5, num_rungs = 1, max_trials = 1, max_concurrent_trials = 0;
  std::vector<std::int64_t> bracket_rungs;
  bool stop_once = false, deterministic = false;
  std::optional<std::int64_t> target_trial_steps, step_budget, max_steps;
  std::optional<json::value> budget;
};
BOOST_DESCRIBE_STRUCT(Section, (),
                      (mode, divisor, max_rungs, num_rungs, max_trials, max_concurrent_trials, bracket_rungs,
                       stop_once, deterministic, target_trial_steps, step_budget, max_steps, budget))

/// A section with the lengths in the unit that the rungs count: steps with `max_steps`, else the searcher's.
struct Plan {
  Section section;
  bool steps = false;
  std::int64_t step = 1;
  std::int64_t longest = 1;
  std::int64_t budget = 0;
  bool stop_once = false;
};

Result<Plan> plan_of(const config::ExperimentConfig& config) {
  if (auto checked = check_samplable(config.hyperparameters, config.generation); !checked)
    return tl::unexpected(std::move(checked).error());
  Plan plan;
  DET_TRY(plan.section, read_section<Section>(config));
  const auto& section = plan.section;
  plan.steps = config.generation == config::Generation::Steps;
  plan.stop_once = section.stop_once || config.generation == config::Generation::Time;
  if (plan.steps) {
    plan.step = config.scheduling_unit;
    plan.longest = section.max_steps ? *section.max_steps : section.target_trial_steps.value_or(0);
    plan.budget = section.step_budget.value_or(0);
  } else {
    plan.longest = config.searcher.max_length.count;
    if (section.budget) {
      const auto number = length_count(*section.budget);
      if (!number)
        return invalid_argument("searcher.budget is {}; it must be a length, such as {{batches: 1000}}",
                                json::serialize(*section.budget));
      plan.budget = *number;
    }
  }
  if (plan.longest < 1)
    return invalid_argument("searcher.{} is {}; it must be at least 1 with {}",
                            plan.steps ? "max_steps" : "max_length", plan.longest, config.searcher.name);
  return plan;
}

Result<std::int64_t> budget_of(const Plan& plan) {
  if (plan.budget <= plan.longest)
    return invalid_argument("searcher.{} is {}; it must be greater than {}, {}",
                            plan.steps ? "step_budget" : "budget", plan.budget,
                            plan.steps ? "target_trial_steps" : "max_length", plan.longest);
  return plan.budget;
}

/// All trials of the lowest rung train at once.
Result<std::unique_ptr<SearchMethod>> sync_halving(const Plan& plan, std::vector<SyncHalving::Rung> rungs,
                                                   const config::ExperimentConfig& config) {
  if (rungs.front().start > kTrialsAtOnceMax)
    return invalid_argument("the searcher {} would start with {} trials; the limit is {}",
                            config.searcher.name, rungs.front().start, kTrialsAtOnceMax);
  return std::make_unique<SyncHalving>(
      SyncHalving::Options{.rungs = std::move(rungs), .step = plan.step, .steps = plan.steps}, config);
}

AsyncBracket async_bracket(const Plan& plan, int rungs, std::int64_t trials, std::int64_t concurrent_max) {
  auto lengths = rung_lengths(plan.longest, plan.section.divisor, rungs);
  for (auto& length : lengths) length *= plan.step;
  return {.lengths = std::move(lengths), .trials = trials, .concurrent_max = concurrent_max};
}

std::unique_ptr<SearchMethod> async_halving(const Plan& plan, AsyncBracket bracket,
                                            const config::ExperimentConfig& config) {
  return std::make_unique<AsyncHalving>(AsyncHalving::Options{.lengths = std::move(bracket.lengths),
                                                              .divisor = plan.section.divisor,
                                                              .trials = bracket.trials,
                                                              .concurrent_max = bracket.concurrent_max,
                                                              .stop_once = plan.stop_once},
                                        config);
}

std::vector<int> brackets_of(const Section& section, int rungs_max) {
  std::vector<int> brackets;
  for (const auto rungs : section.bracket_rungs)
    brackets.push_back(static_cast<int>(std::min<std::int64_t>(rungs, 64)));
  if (brackets.empty()) return bracket_rungs(section.mode, rungs_max);
  std::sort(brackets.rbegin(), brackets.rend());
  return brackets;
}

/// With `deterministic`: the search behind a barrier.
std::unique_ptr<SearchMethod> in_order(const Section& section, std::unique_ptr<SearchMethod> search) {
  if (!section.deterministic) return search;
  return std::make_unique<Barrier>(std::move(search));
}

int limited(std::int64_t rungs) {
  return static_cast<int>(std::clamp<std::int64_t>(rungs, 1, 64));
}

}  // namespace

Result<std::unique_ptr<SearchMethod>> make_sync_halving(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  if (plan.budget < 1)
    return invalid_argument("searcher.{} is {}; it must be at least 1", plan.steps ? "step_budget" : "budget",
                            plan.budget);
  const auto& section = plan.section;
  return sync_halving(
      plan,
      rungs_of_budget(plan.longest, plan.budget, section.divisor, limited(section.num_rungs), plan.steps),
      config);
}

Result<std::unique_ptr<SearchMethod>> make_adaptive(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  DET_TRY(const auto budget, budget_of(plan));
  const auto brackets = brackets_of(plan.section, limited(plan.section.max_rungs));
  const auto share = budget / static_cast<std::int64_t>(brackets.size());
  std::vector<std::unique_ptr<SearchMethod>> searches;
  for (const int rungs : brackets) {
    DET_TRY(auto bracket,
            sync_halving(plan, rungs_of_budget(plan.longest, share, plan.section.divisor, rungs, plan.steps),
                         config));
    searches.push_back(std::move(bracket));
  }
  return std::make_unique<Tournament>(std::move(searches));
}

Result<std::unique_ptr<SearchMethod>> make_adaptive_simple(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  const auto& section = plan.section;
  const auto brackets = bracket_rungs(section.mode, limited(section.max_rungs));
  const auto trials = shared_out(section.max_trials, brackets.size());
  std::vector<std::unique_ptr<SearchMethod>> searches;
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    DET_TRY(auto bracket, sync_halving(plan,
                                       rungs_of_trials(plan.longest, std::max<std::int64_t>(trials[i], 1),
                                                       section.divisor, brackets[i], plan.steps),
                                       config));
    searches.push_back(std::move(bracket));
  }
  return std::make_unique<Tournament>(std::move(searches));
}

Result<std::vector<int>> adaptive_asha_brackets(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  const auto& section = plan.section;
  const int rungs_max = std::min({limited(section.max_rungs), rungs_for(plan.longest, section.divisor, 64),
                                  rungs_for(section.max_trials, section.divisor, 64)});
  return brackets_of(section, rungs_max);
}

Result<std::vector<AsyncBracket>> async_brackets(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  const auto& section = plan.section;
  if (config.searcher.name == "async_halving")
    return std::vector{
        async_bracket(plan, limited(section.num_rungs), section.max_trials, section.max_concurrent_trials)};
  DET_TRY(const auto rungs, adaptive_asha_brackets(config));
  const auto trials = bracket_trials(rungs, section.divisor, section.max_trials);
  const auto concurrent = bracket_concurrency(trials, section.divisor, section.max_concurrent_trials);
  std::vector<AsyncBracket> brackets;
  for (std::size_t i = 0; i < rungs.size(); ++i)
    brackets.push_back(async_bracket(plan, rungs[i], trials[i], concurrent[i]));
  return brackets;
}

Result<std::unique_ptr<SearchMethod>> make_async_halving(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  DET_TRY(auto brackets, async_brackets(config));
  return in_order(plan.section, async_halving(plan, std::move(brackets.front()), config));
}

Result<std::unique_ptr<SearchMethod>> make_adaptive_asha(const config::ExperimentConfig& config) {
  DET_TRY(const auto plan, plan_of(config));
  DET_TRY(auto brackets, async_brackets(config));
  std::vector<std::unique_ptr<SearchMethod>> searches;
  for (auto& bracket : brackets) searches.push_back(async_halving(plan, std::move(bracket), config));
  return in_order(plan.section, std::make_unique<Tournament>(std::move(searches)));
}

}  // namespace det::search
