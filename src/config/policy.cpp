#include "det/config/policy.h"

#include <algorithm>
#include <utility>

#include "det/config/rules/rules.h"
#include "det/config/schema/layer.h"
#include "det/config/schema/schema.h"

namespace det::config {

namespace {

using Limit = std::optional<std::int64_t> Policy::*;

// Fields that say where something is or what it is: with them a policy would decide whom it is about.
bool is_free(Workload workload, std::string_view field) {
  if (field == "workspace" || field == "project") return true;
  return workload == Workload::Task &&
         (field == "entrypoint" || field == "work_dir" || field == "bind_mounts");
}

const json::object* object_at(const json::object& document, std::string_view name) {
  const auto* found = document.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

std::optional<std::int64_t> integer_at(const json::object* section, std::string_view name) {
  const auto* found = section == nullptr ? nullptr : section->if_contains(name);
  return found == nullptr ? std::nullopt : json::to_int64(*found);
}

std::optional<std::int64_t> slots_at(const json::object* section, std::string_view name) {
  return section == nullptr ? std::nullopt : fewest_slots(section->if_contains(name));
}

/// The part of a document at a key, with its lines; empty where there is none.
Document part_of(const Document& document, std::string_view key) {
  const auto& members = document.value.get_object();
  std::size_t index = 0;
  for (const auto& [name, value] : members) {
    if (name == key && value.is_object())
      return {value, index < document.lines.children.size() ? document.lines.children[index] : Lines{}};
    ++index;
  }
  return {json::object{}, {}};
}

bool is_same(const json::value& a, const json::value& b) {
  const auto left = json::to_double(a), right = json::to_double(b);
  return left && right ? *left == *right : a == b;
}

/// The last of them that has this limit; null: none does.
const Policy* holder(const Policies& policies, Limit which) {
  const Policy* found = nullptr;
  for (const auto& policy : policies)
    if (policy.*which) found = &policy;
  return found;
}

Error too_many(std::string_view name, std::int64_t value, const Policy& by) {
  return Error(ErrorCode::InvalidArgument,
               fmt::format("resources.{} is {}; {} allows at most {}", name, value, by.whose, *by.max_slots));
}

Error too_urgent(std::int64_t value, const Policy& by) {
  return Error(
      ErrorCode::InvalidArgument,
      fmt::format("resources.priority is {}; {} allows no number below {} (a smaller number means more "
                  "important)",
                  value, by.whose, *by.priority_limit));
}

std::vector<std::string_view> slots_of(Workload workload) {
  if (workload == Workload::Task) return {"slots"};
  return {"max_slots", "slots_per_trial"};
}

// What it fixes is within its own limits: otherwise nothing could ever be submitted.
void check_against_itself(Workload workload, const Policy& policy, Report& report) {
  const auto* resources = object_at(policy.fixed.value.get_object(), "resources");
  const auto at = [](std::string_view name) { return Path{} / "invariant_config" / "resources" / name; };
  for (const auto name : slots_of(workload))
    if (const auto slots = slots_at(resources, name); slots && policy.max_slots && *slots > *policy.max_slots)
      report.add(at(name), fmt::format("{} is {}, but constraints.resources.max_slots allows at most {}",
                                       name, *slots, *policy.max_slots));
  if (const auto priority = integer_at(resources, "priority");
      priority && policy.priority_limit && *priority < *policy.priority_limit)
    report.add(
        at("priority"),
        fmt::format("priority is {}, but constraints.priority_limit allows no number below {} (a smaller "
                    "number means more important)",
                    *priority, *policy.priority_limit));
}

}  // namespace

tl::expected<Policy, std::vector<Error>> parse_policy(Workload workload, std::string_view yaml) {
  Report all({});
  const auto layer = read_layer("<policy>", yaml, all);
  if (!layer.usable) return tl::unexpected(all.errors());
  check(workload == Workload::Task ? schema::task_policy() : schema::experiment_policy(), layer, nullptr,
        all);
  if (!all.empty()) return tl::unexpected(all.errors());

  Policy policy{.whose = {}, .fixed = part_of(layer.document, "invariant_config")};
  const auto& document = layer.document.value.get_object();
  if (const auto* constraints = object_at(document, "constraints")) {
    policy.max_slots = integer_at(object_at(*constraints, "resources"), "max_slots");
    policy.priority_limit = integer_at(constraints, "priority_limit");
  }
  Report report({{"<policy>", &layer.document}});
  const auto& fixed = policy.fixed.value.get_object();
  for (const auto& [field, value] : fixed)
    if (is_free(workload, field))
      report.add(Path{} / "invariant_config" / std::string_view(field),
                 fmt::format("{} cannot be set by a policy", std::string_view(field)));
  check_against_itself(workload, policy, report);
  if (fixed.empty() && !policy.max_slots && !policy.priority_limit)
    report.add({}, "the policy is empty; give invariant_config, constraints, or both");
  if (!report.empty()) return tl::unexpected(report.errors());
  return policy;
}

json::value of_kind(std::string_view kind, const json::value& fixed) {
  json::object kept;
  for (const auto& [name, value] : fixed.get_object())
    if (schema::find_field(schema::task(kind).fields, name) != nullptr) kept.emplace(name, value);
  // A TensorBoard takes no slots, whatever others take.
  if (auto* resources = kept.if_contains("resources");
      kind == "tensorboard" && resources != nullptr && resources->is_object())
    resources->get_object().erase("slots");
  return kept;
}

std::vector<Error> limit(Workload workload, json::object& document, const Policies& policies,
                         int usual_priority) {
  std::vector<Error> errors;
  auto& resources = document["resources"].get_object();
  if (const auto* by = holder(policies, &Policy::max_slots)) {
    for (const auto name : slots_of(workload))
      if (const auto slots = slots_at(&resources, name); slots && *slots > *by->max_slots)
        errors.push_back(too_many(name, *slots, *by));
    if (workload == Workload::Experiment && !integer_at(&resources, "max_slots"))
      resources["max_slots"] = *by->max_slots;
  }
  if (const auto* by = holder(policies, &Policy::priority_limit)) {
    const auto priority = integer_at(&resources, "priority");
    if (priority && *priority < *by->priority_limit) errors.push_back(too_urgent(*priority, *by));
    if (!priority) resources["priority"] = std::max<std::int64_t>(*by->priority_limit, usual_priority);
  }
  return errors;
}

Result<void> check_change(const Policies& policies, std::string_view section, std::string_view field,
                          const json::value& value) {
  const json::value* fixed = nullptr;
  const Policy* by = nullptr;
  for (const auto& policy : policies)
    if (const auto* part = object_at(policy.fixed.value.get_object(), section))
      if (const auto* found = find_member(*part, field)) {
        fixed = found;
        by = &policy;
      }
  if (fixed != nullptr && is_same(*fixed, value)) return {};
  if (fixed != nullptr)
    return invalid_argument("{}.{} cannot become {}: {} sets it to {}", section, field,
                            json::serialize(value), by->whose, json::serialize(*fixed));
  if (section != "resources") return {};
  const auto number = json::to_int64(value);
  if (const auto* slots = holder(policies, &Policy::max_slots); slots != nullptr && field == "max_slots") {
    if (!number)
      return invalid_argument("resources.max_slots cannot be removed: {} allows at most {}", slots->whose,
                              *slots->max_slots);
    if (*number > *slots->max_slots) return tl::unexpected(too_many(field, *number, *slots));
  }
  if (const auto* first = holder(policies, &Policy::priority_limit);
      first != nullptr && field == "priority" && number && *number < *first->priority_limit)
    return tl::unexpected(too_urgent(*number, *first));
  return {};
}

}  // namespace det::config
