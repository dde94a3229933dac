#include "det/master/logs/log_policies.h"

#include <algorithm>

#include "det/base/text.h"

namespace det::master {
namespace {

constexpr std::size_t kExperimentsMax = 1'000;
constexpr std::size_t kLineBytesMax = 300;

/// The beginning of a line, as text.
std::string for_people(std::string_view line) {
  auto cut = std::min(line.size(), kLineBytesMax);
  while (cut > 0 && cut < line.size() && (line[cut] & '\xc0') == '\x80') --cut;  // not within a character
  std::string text(line.substr(0, cut));
  const bool readable = is_utf8(text);
  for (auto& c : text)
    if ((c >= 0 && c < ' ' && c != '\t') || (!readable && c < 0)) c = '?';
  return text;
}

/// "cancel_retries", also of the older form {type: cancel_retries}.
std::string action_of(const json::object& policy) {
  const auto* action = policy.if_contains("action");
  if (action != nullptr && action->is_object()) return json::text_member(action->get_object(), "type");
  return json::text_member(policy, "action");
}

/// A script that prints its configuration prints the patterns, too.
bool is_configuration(std::string_view line, std::string_view pattern) {
  return line.find("pattern") != line.npos &&
         (line.find("log_policies") != line.npos || line.find(pattern) != line.npos);
}

}  // namespace

Result<std::vector<LogPolicies::Policy>> LogPolicies::of(const json::object& config) {
  std::vector<Policy> policies;
  const auto* list = config.if_contains("log_policies");
  if (list == nullptr || !list->is_array()) return policies;
  for (const auto& item : list->get_array()) {
    if (!item.is_object()) continue;
    const auto pattern = json::text_member(item.get_object(), "pattern");
    if (pattern.empty()) continue;  // switched off
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    Policy policy{.name = json::text_member(item.get_object(), "name"),
                  .action = action_of(item.get_object()),
                  .pattern = std::make_shared<re2::RE2>(pattern, options)};
    if (!policy.pattern->ok())
      return invalid_argument("log_policies: pattern \"{}\" is not a valid regular expression: {}", pattern,
                              policy.pattern->error());
    if (policy.name.empty()) policy.name = pattern;
    policies.push_back(std::move(policy));
  }
  return policies;
}

std::vector<cluster::LogPolicyMatched> LogPolicies::found(const cluster::Cluster& cluster,
                                                          const std::string& allocation_id,
                                                          const std::string& agent,
                                                          const std::vector<store::Change>& lines) {
  std::vector<cluster::LogPolicyMatched> found;
  const auto* allocation = cluster.allocation(allocation_id);
  if (allocation == nullptr || !allocation->of_trial()) return found;
  const auto* experiment = cluster.experiment(allocation->record.experiment_id);
  const auto* trial = experiment == nullptr ? nullptr : experiment->trial(allocation->record.trial_id);
  if (trial == nullptr) return found;
  if (policies_.size() > kExperimentsMax) policies_.clear();
  auto known = policies_.find(experiment->record().id);
  if (known == policies_.end())
    known =
        policies_
            .emplace(experiment->record().id, of(experiment->record().config).value_or(std::vector<Policy>{}))
            .first;
  for (const auto& policy : known->second) {
    if (!experiment::would_matter(*trial, policy.name, policy.action, agent)) continue;
    for (const auto& change : lines) {
      const auto* added = std::get_if<store::AddLogs>(&*change);
      if (added == nullptr) continue;
      const auto fits = [&](const auto& line) {
        return re2::RE2::PartialMatch(line.log, *policy.pattern) &&
               !is_configuration(line.log, policy.pattern->pattern());
      };
      const auto line = std::ranges::find_if(added->lines, fits);
      if (line == added->lines.end()) continue;
      found.push_back({.allocation_id = allocation_id,
                       .agent = agent,
                       .policy = policy.name,
                       .action = policy.action,
                       .line = for_people(line->log)});
      break;
    }
  }
  return found;
}

}  // namespace det::master
