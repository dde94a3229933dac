#include "det/config/merge.h"

#include "det/config/testing.h"

namespace det::config {
namespace {

using testing::yaml_value;

struct MergeCase {
  const char* name;
  const char* higher;
  const char* lower;
  const char* merged;
};
class MergedLayers : public ::testing::TestWithParam<MergeCase> {};

TEST_P(MergedLayers, MergeByTheRuleOfTheField) {
  const auto& c = GetParam();
  EXPECT_EQ(merge(schema::experiment(), yaml_value(c.higher), yaml_value(c.lower)), yaml_value(c.merged));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, MergedLayers, ::testing::Values(
    //         name                          higher                                       lower                                     merged
    MergeCase{"scalars_replace",             "max_restarts: 1",                           "max_restarts: 2",                        "max_restarts: 1"},
    MergeCase{"null_is_absent",              "max_restarts: null",                        "max_restarts: 2",                        "max_restarts: 2"},
    MergeCase{"sections_merge_by_field",     "resources: {weight: 2}",                    "resources: {slots_per_trial: 4}",        "resources: {weight: 2, slots_per_trial: 4}"},
    MergeCase{"lists_replace",               "environment: {add_capabilities: [A]}",      "environment: {add_capabilities: [B]}",   "environment: {add_capabilities: [A]}"},
    MergeCase{"data_merges_at_any_depth",    "data: {a: {x: 1}, l: [1]}",                 "data: {a: {x: 2, y: 3}, l: [2, 3]}",     "data: {a: {x: 1, y: 3}, l: [1]}"},
    MergeCase{"labels_unite",                "labels: [a, b]",                            "labels: [b, c]",                         "labels: [b, c, a]"},
    MergeCase{"labels_of_both_forms_unite",  "labels: {a: true, x: false}",               "labels: [c]",                            "labels: [c, a]"},
    MergeCase{"bind_mounts_add_up",          "bind_mounts: [{host_path: /a, container_path: a}]",
                                             "bind_mounts: [{host_path: /b, container_path: a}, {host_path: /c, container_path: c}]",
                                             "bind_mounts: [{host_path: /a, container_path: a}, {host_path: /c, container_path: c}]"},
    MergeCase{"devices_of_both_forms_add_up","resources: {devices: ['/dev/a:/dev/x']}",
                                             "resources: {devices: [{host_path: /dev/b, container_path: /dev/x}, '/dev/c:/dev/c']}",
                                             "resources: {devices: ['/dev/a:/dev/x', '/dev/c:/dev/c']}"},
    MergeCase{"variables_lower_ones_first",  "environment: {environment_variables: [A=2]}",
                                             "environment: {environment_variables: [A=1, B=1]}",
                                             "environment: {environment_variables: [A=1, B=1, A=2]}"},
    MergeCase{"variables_by_device",         "environment: {environment_variables: {cuda: [A=2]}}",
                                             "environment: {environment_variables: [A=1]}",
                                             "environment: {environment_variables: {cpu: [A=1], cuda: [A=1, A=2], rocm: [A=1]}}"},
    MergeCase{"gpu_is_the_old_word_for_cuda","environment: {image: {gpu: x}}",            "environment: {image: {cuda: y, cpu: z}}", "environment: {image: {cuda: x, cpu: z}}"},
    MergeCase{"proxy_ports_by_port",         "environment: {proxy_ports: [{proxy_port: 1}]}",
                                             "environment: {proxy_ports: [{proxy_port: 1, proxy_tcp: true}, {proxy_port: 2}]}",
                                             "environment: {proxy_ports: [{proxy_port: 1}, {proxy_port: 2}]}"},
    MergeCase{"log_policies_by_name",        "log_policies: [{name: a, pattern: x}]",
                                             "log_policies: [{name: a, pattern: y}, {pattern: z, action: exclude_node}]",
                                             "log_policies: [{name: a, pattern: x}, {pattern: z, action: exclude_node}]"},
    MergeCase{"unnamed_policies_by_content", "log_policies: [{pattern: z, action: exclude_node}]",
                                             "log_policies: [{pattern: z, action: exclude_node}, {pattern: z, action: cancel_retries}]",
                                             "log_policies: [{pattern: z, action: exclude_node}, {pattern: z, action: cancel_retries}]"},
    MergeCase{"same_storage_merges",         "checkpoint_storage: {type: s3, prefix: p}", "checkpoint_storage: {type: s3, bucket: b}", "checkpoint_storage: {type: s3, bucket: b, prefix: p}"},
    MergeCase{"storage_type_from_below",     "checkpoint_storage: {save_trial_best: 3}",  "checkpoint_storage: {type: s3, bucket: b}", "checkpoint_storage: {type: s3, bucket: b, save_trial_best: 3}"},
    MergeCase{"other_storage_keeps_only_what_all_have",
                                             "checkpoint_storage: {type: gcs, bucket: g}",
                                             "checkpoint_storage: {type: s3, bucket: b, access_key: k, save_trial_best: 3}",
                                             "checkpoint_storage: {save_trial_best: 3, type: gcs, bucket: g}"},
    MergeCase{"same_searcher_merges",        "searcher: {metric: m}",                     "searcher: {name: random, max_trials: 3}", "searcher: {name: random, max_trials: 3, metric: m}"},
    MergeCase{"other_searcher_keeps_the_metric",
                                             "searcher: {name: single}",                  "searcher: {name: random, max_trials: 3, metric: m}", "searcher: {metric: m, name: single}"},
    MergeCase{"lengths_replace",             "searcher: {max_length: {epochs: 1}}",       "searcher: {name: single, max_length: {batches: 9}}", "searcher: {name: single, max_length: {epochs: 1}}"},
    MergeCase{"steps_replace_a_length",      "searcher: {max_steps: 5}",                  "searcher: {name: single, max_length: {batches: 9}}", "searcher: {name: single, max_steps: 5}"},
    MergeCase{"a_length_replaces_steps",     "searcher: {max_length: {batches: 9}}",      "searcher: {name: single, max_steps: 5}",  "searcher: {name: single, max_length: {batches: 9}}"},
    MergeCase{"unit_of_steps_replaces",      "batches_per_step: 10",                      "scheduling_unit: 20",                     "batches_per_step: 10"},
    MergeCase{"hyperparameters_replace",     "hyperparameters: {a: {type: int, minval: 1, maxval: 2}}",
                                             "hyperparameters: {a: {type: double, minval: 0, maxval: 9, count: 3}, b: 1}",
                                             "hyperparameters: {a: {type: int, minval: 1, maxval: 2}, b: 1}"},
    MergeCase{"nested_hyperparameters_merge","hyperparameters: {n: {a: 1}}",              "hyperparameters: {n: {a: 2, b: 3}}",      "hyperparameters: {n: {a: 1, b: 3}}"},
    MergeCase{"a_null_hyperparameter_counts","hyperparameters: {a: null}",                "hyperparameters: {a: 2}",                 "hyperparameters: {a: null}"},
    MergeCase{"pod_containers_by_name",      "environment: {pod_spec: {spec: {containers: [{name: a, x: 1}, {name: c}]}}}",
                                             "environment: {pod_spec: {spec: {containers: [{name: a, x: 2, y: 3}, {name: b}]}}}",
                                             "environment: {pod_spec: {spec: {containers: [{name: a, x: 1, y: 3}, {name: b}, {name: c}]}}}"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(Templates, MayBePartialAndLieUnderTheUsersDocument) {
  const auto config = testing::resolved("searcher: {max_length: {batches: 5}}\nentrypoint: m:C\n",
                                        "searcher: {name: random, metric: loss, max_trials: 7, max_length: "
                                        "{epochs: 3}}\nresources: {slots_per_trial: 2}\n")
                          .config;
  EXPECT_EQ(config.searcher.name, "random");
  EXPECT_EQ(config.searcher.max_trials, 7);
  EXPECT_EQ(config.searcher.max_length, (Length{Unit::Batches, 5}));
  EXPECT_EQ(config.resources.slots_per_trial, 2);
}

TEST(Templates, AreNamedWithTheirOwnProblems) {
  const auto problems = testing::problems_of(
      testing::resolve_text(testing::kGen2, "max_restarts: -1\nresources:\n  slots_per_trail: 2\n"));
  EXPECT_EQ(problems,
            "<template>.max_restarts (line 1): max_restarts must be >= 0: -1 is not at least 0\n"
            "<template>.resources (line 3): additionalProperties \"slots_per_trail\" not allowed: unknown "
            "field; did "
            "you mean \"slots_per_trial\"?\n");
}

TEST(Templates, AreUsedWithoutWhatOnlyOtherWorkloadsHave) {
  const auto both = testing::resolved(testing::kGen2, "resources:\n  slots: 4\n  slots_per_trial: 2\n");
  EXPECT_EQ(both.config.resources.slots_per_trial, 2);
  EXPECT_EQ(both.warnings, std::vector<std::string>{"<template>.resources.slots (line 2) is left out: it is "
                                                    "for workloads of other kinds"});
}

TEST(Templates, ThatClashWithTheUsersDocumentAreNamedWhereTheFaultWasWritten) {
  const auto problems = testing::problems_of(
      testing::resolve_text(testing::kGen2, "resources:\n  slots_per_trial: 8\n  max_slots: 4\n"));
  EXPECT_EQ(
      problems,
      "<template>.resources.max_slots (line 3): max_slots must be >= slots_per_trial: 4 is not at least 8\n");
}

TEST(Master, GivesCheckpointStorageWhereNobodyElseDoes) {
  EXPECT_EQ(testing::resolved(testing::kGen2).config.checkpoint_storage.host_path, "/var/det/checkpoints");
  const auto own = testing::resolved(testing::kGen2 + "checkpoint_storage: {save_trial_best: 3}\n")
                       .config.checkpoint_storage;
  EXPECT_EQ(own.type, "shared_fs");
  EXPECT_EQ(own.save_trial_best, 3);
  const auto without = resolve({{}, std::nullopt, testing::kGen2}, testing::world());
  EXPECT_EQ(testing::problems_of(without), "<config>: checkpoint_storage is a required property\n");
}

}  // namespace
}  // namespace det::config
