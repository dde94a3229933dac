#include <algorithm>
#include <cmath>

#include "det/config/rules/leaves.h"
#include "det/config/rules/rules.h"
#include "det/config/schema/schema.h"

namespace det::config {

namespace {

constexpr std::int64_t kGridTrialsMax = 2000;

std::optional<std::int64_t> integer_of(const json::object& object, std::string_view key) {
  const auto* found = find_member(object, key);
  return found != nullptr && found->is_number() ? json::to_int64(*found) : std::nullopt;
}

std::optional<double> number_of(const json::object& object, std::string_view key) {
  const auto* found = find_member(object, key);
  return found != nullptr && found->is_number() ? json::to_double(*found) : std::nullopt;
}

void check_range(const Subject& subject, std::string_view type, const json::object& leaf, const Path& path) {
  if (type != "int" && type != "double" && type != "log") return;
  const auto low = number_of(leaf, "minval");
  const auto high = number_of(leaf, "maxval");
  if (!low || !high || subject.is_refused(path / "minval") || subject.is_refused(path / "maxval")) return;
  const auto lowest = shown_value(*find_member(leaf, "minval"));
  const auto highest = shown_value(*find_member(leaf, "maxval"));
  if (*low > *high)
    return subject.report.add(
        path / "minval",
        fmt::format("minval must be less than maxval: minval is greater than maxval, {} > {}", lowest,
                    highest));
  if (*low == *high)
    return subject.report.add(path / "minval",
                              fmt::format("minval must be less than maxval: both are {}", lowest));
  if (type == "int") {
    std::int64_t width = 0;
    const auto from = integer_of(leaf, "minval");
    const auto to = integer_of(leaf, "maxval");
    if (from && to &&
        (__builtin_sub_overflow(*to, *from, &width) || __builtin_add_overflow(width, 1, &width)))
      subject.report.add(
          path / "minval",
          fmt::format("the range from {} to {} has more values than a 64-bit integer can count", lowest,
                      highest));
  } else if (type == "double") {
    if (!std::isfinite(*high - *low))
      subject.report.add(path / "minval",
                         fmt::format("the range from {} to {} is too wide", lowest, highest));
  } else if (const auto base = number_of(leaf, "base"); base && *base > 0) {
    for (const auto* end : {"minval", "maxval"})
      if (!std::isfinite(std::pow(*base, *number_of(leaf, end))))
        subject.report.add(path / end, fmt::format("{} to the power of {} is too large to represent",
                                                   shown_value(*find_member(leaf, "base")),
                                                   shown_value(*find_member(leaf, end))));
  }
}

// Lists are constants, but what looks like a hyperparameter in one was meant to be searched.
void find_without_count(const json::value& value, const Path& path, std::vector<Path>& found) {
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) find_without_count((*list)[i], path / i, found);
    return;
  }
  for_each_leaf(value, path, [&](std::string_view type, const json::object& leaf, const Path& at) {
    const auto* constant = find_member(leaf, "val");
    if (type == "const" && constant != nullptr && constant->is_array())
      return find_without_count(*constant, at, found);
    if ((type == "int" || type == "double" || type == "log") && find_member(leaf, "count") == nullptr)
      found.push_back(at);
  });
}

void check_grid(const Subject& subject, const json::object& hyperparameters) {
  const auto path = Path{} / "hyperparameters";
  std::vector<Path> without_count;
  for (const auto& [name, value] : hyperparameters)
    find_without_count(value, path / std::string_view(name), without_count);
  std::sort(without_count.begin(), without_count.end());
  if (subject.generation == Generation::Steps && !without_count.empty()) {
    std::string names;
    for (const auto& one : without_count)
      names += (names.empty() ? "" : ", ") + to_text(Path(one.begin() + 1, one.end()));
    subject.report.add(path,
                       fmt::format("these hyperparameters must specify counts for grid search: {}", names));
  } else {
    for (const auto& one : without_count)
      subject.report.add(one, "grid search is in use but count was not provided");
  }
  if (!without_count.empty()) return;
  std::int64_t trials = 1;
  for (const auto& [name, value] : hyperparameters)
    for_each_leaf(value, {}, [&](std::string_view, const json::object& leaf, const Path&) {
      const auto points = std::max<std::int64_t>(1, grid_points(leaf));
      if (trials <= kGridTrialsMax && __builtin_mul_overflow(trials, points, &trials))
        trials = kGridTrialsMax + 1;
    });
  if (trials > kGridTrialsMax)
    subject.report.add(
        path,
        fmt::format("number of trials for grid search must be <= {}: the counts give more", kGridTrialsMax));
}

/// The smallest batch size that the search can choose, or what is wrong with it.
struct BatchSize {
  std::optional<std::int64_t> smallest;
  bool wrong = false;
};

BatchSize batch_size_of(const json::value& value) {
  const auto type = type_of(value);
  const auto* object = value.if_object();
  const auto positive = [](const json::value* number) -> BatchSize {
    if (number == nullptr || !number->is_int64() || number->get_int64() < 1) return {std::nullopt, true};
    return {number->get_int64(), false};
  };
  if (type == "const") return positive(find_member(*object, "val"));
  if (type == "int") {
    const auto* minval = find_member(*object, "minval");
    return minval == nullptr || !minval->is_number() ? BatchSize{} : positive(minval);
  }
  if (type != "categorical") return {std::nullopt, true};
  const auto* vals = find_member(*object, "vals");
  if (vals == nullptr || !vals->is_array()) return {};
  BatchSize smallest;
  for (const auto& option : vals->get_array()) {
    const auto one = positive(&option);
    if (one.wrong) return one;
    smallest.smallest = std::min(smallest.smallest.value_or(*one.smallest), *one.smallest);
  }
  return smallest;
}

void check_batch_size(const Subject& subject, const json::object& hyperparameters) {
  const auto path = Path{} / "hyperparameters";
  const auto* value = find_member(hyperparameters, "global_batch_size");
  if (value == nullptr) {
    const auto kind = entrypoint_kind(subject.find({"entrypoint"}));
    const bool native = subject.section({"internal", "native"}) != nullptr;
    if (subject.generation == Generation::Steps && (kind == EntrypointKind::TrialClass || native))
      subject.report.add(path, "global_batch_size is a required property");
    return;
  }
  const auto size = batch_size_of(*value);
  if (size.wrong) {
    const auto* given = type_of(*value) == "const" ? find_member(value->get_object(), "val") : value;
    return subject.report.add(path / "global_batch_size",
                              fmt::format("is neither a positive integer nor an int hyperparameter: {}",
                                          shown_value(given != nullptr ? *given : json::value(nullptr))));
  }
  const auto slots = fewest_slots(subject.find({"resources", "slots_per_trial"})).value_or(1);
  if (size.smallest) check_batch_of_range(subject, *size.smallest, type_of(*value) == "const");
  if (!size.smallest || slots < 2 || subject.is_refused(path / "global_batch_size") ||
      subject.is_refused(Path{} / "resources" / "slots_per_trial"))
    return;
  if (*size.smallest < slots)
    subject.report.add(
        path / "global_batch_size",
        fmt::format("global_batch_size must be >= slots_per_trial, because each slot gets a share of every "
                    "batch: {} is not at least {}",
                    *size.smallest, slots));
  else if (type_of(*value) == "const" && *size.smallest % slots != 0 &&
           subject.section({"resources", "slots_per_trial"}) == nullptr)
    subject.warnings.push_back(
        fmt::format("hyperparameters.global_batch_size {} is not divisible by resources.slots_per_trial {}: "
                    "trials train with {}",
                    *size.smallest, slots, *size.smallest / slots * slots));
}

}  // namespace

std::int64_t grid_points(const json::object& hyperparameter) {
  const auto type = type_of(hyperparameter);
  if (type == "categorical") {
    const auto* vals = find_member(hyperparameter, "vals");
    return vals != nullptr && vals->is_array() ? static_cast<std::int64_t>(vals->get_array().size()) : 1;
  }
  if (type != "int" && type != "double" && type != "log") return 1;
  const auto count = integer_of(hyperparameter, "count");
  if (!count) return 0;
  const auto low = integer_of(hyperparameter, "minval");
  const auto high = integer_of(hyperparameter, "maxval");
  std::int64_t width = 0;
  if (type != "int" || !low || !high || __builtin_sub_overflow(*high, *low, &width) ||
      __builtin_add_overflow(width, 1, &width))
    return *count;
  return std::min(*count, width);
}

void check_hyperparameters(const Subject& subject) {
  const auto* hyperparameters = subject.section({"hyperparameters"});
  if (hyperparameters == nullptr) return;
  for (const auto& [name, value] : *hyperparameters)
    for_each_leaf(value, Path{} / "hyperparameters" / std::string_view(name),
                  [&](std::string_view type, const json::object& leaf, const Path& path) {
                    check_range(subject, type, leaf, path);
                  });
  if (subject.text({"searcher", "name"}) == "grid") check_grid(subject, *hyperparameters);
  check_batch_size(subject, *hyperparameters);
  check_conditions(subject, *hyperparameters);
}

}  // namespace det::config
