#include "det/config/policy.h"

#include <gmock/gmock.h>

#include "det/config/task_config.h"
#include "det/config/testing.h"

namespace det::config {
namespace {

using ::testing::HasSubstr;
using testing::kGen2;
using testing::yaml_value;

const std::string kCluster = "the cluster's policy", kVision = "the policy of workspace 'vision'";

Policy policy(const std::string& whose, const std::string& yaml, Workload workload = Workload::Experiment) {
  auto parsed = parse_policy(workload, yaml);
  EXPECT_TRUE(parsed) << yaml << "\n" << (parsed ? "" : parsed.error().front().message());
  if (!parsed) return {};
  parsed->whose = whose;
  return *std::move(parsed);
}

/// The problems of a document, one a line; empty: it is a policy.
std::string problems(const std::string& yaml, Workload workload = Workload::Experiment) {
  const auto parsed = parse_policy(workload, yaml);
  std::string text;
  if (!parsed)
    for (const auto& error : parsed.error()) text += error.message() + "\n";
  return text;
}

tl::expected<Resolved, std::vector<Error>> resolved_under(const Policies& policies, const std::string& more) {
  return resolve({testing::master_defaults(), {}, kGen2 + more}, testing::world(), policies);
}

struct WrongCase {
  const char* name;
  const char* yaml;
  const char* problem;
};
class WrongPolicies : public ::testing::TestWithParam<WrongCase> {};

TEST_P(WrongPolicies, AreRefusedWithTheLine) {
  EXPECT_THAT(problems(GetParam().yaml), HasSubstr(GetParam().problem));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, WrongPolicies, ::testing::Values(
    WrongCase{"nothing",             "",                                                "the policy is empty; give"},
    WrongCase{"nothing_in_it",       "{invariant_config: {}, constraints: {}}",         "the policy is empty; give"},
    WrongCase{"unknown_key",         "constraints: {priority: 5}",                      "<policy>.constraints (line 1): additionalProperties \"priority\" not allowed: unknown field; did you mean \"priority_limit\"?"},
    WrongCase{"unknown_field",       "invariant_config:\n  resources: {slots: 2}",      "<policy>.invariant_config.resources (line 2)"},
    WrongCase{"wrong_kind",          "invariant_config: {max_restarts: many}",          "<policy>.invariant_config.max_restarts (line 1): \"many\" is not an integer"},
    WrongCase{"limit_out_of_range",  "constraints: {priority_limit: 100}",              "priority_limit must be <= 99"},
    WrongCase{"negative_slots",      "constraints: {resources: {max_slots: -1}}",       "max_slots must be >= 0"},
    WrongCase{"another_workspace",   "invariant_config: {workspace: vision}",           "<policy>.invariant_config.workspace (line 1): workspace cannot be set by a policy"},
    WrongCase{"above_its_own_limit", "invariant_config: {resources: {max_slots: 8}}\nconstraints: {resources: {max_slots: 4}}",
                                     "<policy>.invariant_config.resources.max_slots (line 1): max_slots is 8, but constraints.resources.max_slots allows at most 4"},
    WrongCase{"before_its_own_limit","invariant_config: {resources: {priority: 10}}\nconstraints: {priority_limit: 50}",
                                     "priority is 10, but constraints.priority_limit allows no number below 50"},
    WrongCase{"no_map",              "[1, 2]",                                          "the document must be a map"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(TaskPolicies, KnowTheFieldsOfAllTasksAndThoseThatATaskNeedsForItself) {
  EXPECT_EQ(problems("invariant_config: {resources: {slots: 1}, idle_timeout: 1h, tensorboard_args: [x]}",
                     Workload::Task),
            "");
  EXPECT_THAT(problems("invariant_config: {entrypoint: ls}", Workload::Task),
              HasSubstr("entrypoint cannot be set by a policy"));
  EXPECT_THAT(problems("invariant_config: {searcher: {name: single}}", Workload::Task),
              HasSubstr("\"searcher\" not allowed"));
}

struct FixedCase {
  const char* name;
  const char* user;
  const char* workspace;
  const char* cluster;
  const char* path;  ///< of the section of the result
  const char* result;
};
class FixedFields : public ::testing::TestWithParam<FixedCase> {};

TEST_P(FixedFields, LieAboveWhatUsersSayAndTheClustersAboveTheWorkspaces) {
  const auto& c = GetParam();
  Policies policies;
  for (const auto& [whose, yaml] : {std::pair{kVision, c.workspace}, {kCluster, c.cluster}})
    if (*yaml != '\0') policies.push_back(policy(whose, fmt::format("invariant_config: {}", yaml)));
  const auto resolved = resolved_under(policies, c.user);
  ASSERT_TRUE(resolved) << testing::problems_of(resolved);
  const auto& section = resolved->config.document.at(c.path);
  const auto expected = yaml_value(c.result);
  if (!expected.is_object()) {
    EXPECT_EQ(section, expected);
    return;
  }
  for (const auto& [key, value] : expected.get_object()) EXPECT_EQ(section.at(key), value) << key;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, FixedFields, ::testing::Values(
    //        name                    user                            workspace                            cluster                         path           result
    FixedCase{"over_the_users",       "max_restarts: 9",              "{max_restarts: 1}",                 "",                             "max_restarts", "1"},
    FixedCase{"where_the_user_is_silent", "",                         "{max_restarts: 1}",                 "",                             "max_restarts", "1"},
    FixedCase{"the_clusters_win",     "max_restarts: 9",              "{max_restarts: 1}",                 "{max_restarts: 2}",            "max_restarts", "2"},
    FixedCase{"sections_by_field",    "resources: {slots_per_trial: 3, weight: 5}", "{resources: {weight: 2}}", "{resources: {priority: 50}}", "resources", "{slots_per_trial: 3, weight: 2, priority: 50}"},
    FixedCase{"lists_of_mounts_add_up", "bind_mounts: [{host_path: /u, container_path: u}, {host_path: /x, container_path: s}]",
                                      "{bind_mounts: [{host_path: /w, container_path: w}]}",
                                      "{bind_mounts: [{host_path: /s, container_path: s}]}",               "bind_mounts",
                                      "[{host_path: /s, container_path: s, read_only: false, propagation: rprivate}, {host_path: /w, container_path: w, read_only: false, propagation: rprivate}, {host_path: /u, container_path: u, read_only: false, propagation: rprivate}]"},
    FixedCase{"storage_of_another_type","checkpoint_storage: {type: directory, container_path: /c, save_trial_best: 3}",
                                      "", "{checkpoint_storage: {type: shared_fs, host_path: /all}}",       "checkpoint_storage", "{type: shared_fs, host_path: /all, save_trial_best: 3}"},
    FixedCase{"labels_unite",         "labels: [mine]",               "{labels: [theirs]}",                "",                             "labels",       "[mine, theirs]"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(WhatIsFixed, IsNamedWhereItMakesAConfigurationImpossible) {
  const auto refused =
      resolved_under({policy(kVision, "invariant_config:\n  resources:\n    max_slots: 2\n")},
                     "resources: {slots_per_trial: 4}");
  EXPECT_EQ(
      testing::problems_of(refused),
      kVision + ".resources.max_slots (line 3): max_slots must be >= slots_per_trial: 2 is not at least 4\n");
}

TEST(WhatIsFixed, OfTasksIsTakenByThoseKindsThatHaveIt) {
  const Policies policies = {policy(
      kCluster, "invariant_config: {idle_timeout: 1h, notebook_idle_type: activity, resources: {slots: 2}}",
      Workload::Task)};
  const auto task = [&](std::string_view kind, std::string yaml) {
    const auto resolved =
        resolve_task(kind, {.master = {}, .user_yaml = std::move(yaml)}, testing::world(), policies);
    EXPECT_TRUE(resolved) << (resolved ? "" : resolved.error().front().message());
    return *resolved;
  };
  EXPECT_EQ(task("notebook", "idle_timeout: 5m").document.at("notebook_idle_type"), "activity");
  EXPECT_EQ(task("notebook", "idle_timeout: 5m").idle_timeout_seconds, 3600);
  EXPECT_EQ(task("command", "entrypoint: ls").slots, 2);
  EXPECT_FALSE(task("command", "entrypoint: ls").document.contains("notebook_idle_type"));
  EXPECT_EQ(task("tensorboard", "").slots, 0);
}

struct LimitCase {
  const char* name;
  const char* resources;
  const char* workspace;
  const char* cluster;
  const char* error;   ///< empty: within the limits
  const char* result;  ///< fields of the resources afterwards
};
class Limits : public ::testing::TestWithParam<LimitCase> {};

TEST_P(Limits, AreCheckedAndFillWhatIsLeftOpen) {
  const auto& c = GetParam();
  Policies policies;
  for (const auto& [whose, yaml] : {std::pair{kVision, c.workspace}, {kCluster, c.cluster}})
    if (*yaml != '\0') policies.push_back(policy(whose, fmt::format("constraints: {}", yaml)));
  json::object document{{"resources", yaml_value(c.resources)}};
  const auto errors = limit(Workload::Experiment, document, policies, 42);
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : "\n") + error.message();
  EXPECT_EQ(text, c.error);
  if (!errors.empty()) return;
  EXPECT_EQ(document.at("resources"), yaml_value(c.result));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Limits, ::testing::Values(
    //        name                   resources                           workspace                      cluster                        error   result
    LimitCase{"none",                "{slots_per_trial: 8}",             "",                            "",                            "",     "{slots_per_trial: 8}"},
    LimitCase{"as_many_as_allowed",  "{slots_per_trial: 1, max_slots: 4}", "{resources: {max_slots: 4}}", "",                          "",     "{slots_per_trial: 1, max_slots: 4}"},
    LimitCase{"too_many",            "{slots_per_trial: 1, max_slots: 5}", "{resources: {max_slots: 4}}", "",
              "resources.max_slots is 5; the policy of workspace 'vision' allows at most 4", ""},
    LimitCase{"a_trial_too_large",   "{slots_per_trial: 5}",             "",                            "{resources: {max_slots: 4}}",
              "resources.slots_per_trial is 5; the cluster's policy allows at most 4", ""},
    LimitCase{"open_becomes_the_limit", "{slots_per_trial: 1, max_slots: null}", "{resources: {max_slots: 4}}", "",                    "",     "{slots_per_trial: 1, max_slots: 4}"},
    LimitCase{"the_clusters_counts", "{slots_per_trial: 1, max_slots: 6}", "{resources: {max_slots: 4}}", "{resources: {max_slots: 8}}", "",    "{slots_per_trial: 1, max_slots: 6}"},
    LimitCase{"each_limit_for_itself", "{slots_per_trial: 1, max_slots: 9, priority: 3}", "{resources: {max_slots: 4}}", "{priority_limit: 30}",
              "resources.max_slots is 9; the policy of workspace 'vision' allows at most 4\n"
              "resources.priority is 3; the cluster's policy allows no number below 30 (a smaller number means more important)", ""},
    LimitCase{"behind_is_allowed",   "{priority: 60}",                   "",                            "{priority_limit: 50}",        "",     "{priority: 60}"},
    LimitCase{"no_priority_is_the_usual_one", "{priority: null}",        "",                            "{priority_limit: 30}",        "",     "{priority: 42}"},
    LimitCase{"or_the_limit",        "{}",                               "",                            "{priority_limit: 50}",        "",     "{priority: 50}"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(TaskLimits, AreAboutItsSlots) {
  const Policies policies = {policy(kCluster, "constraints: {resources: {max_slots: 1}}", Workload::Task)};
  json::object document{{"resources", json::object{{"slots", 2}}}};
  const auto errors = limit(Workload::Task, document, policies, 42);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].message(), "resources.slots is 2; the cluster's policy allows at most 1");
}

struct ChangeCase {
  const char* name;
  const char* field;
  const char* value;
  const char* error;  ///< empty: it may
};
class LaterChanges : public ::testing::TestWithParam<ChangeCase> {};

TEST_P(LaterChanges, KeepToWhatIsFixedAndToTheLimits) {
  const auto& c = GetParam();
  const Policies policies = {
      policy(kVision, "{invariant_config: {resources: {weight: 2}}, constraints: {priority_limit: 40}}"),
      policy(kCluster, "constraints: {resources: {max_slots: 4}}")};
  const auto may = check_change(policies, "resources", c.field, yaml_value(c.value));
  EXPECT_EQ(may ? "" : may.error().message(), c.error);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, LaterChanges, ::testing::Values(
    ChangeCase{"within",          "max_slots",     "4",    ""},
    ChangeCase{"too_many",        "max_slots",     "5",    "resources.max_slots is 5; the cluster's policy allows at most 4"},
    ChangeCase{"without_limit",   "max_slots",     "null", "resources.max_slots cannot be removed: the cluster's policy allows at most 4"},
    ChangeCase{"behind",          "priority",      "40",   ""},
    ChangeCase{"before",          "priority",      "39",   "resources.priority is 39; the policy of workspace 'vision' allows no number below 40 (a smaller number means more important)"},
    ChangeCase{"fixed",           "weight",        "3",    "resources.weight cannot become 3: the policy of workspace 'vision' sets it to 2"},
    ChangeCase{"as_it_is_fixed",  "weight",        "2.0",  ""},
    ChangeCase{"nobody_minds",    "resource_pool", "gpus", ""}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(Places, AreReadFromTheUsersDocumentAndElseFromTheTemplate) {
  const auto place = place_of({{}, "{workspace: vision, project: faces}", "{workspace: speech, other: }"});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->workspace, "speech");
  EXPECT_EQ(place->project, "faces");
  EXPECT_FALSE(place_of({{}, {}, "[not a map]"}));
  EXPECT_FALSE(place_of({{}, "{: {", ""}));
}

}  // namespace
}  // namespace det::config
