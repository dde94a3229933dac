#include <algorithm>
#include <array>
#include <set>

#include "det/config/rules/rules.h"

namespace det::config {

namespace {

// A length in the words of both generations, and the searchers that need it.
struct LengthField {
  const char* steps;
  const char* units;
  std::vector<std::string_view> searchers;
};

const std::array<LengthField, 4>& length_fields() {
  static const std::array<LengthField, 4> fields = {{
      {"max_steps", "max_length", {"single", "random", "grid", "tpe", "optuna", "adaptive_simple"}},
      {"target_trial_steps", "max_length", {"adaptive_asha", "async_halving", "sync_halving", "adaptive"}},
      {"step_budget", "budget", {"sync_halving", "adaptive"}},
      {"steps_per_round", "length_per_round", {"pbt"}},
  }};
  return fields;
}

std::optional<std::int64_t> number_of(const json::object& object, std::string_view key) {
  const auto* found = find_member(object, key);
  return found != nullptr && found->is_number() ? json::to_int64(*found) : std::nullopt;
}

struct UnitAndCount {
  std::string unit;
  std::int64_t count = 0;
};

std::optional<UnitAndCount> length_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto count = json::to_int64(*value);
    return count ? std::optional(UnitAndCount{"", *count}) : std::nullopt;
  }
  const auto* object = value->if_object();
  if (object == nullptr) return std::nullopt;
  for (const auto* unit : {"batches", "records", "epochs"})
    if (const auto count = number_of(*object, unit)) return UnitAndCount{unit, *count};
  return std::nullopt;
}

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Up to 0.12.9 async_halving had a step_budget and was synchronous.
bool has_budget(const json::object& searcher) {
  return find_member(searcher, "step_budget") != nullptr || find_member(searcher, "budget") != nullptr;
}

void check_presence(const Subject& subject, const json::object& searcher, std::string_view name) {
  const auto path = Path{} / "searcher";
  const bool timed = name == "adaptive_asha" || name == "async_halving";
  const auto* max_time = find_member(searcher, "max_time");
  if (timed && max_time != nullptr) {
    if (find_member(searcher, "time_metric") == nullptr)
      subject.report.add(path,
                         "time_metric is a required property: it names the metric that max_time counts");
    if (find_member(searcher, "max_length") != nullptr)
      subject.report.add(path / "max_time", "max_time and max_length mean the same: keep only one of them");
    return;
  }
  // A script may decide itself how long it trains (0.38).
  const bool script = entrypoint_kind(subject.find({"entrypoint"})) == EntrypointKind::Command;
  for (const auto& field : length_fields()) {
    if (!is_one_of(name, field.searchers)) continue;
    if (find_member(searcher, field.steps) != nullptr || find_member(searcher, field.units) != nullptr)
      continue;
    if (script && is_one_of(name, {"single", "random", "grid", "tpe"})) continue;
    const bool steps = subject.generation == Generation::Steps;
    subject.report.add(
        path, steps ? fmt::format("{} is a required property", field.steps)
                    : fmt::format("{} is a required property ({} in a configuration that counts in steps)",
                                  field.units, field.steps));
  }
  if (name == "async_halving" && !has_budget(searcher) && find_member(searcher, "max_trials") == nullptr)
    subject.report.add(path, "max_trials is a required property");
}

// What a resolved configuration holds twice, edited in one place only.
void check_agreement(const Subject& subject, const json::object& searcher) {
  for (const auto& field : length_fields()) {
    const auto steps = number_of(searcher, field.steps);
    if (!steps || *steps < 1) continue;
    const auto path = Path{} / "searcher" / field.steps;
    const auto batches = check_steps(subject, path, *steps);
    const auto length = length_of(find_member(searcher, field.units));
    if (batches && length && (length->unit != "batches" || length->count != *batches))
      subject.report.add(
          path, fmt::format("{} is {} batches, but {} is {}: change both, or remove one", field.steps,
                            *batches, field.units, shown_value(*find_member(searcher, field.units))));
  }
}

void check_budget(const Subject& subject, const json::object& searcher) {
  const auto path = Path{} / "searcher";
  const auto target = number_of(searcher, "target_trial_steps");
  const auto steps = number_of(searcher, "step_budget");
  if (target && steps && *steps <= *target)
    return subject.report.add(
        path / "step_budget",
        fmt::format("step_budget must be > target_trial_steps: {} is not greater than {}", *steps, *target));
  if (steps && *steps > 50000)
    return subject.report.add(path / "step_budget",
                              fmt::format("step_budget must be <= 50000: {} is not at most 50000", *steps));
  const auto length = length_of(find_member(searcher, "max_length"));
  const auto budget = length_of(find_member(searcher, "budget"));
  if (!length || !budget) return;
  if (length->unit != budget->unit)
    subject.report.add(
        path / "budget",
        fmt::format("max_length and budget must be specified in terms of the same unit: {} and {}",
                    length->unit.empty() ? "none" : length->unit,
                    budget->unit.empty() ? "none" : budget->unit));
  else if (budget->count <= length->count)
    subject.report.add(path / "budget", fmt::format("budget must be > max_length: {} is not greater than {}",
                                                    budget->count, length->count));
}

// Trial classes train in batches; a custom search asks for lengths in its unit, max_time counts a metric.
void check_epochs(const Subject& subject) {
  if (subject.integer({"records_per_epoch"}).value_or(0) > 0) return;
  for (const auto* field : {"unit", "time_metric"})
    if (subject.text({"searcher", field}) == "epochs")
      subject.report.add(Path{} / "searcher" / field,
                         "must specify the top-level records_per_epoch when this is epochs");
}

struct LengthAt {
  Path path;
  UnitAndCount length;
};

/// The lengths that somebody gave, in whatever unit.
std::vector<LengthAt> lengths_of(const Subject& subject) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kPlaces = {{{"searcher", "max_length"},
                                                                       {"searcher", "budget"},
                                                                       {"searcher", "length_per_round"},
                                                                       {"", "min_validation_period"},
                                                                       {"", "min_checkpoint_period"}}};
  std::vector<LengthAt> lengths;
  for (const auto& [section, name] : kPlaces) {
    const auto length = length_of(section.empty() ? subject.find({name}) : subject.find({section, name}));
    if (!length || length->count <= 0) continue;
    lengths.push_back({section.empty() ? Path{} / name : Path{} / section / name, *length});
  }
  const auto max_time = subject.integer({"searcher", "max_time"});
  if (max_time && *max_time > 0)
    lengths.push_back({Path{} / "searcher" / "max_time",
                       {std::string(subject.text({"searcher", "time_metric"})), *max_time}});
  return lengths;
}

// Epochs are counted in records, and in 64 bits.
void check_records(const Subject& subject) {
  const auto records_per_epoch = subject.integer({"records_per_epoch"}).value_or(0);
  std::int64_t records = 0;
  for (const auto& [path, length] : lengths_of(subject))
    if (length.unit == "epochs" && __builtin_mul_overflow(length.count, records_per_epoch, &records))
      subject.report.add(
          path, fmt::format(
                    "{} epochs of {} records (records_per_epoch) are more records than a 64-bit integer can "
                    "count: lower one of them",
                    length.count, records_per_epoch));
}

// Trial classes train in batches: other units must be convertible to them.
void check_units(const Subject& subject) {
  check_records(subject);
  if (entrypoint_kind(subject.find({"entrypoint"})) == EntrypointKind::Command) return;
  check_epochs(subject);
  const auto records_per_epoch = subject.integer({"records_per_epoch"}).value_or(0);
  const auto* batch_size = subject.find({"hyperparameters", "global_batch_size"});
  for (const auto& [path, length] : lengths_of(subject)) {
    if (path.back() == Step("max_time") || (length.unit != "records" && length.unit != "epochs")) continue;
    if (subject.text({"resources", "slots_per_trial", "batch"}) == "per_slot")
      subject.report.add(
          path,
          "must be in batches: with resources.slots_per_trial.batch per_slot, how many records a "
          "batch has depends on the number of slots");
    if (length.unit == "epochs" && records_per_epoch <= 0)
      subject.report.add(
          path, "must specify the top-level records_per_epoch when this field is in terms of epochs");
    if (batch_size == nullptr)
      subject.report.add(
          Path{} / "hyperparameters",
          fmt::format("global_batch_size is a required property: {} is in {}, and trials train in batches",
                      to_text(path), length.unit));
  }
}

// Several metrics to optimize: what Optuna can do with them.
void check_objectives(const Subject& subject, const json::object& searcher) {
  const auto* further = find_member(searcher, "metrics");
  if (further == nullptr || !further->is_array() || further->get_array().empty()) return;
  const auto path = Path{} / "searcher";
  std::set<std::string> names{json::text_member(searcher, "metric")};
  for (std::size_t i = 0; i < further->get_array().size(); ++i) {
    const auto* one = further->get_array()[i].if_object();
    const auto name = one != nullptr ? json::text_member(*one, "name") : "";
    if (!name.empty() && !names.insert(name).second)
      subject.report.add(path / "metrics" / i / "name",
                         fmt::format("searcher.metric and searcher.metrics have {} twice; remove one", name));
  }
  const auto pruner = json::text_member(searcher, "pruner"), sampler = json::text_member(searcher, "sampler");
  if (pruner != "NopPruner")
    subject.report.add(path / "pruner",
                       fmt::format("{} compares one metric; with searcher.metrics, the pruner "
                                   "must be NopPruner",
                                   pruner));
  if (sampler == "CmaEsSampler")
    subject.report.add(path / "sampler",
                       "CmaEsSampler optimizes one metric; with searcher.metrics, choose "
                       "another sampler, such as TPESampler or NSGAIISampler");
}

}  // namespace

std::optional<std::int64_t> check_steps(const Subject& subject, const Path& path, std::int64_t steps) {
  const auto unit = subject.integer({"scheduling_unit"}).value_or(100);
  std::int64_t batches = 0;
  if (unit < 1) return std::nullopt;
  if (!__builtin_mul_overflow(steps, unit, &batches)) return batches;
  subject.report.add(
      path, fmt::format("{} steps of {} batches are more than a 64-bit integer can count", steps, unit));
  return std::nullopt;
}

void check_searcher(const Subject& subject) {
  check_units(subject);
  const auto* searcher = subject.section({"searcher"});
  if (searcher == nullptr) return;
  const auto name = subject.text({"searcher", "name"});
  check_presence(subject, *searcher, name);
  check_agreement(subject, *searcher);
  if (name == "adaptive") check_budget(subject, *searcher);
  if (name == "optuna") check_objectives(subject, *searcher);
}

}  // namespace det::config
