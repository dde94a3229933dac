// What the two generations of configurations may say, and how the older one is
// translated (experiment-config.md §2, §16).
#include "det/config/testing.h"

namespace det::config {
namespace {

using testing::changed;
using testing::kGen1;
using testing::kGen2;
using testing::problems_of;
using testing::resolve_text;
using testing::resolved;

struct AcceptedCase {
  const char* name;
  int generation;
  std::vector<std::string> changes;
};
void PrintTo(const AcceptedCase& c, std::ostream* out) {
  *out << c.name;
}
class Accepted : public ::testing::TestWithParam<AcceptedCase> {};

TEST_P(Accepted, InBothGenerationsAsTheirReleasesDid) {
  const auto yaml = changed(GetParam().generation == 1 ? kGen1 : kGen2, GetParam().changes);
  EXPECT_EQ(problems_of(resolve_text(yaml)), "") << yaml;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Accepted, ::testing::Values(
    AcceptedCase{"random",             1, {"searcher={name: random, metric: m, max_steps: 5, max_trials: 3}"}},
    AcceptedCase{"grid",               1, {"searcher.name=grid", "hyperparameters.a={type: int, minval: 0, maxval: 9, count: 3}"}},
    AcceptedCase{"sync_halving",       1, {"searcher={name: sync_halving, metric: m, num_rungs: 3, target_trial_steps: 9, step_budget: 90}"}},
    AcceptedCase{"async_halving",      1, {"searcher={name: async_halving, metric: m, num_rungs: 3, target_trial_steps: 9, max_trials: 9}"}},
    AcceptedCase{"old_async_halving",  1, {"searcher={name: async_halving, metric: m, num_rungs: 3, target_trial_steps: 9, step_budget: 90, train_stragglers: false}"}},
    AcceptedCase{"adaptive",           1, {"searcher={name: adaptive, metric: m, target_trial_steps: 9, step_budget: 90, bracket_rungs: [2, 3]}"}},
    AcceptedCase{"adaptive_simple",    1, {"searcher={name: adaptive_simple, metric: m, max_steps: 9, max_trials: 2000, mode: aggressive}"}},
    AcceptedCase{"adaptive_asha",      1, {"searcher={name: adaptive_asha, metric: m, target_trial_steps: 9, max_trials: 9, max_concurrent_trials: 2}"}},
    AcceptedCase{"pbt",                1, {"searcher={name: pbt, metric: m, population_size: 4, num_rounds: 3, steps_per_round: 2, replace_function: {truncate_fraction: 0.2}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}"}},
    AcceptedCase{"sync_halving",       2, {"searcher={name: sync_halving, metric: m, num_rungs: 3, max_length: {batches: 9}, budget: {batches: 90}}"}},
    AcceptedCase{"adaptive",           2, {"searcher={name: adaptive, metric: m, max_length: {batches: 9}, budget: {batches: 90}}"}},
    AcceptedCase{"adaptive_simple",    2, {"searcher={name: adaptive_simple, metric: m, max_length: {batches: 9}, max_trials: 3}"}},
    AcceptedCase{"adaptive_asha",      2, {"searcher={name: adaptive_asha, metric: m, max_length: {epochs: 9}, max_trials: 3, stop_once: true}", "records_per_epoch=1000"}},
    AcceptedCase{"adaptive_asha_time", 2, {"searcher={name: adaptive_asha, metric: m, max_time: 9, time_metric: t, max_trials: 3}"}},
    AcceptedCase{"pbt",                2, {"searcher={name: pbt, metric: m, population_size: 4, num_rounds: 3, length_per_round: {batches: 2}, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, perturb_factor: 1}}"}},
    AcceptedCase{"custom",             2, {"searcher={name: custom, metric: m, unit: batches}"}},
    AcceptedCase{"unitless_length",    2, {"searcher.max_length=100"}},
    AcceptedCase{"script",             2, {"entrypoint=python3 train.py --lr 1", "searcher.max_length="}},
    AcceptedCase{"class_of_a_package",  2, {"entrypoint=pkg.sub:Outer.Inner"}},
    AcceptedCase{"class_of_any_script", 2, {"entrypoint='modèle.réseau:Éssai'"}},
    AcceptedCase{"cxx_class",           2, {"entrypoint=model_def.cpp:MnistTrial"}},
    AcceptedCase{"cxx_class_of_any_file", 2, {"entrypoint=src/my-modèle.cpp:MnistTrial"}},
    AcceptedCase{"cxx_class_of_a_namespace", 2, {"entrypoint='model-def.cpp:vision::MnistTrial'"}},
    AcceptedCase{"cxx_class_of_cmake",  2, {"entrypoint='CMakeLists.txt:MnistTrial'"}},
    AcceptedCase{"class_of_the_directory", 1, {"entrypoint=':MNistTrial'"}},
    AcceptedCase{"class_behind_horovod", 1, {"entrypoint=python3 -m determined.launch.horovod --autohorovod --trial model_def:MNistTrial"}},
    AcceptedCase{"class_behind_horovod_as_list", 2, {"entrypoint=[python3, -m, determined.launch.horovod, --trial, m:C]"}},
    AcceptedCase{"script_as_list",     2, {"entrypoint=[python3, train.py]"}},
    AcceptedCase{"script_in_epochs",   2, {"entrypoint=[python3, train.py]", "searcher.max_length={epochs: 3}"}},
    AcceptedCase{"no_batch_size",      2, {"hyperparameters="}},
    AcceptedCase{"native",             1, {"entrypoint=", "internal.native.command=[python3, main.py]"}},
    AcceptedCase{"const_of_any_kind",  2, {"hyperparameters.a=null", "hyperparameters.b=[1, {c: d}]", "hyperparameters.c={type: const, val: {x: 1}}", "hyperparameters.d=yes"}},
    AcceptedCase{"a_hyperparameter_called_type", 2, {"hyperparameters.n={type: {type: int, minval: 1, maxval: 2}}"}},
    AcceptedCase{"conditions",         2, {"searcher={name: optuna, metric: loss, max_trials: 4, max_length: {batches: 8}, sampler: NSGAIISampler, metrics: [{name: size, smaller_is_better: false}]}", "hyperparameters.a={type: log, base: 10, minval: 1, maxval: 2, when: {b.c: [1, 2], d: x}}", "hyperparameters.b={c: {type: int, minval: 1, maxval: 4, when: {d: [x, y]}}}", "hyperparameters.d={type: categorical, vals: [x, y, z]}"}},
    AcceptedCase{"no_slots",           2, {"resources.slots_per_trial=0"}},
    AcceptedCase{"a_range_of_slots",   2, {"resources.slots_per_trial={min: 1, max: 8}", "searcher.max_length={epochs: 3}", "records_per_epoch=640"}},
    AcceptedCase{"a_range_that_keeps_shares", 2, {"resources.slots_per_trial={min: 3, max: 8, batch: per_slot, resize_after: 0}"}},
    AcceptedCase{"a_range_without_batches", 2, {"entrypoint=[python3, train.py]", "hyperparameters=", "resources.slots_per_trial={min: 2, max: 4}"}},
    AcceptedCase{"period_off",         2, {"min_validation_period={batches: 0}", "min_checkpoint_period=null"}},
    AcceptedCase{"period_in_batches",  1, {"min_validation_period={batches: 500}"}},
    AcceptedCase{"sizes",              2, {"resources.shm_size=4.5 G"}},
    AcceptedCase{"integral_double",    2, {"max_restarts=1e1", "searcher.max_length={batches: 2e3}"}},
    AcceptedCase{"storage_inside",     2, {"checkpoint_storage={type: shared_fs, host_path: /data/, storage_path: /data/x/../y}"}},
    AcceptedCase{"directory",          2, {"checkpoint_storage={type: directory, container_path: /mnt}"}},
    AcceptedCase{"profiling_of_one",   2, {"profiling={begin_on_batch: 5, end_after_batch: 5}"}},
    AcceptedCase{"other_pod_container",2, {"environment.pod_spec={spec: {containers: [{name: sidecar, image: x}]}}"}},
    AcceptedCase{"disabled_policy",    2, {"log_policies=[{name: CUDA OOM, pattern: null}]"}},
    AcceptedCase{"legacy_policy",      2, {"log_policies=[{pattern: x, action: {type: exclude_node}}]"}},
    AcceptedCase{"data_layer",         1, {"data_layer={type: s3, bucket: b, bucket_directory_path: d, local_cache_host_path: /a, local_cache_container_path: /b, access_key: k}"}},
    AcceptedCase{"data_layer_default", 1, {"data_layer={host_storage_path: /a, container_storage_path: /b}"}},
    AcceptedCase{"data_layer_ignored", 2, {"data_layer={type: s3, bucket: b}"}},
    AcceptedCase{"most_epochs",        2, {"searcher.max_length={epochs: 1152921504606846975}", "records_per_epoch=8"}},
    AcceptedCase{"workspace",          2, {"workspace=w", "project=p"}},
    AcceptedCase{"ignored_sections",   1, {"tensorboard_storage={type: shared_fs, host_path: /x}", "security.kerberos.config_file=x", "debug=on"}}),
    [](const auto& info) { return fmt::format("gen{}_{}", info.param.generation, info.param.name); });
// clang-format on

struct ShimCase {
  const char* name;
  std::vector<std::string> changes;
  const char* path;
  const char* translated;
};
void PrintTo(const ShimCase& c, std::ostream* out) {
  *out << c.name;
}
class Steps : public ::testing::TestWithParam<ShimCase> {};

TEST_P(Steps, AreTranslatedBesideWhatTheUserWrote) {
  const auto document = resolved(changed(kGen1, GetParam().changes)).config.document;
  json::value at = document;
  for (const auto* rest = GetParam().path; *rest != 0;) {
    const std::string_view path = rest;
    const auto key = path.substr(0, path.find('.'));
    ASSERT_TRUE(at.is_object() && at.get_object().contains(key)) << key;
    at = json::value(at.get_object().at(key));
    rest += key.size() + (key.size() < path.size() ? 1 : 0);
  }
  EXPECT_EQ(json::serialize(at), GetParam().translated);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Steps, ::testing::Values(
    ShimCase{"max_steps_stays",       {"batches_per_step=10"},        "searcher.max_steps",          "20"},
    ShimCase{"max_length",            {"batches_per_step=10"},        "searcher.max_length",         "{\"batches\":200}"},
    ShimCase{"scheduling_unit",       {"batches_per_step=10"},        "scheduling_unit",             "10"},
    ShimCase{"batches_per_step",      {"scheduling_unit=10"},         "batches_per_step",            "10"},
    ShimCase{"unit_of_scheduling",    {"scheduling_unit=10"},         "searcher.max_length",         "{\"batches\":200}"},
    ShimCase{"validation_period",     {"min_validation_period=3"},    "min_validation_period",       "{\"batches\":300}"},
    ShimCase{"checkpoint_period",     {"min_checkpoint_period=2"},    "min_checkpoint_period",       "{\"batches\":200}"},
    ShimCase{"name",                  {},                             "name",                        "\"mnist_const\""},
    ShimCase{"gpu_image",             {"environment.image={gpu: a, cpu: b}"}, "environment.image",   "{\"cpu\":\"b\",\"cuda\":\"a\"}"},
    ShimCase{"gpu_variables",         {"environment.environment_variables={gpu: [A=1]}"}, "environment.environment_variables", "{\"cuda\":[\"A=1\"]}"},
    ShimCase{"target_trial_steps",    {"searcher={name: adaptive, metric: m, target_trial_steps: 8, step_budget: 80}"}, "searcher.max_length", "{\"batches\":800}"},
    ShimCase{"step_budget",           {"searcher={name: adaptive, metric: m, target_trial_steps: 8, step_budget: 80}"}, "searcher.budget",     "{\"batches\":8000}"},
    ShimCase{"steps_per_round",       {"searcher={name: pbt, metric: m, population_size: 4, num_rounds: 3, steps_per_round: 2, replace_function: {truncate_fraction: 0.2}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}"}, "searcher.length_per_round", "{\"batches\":200}"},
    ShimCase{"no_limit_of_trials",    {"searcher={name: random, metric: m, max_steps: 5, max_trials: 3}"}, "searcher.max_concurrent_trials", "0"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

}  // namespace
}  // namespace det::config
