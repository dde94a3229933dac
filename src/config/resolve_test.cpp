#include <gmock/gmock.h>

#include "det/config/testing.h"

namespace det::config {
namespace {

using testing::changed;
using ::testing::HasSubstr;
using testing::kGen1;
using testing::kGen2;
using testing::problems_of;
using testing::resolve_text;
using testing::resolved;
using testing::yaml_value;

TEST(MinimalDocuments, OfBothGenerationsMeanTheSameTraining) {
  const auto gen1 = resolved(kGen1).config;
  const auto gen2 = resolved(kGen2).config;
  EXPECT_EQ(gen1.generation, Generation::Steps);
  EXPECT_EQ(gen2.generation, Generation::Length);
  for (const auto* config : {&gen1, &gen2}) {
    EXPECT_EQ(config->name, "mnist_const");
    EXPECT_EQ(config->entrypoint, "model_def:MNistTrial");
    EXPECT_EQ(config->searcher.name, "single");
    EXPECT_EQ(config->searcher.metric, "validation_error");
    EXPECT_EQ(config->searcher.max_length, (Length{Unit::Batches, 2000}));
    EXPECT_EQ(config->scheduling_unit, 100);
    EXPECT_EQ(config->max_restarts, 5);
    EXPECT_EQ(config->experiment_seed, 1'600'000'000u);
    EXPECT_EQ(config->checkpoint_policy, CheckpointPolicy::Best);
    EXPECT_EQ(config->hyperparameters.size(), 5u);
    EXPECT_EQ(std::get<Constant>(config->hyperparameters.at("learning_rate").kind).value, json::value(0.001));
    EXPECT_EQ(config->resources.shm_size_bytes, 4294967296);
  }
  EXPECT_EQ(gen1.description, "mnist_const");
  EXPECT_EQ(gen2.description, "");
}

// What both minimal documents become, written from the tables of
// experiment-config.md §1-§11. Differences between the generations are apart.
const std::string kDefaulted = R"(
batches_per_step: 100
bind_mounts: []
checkpoint_policy: best
checkpoint_storage:
  type: shared_fs
  host_path: /var/det/checkpoints
  storage_path: null
  container_path: null
  checkpoint_path: null
  tensorboard_path: null
  propagation: rprivate
  save_experiment_best: 0
  save_trial_best: 1
  save_trial_latest: 1
data: {}
debug: false
entrypoint: model_def:MNistTrial
environment:
  image: null
  environment_variables: []
  ports: {}
  proxy_ports: []
  registry_auth: null
  force_pull_image: false
  add_capabilities: []
  drop_capabilities: []
  pod_spec: null
hyperparameters:
  learning_rate: {type: const, val: 0.001}
  dropout: {type: const, val: 0.5}
  global_batch_size: {type: const, val: 64}
  n_filters1: {type: const, val: 40}
  n_filters2: {type: const, val: 40}
integrations: null
labels: []
log_policies:
- {name: CUDA OOM, pattern: ".*CUDA out of memory.*"}
- {name: ECC Error, pattern: ".*uncorrectable ECC error encountered.*"}
max_restarts: 5
min_checkpoint_period: {batches: 0}
min_validation_period: {batches: 0}
name: mnist_const
pbs: {pbsbatch_args: []}
perform_initial_validation: false
preemption_timeout: null
profiling: {enabled: false, begin_on_batch: 0, end_after_batch: null, sync_timings: true}
project: ""
records_per_epoch: 0
reproducibility: {experiment_seed: 1600000000}
resources:
  slots_per_trial: 1
  max_slots: null
  weight: 1
  priority: null
  resource_pool: ""
  is_single_node: null
  shm_size: null
  devices: []
  native_parallel: false
  agent_label: ""
retention_policy: null
scheduling_unit: 100
slurm: {sbatch_args: []}
workspace: ""
)";
const std::string kOnlyGen1 = R"(
description: mnist_const
searcher: {name: single, metric: validation_error, smaller_is_better: true, source_trial_id: null, source_checkpoint_uuid: null, max_steps: 20, max_length: {batches: 2000}}
optimizations: {aggregation_frequency: 1, average_aggregated_gradients: true, average_training_metrics: false, gradient_compression: false, mixed_precision: O0,
  tensor_fusion_threshold: 64, tensor_fusion_cycle_time: 5, auto_tune_tensor_fusion: false, grad_updates_size_file: null}
)";
const std::string kOnlyGen2 = R"(
description: null
searcher: {name: single, metric: validation_error, smaller_is_better: true, source_trial_id: null, source_checkpoint_uuid: null, max_length: {batches: 2000}}
optimizations: {aggregation_frequency: 1, average_aggregated_gradients: true, average_training_metrics: true, gradient_compression: false, mixed_precision: O0,
  tensor_fusion_threshold: 64, tensor_fusion_cycle_time: 1, auto_tune_tensor_fusion: false, grad_updates_size_file: null}
)";

TEST(MinimalDocuments, GetTheDocumentedDefaults) {
  EXPECT_EQ(emit_yaml(resolved(kGen1).config.document), emit_yaml(yaml_value(kDefaulted + kOnlyGen1)));
  EXPECT_EQ(emit_yaml(resolved(kGen2).config.document), emit_yaml(yaml_value(kDefaulted + kOnlyGen2)));
}

// An experiment is forked by submitting its document again.
TEST(ResolvedDocuments, AreValidAndResolveToThemselves) {
  const std::vector<std::string> documents = {
      kGen1,
      kGen2,
      changed(kGen1, {"min_validation_period=3", "batches_per_step=7", "labels={b: true, a: true}",
                      "environment.image={gpu: x}"}),
      changed(kGen2, {"searcher.name=random", "searcher.max_trials=3",
                      "hyperparameters.n={a: {type: int, minval: 1, maxval: 4}, b: [1]}"}),
      changed(kGen1, {"searcher={name: async_halving, metric: m, num_rungs: 3, target_trial_steps: 9, "
                      "step_budget: 90}"}),
      changed(kGen2, {"entrypoint=[python3, train.py]",
                      "searcher.max_length=", "name=", "log_policies=[{name: CUDA OOM}]"}),
      changed(kGen2,
              {"searcher={name: adaptive_asha, metric: m, max_time: 100, time_metric: t, max_trials: 4}"})};
  for (const auto& document : documents) {
    const auto first = resolved(document).config;
    const auto second = resolved(emit_yaml(first.document)).config;
    EXPECT_EQ(emit_yaml(second.document), emit_yaml(first.document));
    EXPECT_EQ(second.generation, first.generation);
    EXPECT_EQ(second.searcher.max_length, first.searcher.max_length);
    const auto read = from_document(first.document);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->searcher.max_length, first.searcher.max_length);
    EXPECT_EQ(read->document, first.document);
  }
}

TEST(Resolve, ReportsEveryProblemAtOnceByLine) {
  const auto problems =
      problems_of(resolve_text("name: x\n"
                               "hyperparameters:\n"
                               "  lr: {type: double, minval: 3, maxval: 1}\n"
                               "  global_batch_size: 010\n"
                               "searcher:\n"
                               "  name: random\n"
                               "  max_length: {batches: 0}\n"
                               "entrypoint: m:C\n"
                               "resources: {slots: 3}\n"
                               "name: y\n",
                               "max_restart: 5\n"));
  EXPECT_EQ(problems,
            "<config>.hyperparameters.lr.minval (line 3): minval must be less than maxval: minval is "
            "greater than maxval, 3 > 1\n<config>.hyperparameters.global_batch_size (line 4): 010 is "
            "ambiguous, because some programs read a leading 0 as octal: write 10 for the integer, "
            "or quote it to make it text\n<config>.searcher (line 5): metric is a required "
            "property\n<config>.searcher (line 5): max_trials is a required "
            "property\n<config>.searcher.max_length.batches (line 7): batches must be > 0: 0 is not "
            "at least 1\n<config>.resources (line 9): additionalProperties \"slots\" not allowed: "
            "unknown field; did you mean \"slots_per_trial\"?\n<config>.name (line 10): duplicate "
            "key \"name\" (lines 1 and 10): keep only one of them\n<template> (line 1): "
            "additionalProperties \"max_restart\" not allowed: unknown field; did you mean "
            "\"max_restarts\"?\n");
}

TEST(Resolve, ComparesNothingWithAValueThatItRefused) {
  const auto problems =
      problems_of(resolve_text("hyperparameters:\n"
                               "  a: {type: double, minval: .nan, maxval: 1}\n"
                               "  b: {type: int, minval: 1, maxval: 99999999999999999999}\n"
                               "  global_batch_size: .inf\n"
                               "searcher: {name: single, metric: m, max_length: {batches: 1}}\n"
                               "entrypoint: m:C\n"
                               "resources: {slots_per_trial: 4, max_slots: .inf}\n"));
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 4) << problems;
  EXPECT_THAT(problems, HasSubstr("hyperparameters.a.minval (line 2): .nan is not a finite number"));
  EXPECT_THAT(problems, HasSubstr("hyperparameters.b.maxval (line 3): 99999999999999999999 does not fit in"));
  EXPECT_THAT(problems, HasSubstr("resources.max_slots (line 7): .inf is not a finite number"));
}

TEST(Resolve, SaysThatHdfsIsNotThereAndNoMore) {
  EXPECT_EQ(
      problems_of(resolve_text(
          changed(kGen1, {"checkpoint_storage={type: hdfs, hdfs_url: 'hdfs://h', hdfs_path: /p, user: u}"}))),
      "<config>.checkpoint_storage (line 4): type \"hdfs\" is not supported: use shared_fs, directory, s3 "
      "or gcs\n");
}

TEST(Resolve, LetsLogPoliciesOfATemplateBeDisabled) {
  const auto document = resolved(changed(kGen2, {"log_policies=[{name: a, pattern: null}]"}),
                                 "log_policies: [{name: a, pattern: x}]")
                            .config.document;
  EXPECT_EQ(document.at("log_policies").get_array().size(), 2u) << "the two that every experiment has";
  EXPECT_EQ(emit_yaml(resolved(emit_yaml(document)).config.document), emit_yaml(document));
}

TEST(Resolve, SaysWhereYamlEnds) {
  EXPECT_EQ(problems_of(resolve_text("name: [a\nsearcher: b\n")),
            "<config> (line 2): not valid YAML: end of sequence flow not found (column 9)\n");
  EXPECT_THAT(problems_of(resolve_text("- a\n")), HasSubstr("<config>: the document must be a map"));
  EXPECT_THAT(problems_of(resolve_text("")), HasSubstr("<config>: searcher is a required property"));
}

TEST(Resolve, NamesWhatHasNoName) {
  EXPECT_EQ(resolved(changed(kGen2, {"name="})).config.name, "Experiment (calm-grey-heron)");
  EXPECT_EQ(resolved(changed(kGen2, {"name=", "description=about"})).config.name, "about");
  const auto gen1 = resolved(changed(kGen1, {"description="})).config;
  EXPECT_EQ(gen1.name, "Experiment (calm-grey-heron)");
  EXPECT_EQ(gen1.description, "Experiment (calm-grey-heron)");
  EXPECT_EQ(resolved(changed(kGen1, {"description=''"})).config.description, "")
      << "an empty text is one that somebody chose";
}

TEST(Resolve, RefusesPoolsThatDoNotExist) {
  auto circumstances = testing::world();
  circumstances.resource_pools = {"default", "gpu"};
  const auto submit = [&](const char* pool) {
    return problems_of(resolve({testing::master_defaults(), std::nullopt,
                                changed(kGen2, {fmt::format("resources.resource_pool={}", pool)})},
                               circumstances));
  };
  EXPECT_THAT(submit("gpus"), HasSubstr("resource pool \"gpus\" not found: there are default, gpu"));
  EXPECT_EQ(submit("gpu"), "");
  EXPECT_EQ(submit("''"), "");
}

TEST(Resolve, WarnsOfWhatIsAcceptedButIgnored) {
  const auto warnings =
      resolved(changed(kGen2, {"resources.slots_per_trial=3", "tensorboard_storage={type: shared_fs}",
                               "environment.environment_variables=[DET_X=1]",
                               "bind_mounts=[{host_path: /a, container_path: /b}, {host_path: /c, "
                               "container_path: /c}]"}))
          .warnings;
  EXPECT_THAT(
      warnings,
      ::testing::UnorderedElementsAre(
          HasSubstr(
              "global_batch_size 64 is not divisible by resources.slots_per_trial 3: trials train with 63"),
          HasSubstr("/a is not mounted at /b, because tasks run without containers; read it at /a"),
          HasSubstr("tensorboard_storage is ignored"), HasSubstr("DET_X is ignored")));
  EXPECT_TRUE(resolved(kGen2).warnings.empty());
}

TEST(TypedForm, HoldsWhatTheDocumentSays) {
  const auto config =
      resolved(
          "name: x\ndescription: y\nlabels: [b, a, b]\nentrypoint: [python3, train.py, it's]\n"
          "hyperparameters:\n"
          "  i: {type: int, minval: 1, maxval: 4, count: 2}\n"
          "  d: {type: double, minval: 0, maxval: 1}\n"
          "  l: {type: log, base: 2, minval: -3, maxval: 3}\n"
          "  c: {type: categorical, vals: [1, a, null]}\n"
          "  n: {m: {k: 7}}\n"
          "searcher: {name: random, metric: acc, smaller_is_better: no, max_length: {records: 640}, "
          "max_trials: 9, source_trial_id: 3}\n"
          "resources: {slots_per_trial: 2, max_slots: 4, weight: 0.5, priority: 7, resource_pool: p, "
          "is_single_node: true, shm_size: 1 MiB}\n"
          "checkpoint_storage: {type: shared_fs, host_path: /a, storage_path: b, save_experiment_best: 2}\n"
          "checkpoint_policy: none\nmin_validation_period: {epochs: 2}\nperform_initial_validation: "
          "true\nrecords_per_epoch: 100\n"
          "scheduling_unit: 10\nmax_restarts: 0\nreproducibility: {experiment_seed: 7}\npreemption_timeout: "
          "60\nworkspace: w\nproject: p\n")
          .config;
  EXPECT_EQ(config.labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.entrypoint, "python3 train.py 'it'\\''s'");
  EXPECT_EQ(std::get<Integer>(config.hyperparameters.at("i").kind).count, 2);
  EXPECT_EQ(std::get<Double>(config.hyperparameters.at("d").kind).maxval, 1);
  EXPECT_EQ(std::get<Log>(config.hyperparameters.at("l").kind).base, 2);
  EXPECT_EQ(std::get<Categorical>(config.hyperparameters.at("c").kind).values.size(), 3u);
  const auto& nested =
      std::get<Nested>(std::get<Nested>(config.hyperparameters.at("n").kind).children.at("m").kind);
  EXPECT_EQ(std::get<Constant>(nested.children.at("k").kind).value, json::value(7));
  EXPECT_FALSE(config.searcher.smaller_is_better);
  EXPECT_EQ(config.searcher.max_length, (Length{Unit::Records, 640}));
  EXPECT_EQ(config.searcher.source_trial_id, 3);
  EXPECT_EQ(config.searcher.max_concurrent_trials, 16);
  EXPECT_EQ(config.resources.shm_size_bytes, 1 << 20);
  EXPECT_EQ(config.resources.priority, 7);
  EXPECT_TRUE(config.resources.single_node);
  EXPECT_EQ(config.checkpoint_storage.storage_path, "b");
  EXPECT_EQ(config.checkpoint_storage.save_experiment_best, 2);
  EXPECT_EQ(config.checkpoint_policy, CheckpointPolicy::None);
  EXPECT_EQ(config.min_validation_period, (Length{Unit::Epochs, 2}));
  EXPECT_EQ(config.min_checkpoint_period.count, 0);
  EXPECT_EQ(config.preemption_timeout_seconds, 60);
  EXPECT_EQ(config.experiment_seed, 7u);
}

TEST(TypedForm, OfTimeCountsInUnitsOfTheTimeMetric) {
  const auto config =
      resolved(
          changed(
              kGen2,
              {"searcher={name: adaptive_asha, metric: m, max_time: 100, time_metric: t, max_trials: 4}"}))
          .config;
  EXPECT_EQ(config.generation, Generation::Time);
  EXPECT_EQ(config.searcher.max_length, (Length{Unit::Unitless, 100}));
}

TEST(TypedForm, CallsTheOldestAsyncHalvingWhatItWas) {
  const auto config = resolved(changed(kGen1, {"searcher={name: async_halving, metric: m, num_rungs: 3, "
                                               "target_trial_steps: 9, step_budget: 90}"}))
                          .config;
  EXPECT_EQ(config.searcher.name, "sync_halving");
  EXPECT_EQ(config.document.at("searcher").at("name"), json::value("async_halving"))
      << "the document keeps the user's word";
}

TEST(StoredDocuments, ThatAreNotOnesAreRefused) {
  EXPECT_EQ(from_document({}).error().message(), "searcher: name is a required property");
  auto document = resolved(kGen2).config.document;
  document["max_restarts"] = "many";
  EXPECT_EQ(from_document(document).error().message(), "max_restarts: expected an integer in range");
}

TEST(Masking, HidesSecretsAndNothingElse) {
  const auto config =
      resolved(changed(kGen2, {"checkpoint_storage={type: s3, bucket: b, access_key: a, secret_key: s}",
                               "data={secrets: {a: 1, b: [x]}, url: u}",
                               "environment.registry_auth={username: u, password: p}"}))
          .config;
  const auto safe = masked(config.document);
  EXPECT_EQ(safe.at("checkpoint_storage").at("access_key"), json::value("********"));
  EXPECT_EQ(safe.at("checkpoint_storage").at("secret_key"), json::value("********"));
  EXPECT_EQ(safe.at("checkpoint_storage").at("bucket"), json::value("b"));
  EXPECT_EQ(safe.at("data"),
            (json::value{{"secrets", {{"a", "********"}, {"b", json::array{"********"}}}}, {"url", "u"}}));
  EXPECT_EQ(safe.at("environment").at("registry_auth").at("password"), json::value("********"));
  EXPECT_EQ(safe.at("environment").at("registry_auth").at("username"), json::value("u"));
  EXPECT_EQ(masked(resolved(kGen2).config.document), resolved(kGen2).config.document);
}

struct BatchesCase {
  Length length;
  std::int64_t batch_size, records_per_epoch, batches;
};

TEST(Lengths, AreConvertedToBatchesRoundedDown) {
  // clang-format off
  const std::vector<BatchesCase> cases = {
      {{Unit::Batches, 7},       64, 1000,  7},
      {{Unit::Unitless, 7},      64, 1000,  7},
      {{Unit::Records, 127},     64, 1000,  1},
      {{Unit::Records, 63},      64, 1000,  0},
      {{Unit::Epochs, 2},        64, 1000,  31},
      {{Unit::Epochs, 3},        64, 48000, 2250},
      {{Unit::Epochs, 1'000'000'000'000'000'000}, 1, 1000, std::numeric_limits<std::int64_t>::max()}};
  // clang-format on
  for (const auto& c : cases) EXPECT_EQ(to_batches(c.length, c.batch_size, c.records_per_epoch), c.batches);
}

struct SlotCountsCase {
  SlotRange range;
  std::int64_t batch_size;
  std::vector<int> counts;
  std::vector<std::int64_t> batch_sizes;  ///< of each of them
};

TEST(SlotRanges, KeepTheGlobalBatchOrTheShareOfASlot) {
  // clang-format off
  const std::vector<SlotCountsCase> cases = {
      {{.min = 2, .max = 8},                              64, {2, 4, 8},       {64, 64, 64}},
      {{.min = 1, .max = 7},                              12, {1, 2, 3, 4, 6}, {12, 12, 12, 12, 12}},
      {{.min = 3, .max = 4},                              10, {3},             {10}},
      {{.min = 2, .max = 4},                               0, {2, 3, 4},       {0, 0, 0}},
      {{.min = 2, .max = 4, .keeps_global_batch = false}, 64, {2, 3, 4},       {32, 48, 64}}};
  // clang-format on
  for (const auto& c : cases) {
    EXPECT_EQ(slot_counts({.slots_per_trial = c.range.min, .slots_range = c.range}, c.batch_size), c.counts);
    std::vector<std::int64_t> sizes;
    for (const auto slots : c.counts) sizes.push_back(batch_size_on(c.range, c.batch_size, slots));
    EXPECT_EQ(sizes, c.batch_sizes);
  }
  EXPECT_TRUE(slot_counts({.slots_per_trial = 4}, 64).empty());
}

TEST(SlotRanges, AreReadWithTheirDefaults) {
  const auto config = resolved(changed(kGen2, {"resources.slots_per_trial={min: 2, max: 8}"})).config;
  EXPECT_EQ(config.resources.slots_per_trial, 2);
  EXPECT_EQ(config.resources.slots_range, (SlotRange{.min = 2, .max = 8}));
  EXPECT_EQ(config.document.at("resources").at("slots_per_trial"),
            (json::value{{"min", 2}, {"max", 8}, {"batch", "global"}, {"resize_after", 60}}));
}

}  // namespace
}  // namespace det::config
