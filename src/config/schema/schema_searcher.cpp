#include "det/config/schema/schema.h"

namespace det::config::schema {

namespace {

// Lengths of the two generations: `max_steps` counts steps of batches_per_step
// batches; `max_length` says its unit, or none ("the trial decides").
Field steps(const char* name) {
  return field(name, integer().at_least(1), "In steps of batches_per_step batches (the old form).");
}
Field units(const char* name) {
  return field(name, any_of({integer().at_least(1), length(1)}), "How long a trial trains.");
}
Field max_trials() {
  return field("max_trials", integer().at_least(1), "How many trials the search runs.").required();
}
Field max_trials_2000() {
  return field("max_trials", integer().at_least(1).at_most(2000), "How many trials the search runs.")
      .required();
}
Field num_rungs() {
  return field("num_rungs", integer().at_least(1), "The number of rungs of successive halving.").required();
}
Field divisor() {
  return field("divisor", number().above(1), "One in this many trials is promoted to the next rung.")
      .otherwise(4);
}
Field max_rungs() {
  return field("max_rungs", integer().at_least(1), "The most rungs of successive halving.").otherwise(5);
}

Field concurrent() {
  return field("max_concurrent_trials", integer().at_least(0),
               "The most trials that run at once; 0 for no limit.")
      .otherwise(16)
      .otherwise_in_steps(0);
}

Field mode() {
  return field("mode", one_of({"aggressive", "standard", "conservative"}).says("invalid adaptive mode"),
               "How aggressively to stop trials early.")
      .otherwise("standard");
}

Field bracket_rungs() {
  return field("bracket_rungs", list(integer().at_least(1)),
               "The number of rungs of each bracket, instead of mode.")
      .otherwise(json::array{});
}

Field stragglers() {
  return field("train_stragglers", boolean(), "Has no effect.").otherwise(true);
}
Field stop_once() {
  return field("stop_once", boolean(), "Stop trials instead of promoting them.").otherwise(false);
}
Field deterministic() {
  return field("deterministic", boolean(),
               "Decide only when all running trials have reported, in the order of the trials: the same "
               "seed then gives the same search, regardless of how fast each trial is. Slots idle while "
               "they wait for the slowest trial.");
}
Field max_time() {
  return field("max_time", integer().at_least(1), "How long a trial trains, in units of time_metric.");
}
Field time_metric() {
  return field("time_metric", string().at_least(1), "The metric that measures a trial's progress.");
}

Field fraction(const char* name, double most, const char* about) {
  return field(name, number().at_least(0).at_most(most), about).required();
}

/// Where the class of a search method is: "module:Class".
Field search_class() {
  const auto names_a_class = [](std::string_view text) {
    const auto colon = text.find(':');
    return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
           text.find(':', colon + 1) == std::string_view::npos;
  };
  return field(
      "class", string().matches("^[^:]+:[^:]+$", names_a_class).says("must have the form module:Class"),
      "The subclass of determined.searcher.SearchMethod that decides, as module:Class; without it, a "
      "program of yours runs the search.");
}

std::vector<Field> join(std::vector<Field> fields, std::vector<Field> more) {
  fields.insert(fields.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return fields;
}

std::vector<Field> halving() {
  return {num_rungs(),          divisor(),           stragglers(),   steps("target_trial_steps"),
          steps("step_budget"), units("max_length"), units("budget")};
}

std::vector<Field> population() {
  return {
      field("population_size", integer().at_least(1), "Trials per round.").required(),
      field("num_rounds", integer().at_least(1), "The number of rounds.").required(),
      steps("steps_per_round"),
      units("length_per_round"),
      field("replace_function",
            section({fraction("truncate_fraction", 0.5,
                              "The fraction of the population that is replaced in each round.")}),
            "How trials are replaced.")
          .required(),
      field(
          "explore_function",
          section(
              {fraction("resample_probability", 1, "The probability that a hyperparameter is sampled anew."),
               fraction("perturb_factor", 1, "The factor by which a hyperparameter is changed otherwise.")}),
          "How the hyperparameters of new trials are perturbed.")
          .required()};
}

}  // namespace

Type searcher() {
  return tagged(
      "name",
      {field("metric", string().at_least(1), "The validation metric to optimize.").required(),
       field("smaller_is_better", boolean(), "Whether smaller values of the metric are better.")
           .otherwise(true),
       field("source_trial_id", integer().at_least(1),
             "Start from the latest checkpoint of this trial, given by ID.")
           .otherwise(nullptr),
       field("source_checkpoint_uuid",
             string()
                 .matches("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
                          [](std::string_view text) {
                            if (text.size() != 36) return false;
                            for (std::size_t i = 0; i < text.size(); ++i) {
                              const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
                              if (dash ? text[i] != '-'
                                       : std::string_view("0123456789abcdefABCDEF").find(text[i]) ==
                                             std::string_view::npos)
                                return false;
                            }
                            return true;
                          })
                 .says("invalid source checkpoint UUID"),
             "Start from this checkpoint.")
           .otherwise(nullptr)},
      {{"single", {steps("max_steps"), units("max_length")}},
       {"random", {steps("max_steps"), units("max_length"), max_trials(), concurrent()}},
       {"grid", {steps("max_steps"), units("max_length"), concurrent()}},
       {"custom",
        {field("unit", one_of({"batches", "records", "epochs"}), "The unit of the searcher's lengths.")
             .otherwise(nullptr),
         search_class(), field("args", map(any()), "Keyword arguments of the class.")}},
       {"adaptive_asha",
        {steps("target_trial_steps"), units("max_length"), max_time(), time_metric(), max_trials(), mode(),
         max_rungs(), divisor(), bracket_rungs(), concurrent(), stop_once(), deterministic()}},
       // Up to 0.12.9 this name meant sync_halving, and came with step_budget.
       {"async_halving",
        {num_rungs(), divisor(), steps("target_trial_steps"), steps("step_budget"), units("max_length"),
         units("budget"), max_time(), time_metric(),
         field("max_trials", integer().at_least(1), "How many trials the search runs."), concurrent(),
         stop_once(), deterministic(), field("train_stragglers", boolean(), "Has no effect.")}},
       {"sync_halving", halving()},
       {"adaptive",
        join({steps("target_trial_steps"), steps("step_budget"), units("max_length"), units("budget")},
             {mode(), max_rungs(), divisor(), bracket_rungs(), stragglers()})},
       {"adaptive_simple",
        {steps("max_steps"), units("max_length"), max_trials_2000(), mode(), max_rungs(), divisor()}},
       {"pbt", population()},
       {"tpe",
        {units("max_length"), max_trials(), concurrent(),
         field("random_trials", integer().at_least(1),
               "How many results to collect before they guide the search; until then it is random "
               "(default: 10).")}},
       {"optuna",
        {units("max_length"), max_trials(), concurrent(),
         field("metrics",
               list(section({field("name", string().at_least(1), "The name of the metric.").required(),
                             field("smaller_is_better", boolean(), "Whether smaller values are better.")
                                 .otherwise(true)})),
               "Further validation metrics to optimize at the same time as metric."),
         field("sampler",
               one_of({"TPESampler", "GPSampler", "CmaEsSampler", "NSGAIISampler", "NSGAIIISampler",
                       "RandomSampler", "QMCSampler", "GridSampler", "BruteForceSampler"}),
               "Optuna's sampler, which chooses hyperparameters.")
             .otherwise("TPESampler"),
         field("sampler_args", map(any()), "Keyword arguments of the sampler."),
         field("pruner",
               one_of({"NopPruner", "HyperbandPruner", "MedianPruner", "PercentilePruner",
                       "SuccessiveHalvingPruner", "ThresholdPruner"}),
               "Optuna's pruner, which stops trials early.")
             .otherwise("NopPruner"),
         field("pruner_args", map(any()), "Keyword arguments of the pruner. It counts validations as steps."),
         field("prune_every", integer().at_least(1),
               "How long a trial trains between two decisions of the pruner, in the unit of max_length "
               "(default: a tenth of max_length).")}}});
}

const Type& hyperparameter() {
  static const auto type = [] {
    const auto count = [] {
      return field("count", integer().at_least(1), "How many values of the range a grid search tries.");
    };
    auto kinds = tagged(
        "type",
        {field("when", map(literal()),
               "The hyperparameter exists only in trials where each of these others has the given value, "
               "or one of the given list.")},
        {{"const", {field("val", any(), "The value.").required()}},
         {"int",
          {field("minval", integer(), "The smallest value.").required(),
           field("maxval", integer(), "The largest value.").required(), count()}},
         {"double",
          {field("minval", number(), "The smallest value.").required(),
           field("maxval", number(), "The largest value.").required(), count()}},
         {"log",
          {field("base", number().above(0), "The base: values are powers of this number.").required(),
           field("minval", number(), "The smallest exponent.").required(),
           field("maxval", number(), "The largest exponent.").required(), count()}},
         {"categorical",
          {field("vals", list(any()).at_least(1).says("must have at least one category"),
                 "The values to choose from.")
               .required()}}});
    kinds.rule =
        "if a hyperparameter object's [\"type\"] is set, it must be one of \"int\", \"double\", \"log\", "
        "\"const\", or \"categorical\"";
    kinds.untagged = []() -> const Type& {
      static const auto nested = map(reference(hyperparameter));
      return nested;
    };
    return any_of({literal(), std::move(kinds)});
  }();
  return type;
}

}  // namespace det::config::schema
