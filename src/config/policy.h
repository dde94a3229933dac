#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"

/// What administrators decide about the configurations of others.
namespace det::config {

/// What a policy is about: experiments, or the tasks that are no trials.
enum class Workload { Experiment, Task };
BOOST_DESCRIBE_ENUM(Workload, Experiment, Task)

/// One document of an administrator: what is fixed, and how far users may go with the rest.
struct Policy {
  std::string whose;  ///< for messages: "the policy of workspace 'vision'"
  Document fixed;     ///< `invariant_config`, a part of a configuration: it lies above what users say
  std::optional<std::int64_t> max_slots;       ///< at most so many
  std::optional<std::int64_t> priority_limit;  ///< no smaller number: those go first
};

/// Those that hold somewhere: of the workspace, then of the cluster. Where several say something, the last
/// is right.
using Policies = std::vector<Policy>;

/// Every problem of the document, each with its line, or the policy; `whose` is left empty.
tl::expected<Policy, std::vector<Error>> parse_policy(Workload workload, std::string_view yaml);

/// Where something shall be, as far as its documents say: that decides which policies hold.
struct Place {
  std::string workspace, project;
};
/// Nothing: a document cannot be read; what is wrong, `resolve` says.
std::optional<Place> place_of(const Layers& layers);

/// As without policies, with what they fix above the user's document; their limits are left to `limit`.
tl::expected<Resolved, std::vector<Error>> resolve(const Layers& layers, const Circumstances& circumstances,
                                                   const Policies& policies);
/// What of a policy for all tasks is about a task of this kind.
json::value of_kind(std::string_view kind, const json::value& fixed);

/// Checks a resolved document against the limits, and says all that is beyond them. What the user left open
/// is set to what they allow; `usual_priority` is that of the pool, where nobody names one.
std::vector<Error> limit(Workload workload, json::object& document, const Policies& policies,
                         int usual_priority);

/// Whether a field of something that is submitted already may become `value`; null: it is taken away.
Result<void> check_change(const Policies& policies, std::string_view section, std::string_view field,
                          const json::value& value);

}  // namespace det::config
