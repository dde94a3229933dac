// What administrators decide about the configurations of others, and what templates may have.

#include <algorithm>

#include "det/config/schema/schema.h"

namespace det::config::schema {

namespace {

/// The fields of tasks of all kinds.
const Type& any_task() {
  static const auto type = [] {
    std::vector<Field> fields;
    for (const auto* kind : kTaskKinds)
      for (const auto& field : task(kind).fields)
        if (find_field(fields, field.name) == nullptr) fields.push_back(field);
    return section(std::move(fields));
  }();
  return type;
}

/// Adds fields that are not there, also to sections that are.
void unite(std::vector<Field>& fields, const std::vector<Field>& others) {
  for (const auto& other : others) {
    const auto found = std::ranges::find(fields, other.name, &Field::name);
    if (found == fields.end())
      fields.push_back(other);
    else if (found->type.kind == Kind::Section && other.type.kind == Kind::Section)
      unite(found->type.fields, other.type.fields);
  }
}

Type policy_over(const Type& (*fixed)()) {
  return section(
      {field("invariant_config", reference(fixed), "Settings that override those of users."),
       field("constraints",
             section({field("resources",
                            section({field("max_slots", integer().at_least(0),
                                           "The most slots that an experiment or task may use at once.")}),
                            "Limits on resources."),
                      field("priority_limit", integer().at_least(1).at_most(99),
                            "The smallest priority number that users may set; a smaller number means more "
                            "important.")}),
             "Limits on what users may set.")});
}

}  // namespace

const Type& any_workload() {
  static const auto type = [] {
    auto all = experiment();
    for (const auto* kind : kTaskKinds) unite(all.fields, task(kind).fields);
    return all;
  }();
  return type;
}

const Type& experiment_policy() {
  static const auto type = policy_over(experiment);
  return type;
}

const Type& task_policy() {
  static const auto type = policy_over(any_task);
  return type;
}

}  // namespace det::config::schema
