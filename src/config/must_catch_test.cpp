// The must-catch list of the configuration's reference, row by row: each case
// changes one of the two minimal documents and names what has to be said.
// (21: unknown templates, workspaces and projects, 22: the size of the model
// definition, and 24: whether a warm-start source exists are the master's.)
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

struct Case {
  const char* name;
  int generation;
  std::vector<std::string> changes;
  const char* problem;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class MustCatch : public ::testing::TestWithParam<Case> {};

TEST_P(MustCatch, SaysWhatIsWrong) {
  const auto& c = GetParam();
  const auto yaml = changed(c.generation == 1 ? kGen1 : kGen2, c.changes);
  EXPECT_THAT(problems_of(resolve_text(yaml)), HasSubstr(c.problem)) << yaml;
}

const auto name_of = [](const auto& info) {
  return fmt::format("gen{}_{}", info.param.generation, info.param.name);
};

// clang-format off
INSTANTIATE_TEST_SUITE_P(Keys, MustCatch, ::testing::Values(  // 1, 2, 3
    Case{"unknown_top_level_key",   2, {"serchr=1"},                               "<config> (line 15): additionalProperties \"serchr\" not allowed: unknown field"},
    Case{"suggestion",              2, {"max_restart=1"},                          "did you mean \"max_restarts\"?"},
    Case{"field_of_a_section",      2, {"slots_per_trial=1"},                      "additionalProperties \"slots_per_trial\" not allowed: it belongs in \"resources\""},
    Case{"field_of_the_top_level",  2, {"resources.max_restarts=1"},               "it belongs at the top level"},
    Case{"unknown_nested_key",      1, {"environment.imag=x"},                     "<config>.environment (line 4): additionalProperties \"imag\" not allowed"},
    Case{"key_of_another_searcher", 2, {"searcher.max_rungs=3"},                   "additionalProperties \"max_rungs\" not allowed: it is a field of adaptive_asha, adaptive, and adaptive_simple, not of single"},
    Case{"key_of_another_storage",  2, {"checkpoint_storage={type: s3, bucket: b, host_path: /x}"}, "it is a field of shared_fs, not of s3"},
    Case{"missing_searcher",        2, {"searcher="},                              "<config>: searcher is a required property"},
    Case{"missing_searcher_name",   2, {"searcher.name="},                         "is not an object where object[\"name\"] is one of 'single', 'random', 'grid', 'custom', 'adaptive_asha'"},
    Case{"unknown_searcher_name",   1, {"searcher.name=sinlge"},                   "\"sinlge\"; did you mean \"single\"?"},
    Case{"missing_metric",          2, {"searcher.metric="},                       "metric is a required property"},
    Case{"empty_metric",            2, {"searcher.metric=''"},                     "metric must not be empty"},
    Case{"searcher_is_no_map",      2, {"searcher=single"},                        "<config>.searcher (line 9): \"single\" is not a map"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Lengths, MustCatch, ::testing::Values(  // 4, 5, 6, 7
    Case{"max_steps_zero",          1, {"searcher.max_steps=0"},                   "max_steps must be > 0: 0 is not at least 1"},
    Case{"max_steps_text",          1, {"searcher.max_steps=many"},                "<config>.searcher.max_steps (line 10): \"many\" is not an integer"},
    Case{"max_steps_too_large",     1, {"searcher.max_steps=9223372036854775807"}, "are more than a 64-bit integer can count"},
    Case{"max_trials_zero",         2, {"searcher.name=random", "searcher.max_trials=0"}, "max_trials must be > 0: 0 is not at least 1"},
    Case{"max_trials_missing",      2, {"searcher.name=random"},                   "max_trials is a required property"},
    Case{"max_length_zero",         2, {"searcher.max_length.batches=0"},          "batches must be > 0: 0 is not at least 1"},
    Case{"max_length_missing",      2, {"searcher.max_length="},                   "max_length is a required property"},
    Case{"steps_and_length_differ", 1, {"searcher.max_length={batches: 10}"},      "max_steps is 2000 batches, but max_length is {\"batches\":10}: change both, or remove one"},
    Case{"length_without_unit",     2, {"searcher.max_length={}"},                 "invalid length: {}: a length object must have one attribute named \"batches\", \"records\", or \"epochs\""},
    Case{"length_with_two_units",   2, {"searcher.max_length.epochs=1"},           "a length object must have one attribute named \"batches\", \"records\", or \"epochs\""},
    Case{"length_with_odd_unit",    2, {"searcher.max_length={steps: 1}"},         "invalid length: {\"steps\":1}"},
    Case{"length_negative",         2, {"min_validation_period={batches: -1}"},    "batches must be >= 0: -1 is not at least 0"},
    Case{"length_fraction",         2, {"searcher.max_length={batches: 1.5}"},     "1.5 is not an integer"},
    Case{"length_text",             2, {"searcher.max_length=long"},               "invalid length: \"long\""},
    Case{"epochs_too_many",         2, {"searcher.max_length={epochs: 9223372036854775807}", "records_per_epoch=2"}, "<config>.searcher.max_length (line 11): 9223372036854775807 epochs of 2 records (records_per_epoch) are more records than a 64-bit integer can count"},
    Case{"max_time_too_long",       2, {"searcher={name: adaptive_asha, metric: m, max_time: 9223372036854775807, time_metric: epochs, max_trials: 3}", "records_per_epoch=2"}, "<config>.searcher.max_time (line 11): 9223372036854775807 epochs of 2 records"},
    Case{"script_of_many_epochs",   2, {"entrypoint=python3 train.py", "searcher.max_length={epochs: 9223372036854775807}", "records_per_epoch=9223372036854775807"}, "9223372036854775807 epochs of 9223372036854775807 records"},
    Case{"period_too_many_epochs",  2, {"min_checkpoint_period={epochs: 9223372036854775807}", "records_per_epoch=2"}, "<config>.min_checkpoint_period (line 8): 9223372036854775807 epochs of 2 records"},
    Case{"period_too_many_steps",   1, {"min_validation_period=9223372036854775807"}, "9223372036854775807 steps of 100 batches are more than a 64-bit integer can count"},
    Case{"epochs_unknown",          2, {"searcher.max_length={epochs: 3}"},        "<config>.searcher.max_length (line 10): must specify the top-level records_per_epoch when this field is in terms of epochs"},
    Case{"period_epochs_unknown",   2, {"min_checkpoint_period={epochs: 3}"},      "must specify the top-level records_per_epoch when this field is in terms of epochs"},
    Case{"records_need_batch_size", 2, {"searcher.max_length={records: 99}", "hyperparameters={a: 1}"}, "global_batch_size is a required property: searcher.max_length is in records"},
    Case{"budget_too_small",        1, {"searcher={name: adaptive, metric: m, target_trial_steps: 8, step_budget: 8}"}, "step_budget must be > target_trial_steps: 8 is not greater than 8"},
    Case{"budget_too_large",        1, {"searcher={name: adaptive, metric: m, target_trial_steps: 8, step_budget: 50001}"}, "step_budget must be <= 50000: 50001 is not at most 50000"},
    Case{"budget_missing",          1, {"searcher={name: adaptive, metric: m, target_trial_steps: 8}"}, "step_budget is a required property"},
    Case{"budget_too_small",        2, {"searcher={name: adaptive, metric: m, max_length: {batches: 8}, budget: {batches: 8}}"}, "budget must be > max_length: 8 is not greater than 8"},
    Case{"budget_of_other_unit",    2, {"searcher={name: adaptive, metric: m, max_length: {batches: 8}, budget: {records: 80}}"}, "max_length and budget must be specified in terms of the same unit: batches and records"},
    Case{"max_time_without_metric", 2, {"searcher={name: adaptive_asha, metric: m, max_time: 5, max_trials: 3}"}, "time_metric is a required property"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Search, MustCatch, ::testing::Values(  // 8, 9
    Case{"divisor_one",             2, {"searcher={name: adaptive_asha, metric: m, max_length: 5, max_trials: 3, divisor: 1}"}, "divisor must be > 1: 1 is not greater than 1"},
    Case{"bad_mode",                1, {"searcher={name: adaptive_asha, metric: m, target_trial_steps: 5, max_trials: 3, mode: fast}"}, "invalid adaptive mode: \"fast\" is not one of aggressive, standard, or conservative"},
    Case{"max_rungs_zero",          2, {"searcher={name: adaptive_asha, metric: m, max_length: 5, max_trials: 3, max_rungs: 0}"}, "max_rungs must be > 0"},
    Case{"num_rungs_zero",          2, {"searcher={name: sync_halving, metric: m, max_length: 5, budget: 9, num_rungs: 0}"}, "num_rungs must be > 0"},
    Case{"too_many_trials",         1, {"searcher={name: adaptive_simple, metric: m, max_steps: 5, max_trials: 2001}"}, "max_trials must be <= 2000: 2001 is not at most 2000"},
    Case{"truncate_fraction",       2, {"searcher={name: pbt, metric: m, population_size: 2, num_rounds: 2, length_per_round: {batches: 2}, replace_function: {truncate_fraction: 0.6}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}"}, "truncate_fraction must be <= 0.5: 0.6 is not at most 0.5"},
    Case{"grid_without_count",      2, {"searcher.name=grid", "hyperparameters.d.x={type: double, minval: 0, maxval: 1}"}, "<config>.hyperparameters.d.x (line 4): grid search is in use but count was not provided"},
    Case{"grid_in_a_list",          2, {"searcher.name=grid", "hyperparameters.l=[1, 2, {type: int, minval: 0, maxval: 1}]"}, "<config>.hyperparameters.l[2]"},
    Case{"grid_without_count",      1, {"searcher.name=grid", "hyperparameters.b={type: int, minval: 0, maxval: 9}", "hyperparameters.a={type: log, base: 10, minval: -4, maxval: 1}"}, "these hyperparameters must specify counts for grid search: a, b"},
    Case{"grid_too_large",          2, {"searcher.name=grid", "hyperparameters.a={type: int, minval: 0, maxval: 9999, count: 2001}"}, "number of trials for grid search must be <= 2000"},
    Case{"grid_product_too_large",  1, {"searcher.name=grid", "hyperparameters.a={type: int, minval: 0, maxval: 99, count: 50}", "hyperparameters.b={type: double, minval: 0, maxval: 1, count: 41}"}, "number of trials for grid search must be <= 2000"},
    Case{"bad_source_uuid",         2, {"searcher.source_checkpoint_uuid=12"},     "12 is not a string"},
    Case{"odd_source_uuid",         2, {"searcher.source_checkpoint_uuid=abc"},    "invalid source checkpoint UUID: \"abc\""}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Hyperparameters, MustCatch, ::testing::Values(  // 10, 11
    Case{"minval_above_maxval",     1, {"hyperparameters.a={type: int, minval: 5, maxval: 3}"}, "minval is greater than maxval"},
    Case{"minval_equals_maxval",    2, {"hyperparameters.a={type: double, minval: 1, maxval: 1}"}, "<config>.hyperparameters.a.minval (line 5): minval must be less than maxval: both are 1"},
    Case{"range_too_wide",          2, {"hyperparameters.a={type: int, minval: -9223372036854775808, maxval: 1}"}, "has more values than a 64-bit integer can count"},
    Case{"base_zero",               2, {"hyperparameters.a={type: log, base: 0, minval: 1, maxval: 2}"}, "base must be > 0: 0 is not greater than 0"},
    Case{"power_too_large",         2, {"hyperparameters.a={type: log, base: 10, minval: 1, maxval: 400}"}, "10 to the power of 400 is too large to represent"},
    Case{"count_zero",              1, {"hyperparameters.a={type: int, minval: 1, maxval: 3, count: 0}"}, "count must be > 0: 0 is not at least 1"},
    Case{"no_categories",           1, {"hyperparameters.a={type: categorical, vals: []}"}, "must have at least one category"},
    Case{"unknown_type",            2, {"hyperparameters.a={type: float}"},        "if a hyperparameter object's [\"type\"] is set, it must be one of \"int\", \"double\", \"log\", \"const\", or \"categorical\""},
    Case{"unknown_nested_type",     2, {"hyperparameters.n.m.a={type: 5}"},        "<config>.hyperparameters.n.m.a (line 9): if a hyperparameter object's"},
    Case{"missing_maxval",          2, {"hyperparameters.a={type: int, minval: 5}"}, "maxval is a required property"},
    Case{"fraction_as_int",         2, {"hyperparameters.a={type: int, minval: 0.5, maxval: 3}"}, "0.5 is not an integer"},
    Case{"vals_of_int",             2, {"hyperparameters.a={type: int, minval: 0, maxval: 3, vals: [1]}"}, "additionalProperties \"vals\" not allowed: it is a field of categorical, not of int"},
    Case{"batch_size_missing",      1, {"hyperparameters={a: 1}"},                 "<config>.hyperparameters (line 3): global_batch_size is a required property"},
    Case{"batch_size_zero",         2, {"hyperparameters.global_batch_size=0"},    "is neither a positive integer nor an int hyperparameter: 0"},
    Case{"batch_size_text",         1, {"hyperparameters.global_batch_size='64'"}, "is neither a positive integer nor an int hyperparameter: \"64\""},
    Case{"batch_size_double",       2, {"hyperparameters.global_batch_size={type: double, minval: 1, maxval: 2}"}, "is neither a positive integer nor an int hyperparameter"},
    Case{"batch_size_category",     2, {"hyperparameters.global_batch_size={type: categorical, vals: [4, x]}"}, "is neither a positive integer nor an int hyperparameter"},
    Case{"batch_size_below_slots",  2, {"resources.slots_per_trial=128"},          "global_batch_size must be >= slots_per_trial, because each slot gets a share of every batch: 64 is not at least 128"},
    Case{"batch_size_may_be_below", 2, {"resources.slots_per_trial=4", "hyperparameters.global_batch_size={type: categorical, vals: [8, 2]}"}, "2 is not at least 4"}),
    name_of);

constexpr const char* kOptuna = "searcher={name: optuna, metric: loss, max_trials: 4, max_length: {batches: 8}, metrics: [{name: size}]";

INSTANTIATE_TEST_SUITE_P(Objectives, MustCatch, ::testing::Values(
    Case{"metric_twice",      2, {fmt::format("{}}}", kOptuna), "searcher.metrics=[{name: size}, {name: loss}]"}, "<config>.searcher.metrics[1].name (line 16): searcher.metric and searcher.metrics have loss twice; remove one"},
    Case{"metric_unnamed",    2, {fmt::format("{}}}", kOptuna), "searcher.metrics=[{smaller_is_better: false}]"}, "name is a required property"},
    Case{"pruner",            2, {fmt::format("{}, pruner: MedianPruner}}", kOptuna)}, "MedianPruner compares one metric; with searcher.metrics, the pruner must be NopPruner"},
    Case{"sampler",           2, {fmt::format("{}, sampler: CmaEsSampler}}", kOptuna)}, "CmaEsSampler optimizes one metric"},
    Case{"other_searcher",    2, {"hyperparameters.a={type: const, val: 1, when: {b: 2}}", "hyperparameters.b=2"}, "<config>.hyperparameters.a.when (line 6): conditions need searcher.name optuna or custom; it is single"},
    Case{"when_of_nothing",   2, {fmt::format("{}}}", kOptuna), "hyperparameters.a={type: int, minval: 1, maxval: 2, when: {c: 1}}"}, "c is not a hyperparameter with a value; nested ones are written a.b"},
    Case{"when_of_a_section", 2, {fmt::format("{}}}", kOptuna), "hyperparameters.a={type: int, minval: 1, maxval: 2, when: {c: 1}}", "hyperparameters.c={d: 1}"}, "c is not a hyperparameter with a value"},
    Case{"when_never",        2, {fmt::format("{}}}", kOptuna), "hyperparameters.a={type: int, minval: 1, maxval: 2, when: {c.d: [x, z]}}", "hyperparameters.c={d: {type: categorical, vals: [x, y]}}"}, "c.d is never \"z\"; it is one of [\"x\",\"y\"]"},
    Case{"when_of_a_double",  2, {fmt::format("{}}}", kOptuna), "hyperparameters.a={type: int, minval: 1, maxval: 2, when: {c: 1}}", "hyperparameters.c={type: double, minval: 0, maxval: 1}"}, "c has the type double; conditions need categorical, int or const"},
    Case{"when_in_a_circle",  2, {fmt::format("{}}}", kOptuna), "hyperparameters.a={type: int, minval: 1, maxval: 2, when: {b: 1}}", "hyperparameters.b={type: int, minval: 1, maxval: 2, when: {a: 1}}"}, "a depends on itself: a, b, a"},
    Case{"when_of_the_batch", 2, {fmt::format("{}}}", kOptuna), "hyperparameters.global_batch_size={type: int, minval: 1, maxval: 2, when: {b: 1}}", "hyperparameters.b=1"}, "global_batch_size cannot have a condition"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Numbers, MustCatch, ::testing::Values(  // 12, 13, 14, 18, 20
    Case{"no_slots",                1, {"resources.slots_per_trial=0"},            "slots_per_trial must be > 0: 0 is not greater than 0"},
    Case{"negative_slots",          2, {"resources.slots_per_trial=-1"},           "slots_per_trial must be >= 0: -1 is not at least 0"},
    Case{"range_without_max",       2, {"resources.slots_per_trial={min: 2}"},     "max is a required property"},
    Case{"range_of_nothing",        2, {"resources.slots_per_trial={min: 0, max: 4}"}, "min must be > 0: 0 is not at least 1"},
    Case{"range_upside_down",       2, {"resources.slots_per_trial={min: 4, max: 2}"}, "max must be >= min: 2 is not at least 4"},
    Case{"range_too_wide",          2, {"resources.slots_per_trial={min: 1, max: 5000}"}, "max must be <= 4096: 5000 is not at most 4096"},
    Case{"range_max_slots",         2, {"resources.slots_per_trial={min: 2, max: 8}", "resources.max_slots=1"}, "max_slots must be >= slots_per_trial: 1 is not at least 2"},
    Case{"range_keeps_what",        2, {"resources.slots_per_trial={min: 2, max: 8, batch: none}"}, "batch must be one of global or per_slot"},
    Case{"range_that_never_divides", 2, {"resources.slots_per_trial={min: 5, max: 7}"}, "must be divisible by a number of slots from 5 to 7, because each slot gets an equal share of every batch: 64 is not"},
    Case{"range_of_shares",         2, {"resources.slots_per_trial={min: 2, max: 6, batch: per_slot}"}, "must be a multiple of resources.slots_per_trial.max, 6, because each slot keeps its share: 64 is not"},
    Case{"range_of_shares_in_epochs", 2, {"resources.slots_per_trial={min: 2, max: 8, batch: per_slot}", "min_validation_period={epochs: 1}", "records_per_epoch=640"}, "<config>.min_validation_period (line 8): must be in batches: with resources.slots_per_trial.batch per_slot"},
    Case{"max_slots",               2, {"resources.slots_per_trial=2", "resources.max_slots=1"}, "max_slots must be >= slots_per_trial: 1 is not at least 2"},
    Case{"weight",                  1, {"resources.weight=0"},                     "weight must be > 0: 0 is not greater than 0"},
    Case{"priority_too_small",      2, {"resources.priority=0"},                   "scheduling priority must be greater than 0 and less than 100: 0 is not at least 1"},
    Case{"priority_too_large",      2, {"resources.priority=100"},                 "scheduling priority must be greater than 0 and less than 100: 100 is not at most 99"},
    Case{"shm_giga",                2, {"resources.shm_size=giga"},                "must be a valid memory size: \"giga\""},
    Case{"shm_1_dot_gb",            2, {"resources.shm_size=1.gb"},                "must be a valid memory size"},
    Case{"shm_1_gi",                2, {"resources.shm_size=1 gi"},                "must be a valid memory size"},
    Case{"shm_1_i",                 2, {"resources.shm_size=1 i"},                 "must be a valid memory size"},
    Case{"slots",                   2, {"resources.slots=1"},                      "additionalProperties \"slots\" not allowed"},
    Case{"max_restarts",            2, {"max_restarts=-1"},                        "max_restarts must be >= 0: -1 is not at least 0"},
    Case{"period_zero",             1, {"min_validation_period=0"},                "min_validation_period must be > 0: 0 is not at least 1"},
    Case{"period_in_steps",         2, {"min_validation_period=5"},                "a plain number of steps is allowed only with searcher.max_steps"},
    Case{"scheduling_unit",         2, {"scheduling_unit=0"},                      "scheduling_unit must be > 0: 0 is not at least 1"},
    Case{"batches_per_step",        1, {"batches_per_step=0"},                     "batches_per_step must be > 0: 0 is not at least 1"},
    Case{"units_differ",            1, {"batches_per_step=1", "scheduling_unit=2"}, "batches_per_step is the old name of scheduling_unit, but the two differ (1 and 2): keep only one of them"},
    Case{"zero_instead_of_o",       2, {"optimizations.mixed_precision='01'"},     "mixed_precision should be a string starting with an uppercase letter 'O': \"01\""},
    Case{"precision_number",        2, {"optimizations.mixed_precision=0"},        "mixed_precision should be a string starting with an uppercase letter 'O': 0 is not a string"},
    Case{"aggregation_frequency",   2, {"optimizations.aggregation_frequency=0"},  "aggregation_frequency must be > 0"},
    Case{"fusion_threshold",        1, {"optimizations.tensor_fusion_threshold=-1"}, "tensor_fusion_threshold must be >= 0"},
    Case{"fusion_cycle_time",       1, {"optimizations.tensor_fusion_cycle_time=-1"}, "tensor_fusion_cycle_time must be >= 0"},
    Case{"checkpoint_policy",       2, {"checkpoint_policy=some"},                 "checkpoint_policy must be one of \"best\", \"all\" or \"none\": \"some\""},
    Case{"profiling",               2, {"profiling.begin_on_batch=5", "profiling.end_after_batch=4"}, "begin_on_batch must be less than end_after_batch: 5 is greater than 4"},
    Case{"retention_too_small",     2, {"retention_policy.log_retention_days=-2"}, "log_retention_days must be >= -1"},
    Case{"retention_too_large",     2, {"retention_policy.log_retention_days=32768"}, "log_retention_days must be <= 32767"},
    Case{"seed_too_large",          2, {"reproducibility.experiment_seed=4294967296"}, "experiment_seed must be <= 4294967295"},
    Case{"seed_negative",           1, {"reproducibility.experiment_seed=-1"},     "experiment_seed must be >= 0"},
    Case{"policy_names",            2, {"log_policies=[{name: A, pattern: x}, {name: A, pattern: y}]"}, "log_policies have duplicated names \"A\""},
    Case{"policy_action",           2, {"log_policies=[{name: A, pattern: x, action: stop}]"}, "must be one of \"cancel_retries\" or \"exclude_node\""},
    Case{"policy_new_but_unnamed",  2, {"log_policies=[{pattern: x, action: cancel_retries}]"}, "\"name\" must be set, and \"pattern\" is also required unless you intend to disable an existing policy"},
    Case{"policy_disables_nothing", 2, {"log_policies=[{name: a}]"},               "\"name\" must be set, and \"pattern\" is also required unless you intend to disable an existing policy"},
    Case{"data_layer_bucket",       1, {"data_layer={type: s3, bucket: b}"},       "<config>.data_layer (line 1): bucket_directory_path is a required property"},
    Case{"data_layer_half",         1, {"data_layer={type: shared_fs, host_storage_path: /a}"}, "host_storage_path and container_storage_path must be set together in a configuration that counts in steps: container_storage_path is missing"},
    Case{"data_layer_cache",        1, {"data_layer={type: gcs, bucket: b, bucket_directory_path: d, local_cache_container_path: /a}"}, "local_cache_host_path is missing"},
    Case{"data_layer_relative",     1, {"data_layer={host_storage_path: a, container_storage_path: /b}"}, "<config>.data_layer.host_storage_path (line 3): host_storage_path must be an absolute path: \"a\""},
    Case{"data_layer_type",         1, {"data_layer={type: nfs}"},                 "is not an object where object[\"type\"] is one of 'shared_fs', 's3', or 'gcs': \"nfs\""},
    Case{"policy_unnamed",          2, {"log_policies=[{pattern: x}]"},            "\"name\" must be set, and \"pattern\" is also required unless you intend to disable an existing policy"},
    Case{"version",                 2, {"version=1"},                              "invalid version: 1"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Places, MustCatch, ::testing::Values(  // 15, 16, 17, 19, 21
    Case{"relative_mount",          2, {"bind_mounts=[{host_path: a, container_path: b}]"}, "<config>.bind_mounts[0].host_path (line 3): host_path must be an absolute path: \"a\""},
    Case{"mount_at_dot",            2, {"bind_mounts=[{host_path: /a, container_path: .}]"}, "container_path must not be \".\""},
    Case{"mount_without_target",    1, {"bind_mounts=[{host_path: /a}]"},          "container_path is a required property"},
    Case{"device",                  2, {"resources.devices=['/dev/x']"},           "is neither a list of --device strings nor a map containing host_path, container_path, and mode"},
    Case{"relative_storage",        1, {"checkpoint_storage={type: shared_fs, host_path: a}"}, "host_path must be an absolute path"},
    Case{"storage_container_path",  1, {"checkpoint_storage={type: shared_fs, host_path: /a, container_path: /b}"}, "cannot set value"},
    Case{"storage_escapes",         2, {"checkpoint_storage={type: shared_fs, host_path: /a, storage_path: b/../../c}"}, "storage_path must either be a relative directory or a subdirectory of host_path"},
    Case{"storage_sibling",         2, {"checkpoint_storage={type: shared_fs, host_path: /data, storage_path: /data-secret}"}, "storage_path must either be a relative directory or a subdirectory of host_path"},
    Case{"prefix_inside",           2, {"checkpoint_storage={type: s3, bucket: b, prefix: a/../b}"}, "prefix cannot contain /../"},
    Case{"prefix_leading",          2, {"checkpoint_storage={type: gcs, bucket: b, prefix: ../b}"}, "prefix cannot contain /../"},
    Case{"prefix_trailing",         2, {"checkpoint_storage={type: gcs, bucket: b, prefix: a/..}"}, "prefix cannot contain /../"},
    Case{"prefix_bare",             2, {"checkpoint_storage={type: gcs, bucket: b, prefix: ..}"}, "prefix cannot contain /../"},
    Case{"azure_neither",           2, {"checkpoint_storage={type: azure, container: c}"}, "Exactly one of connection_string or account_url must be set"},
    Case{"azure_both",              2, {"checkpoint_storage={type: azure, container: c, account_url: a, connection_string: s}"}, "Exactly one of connection_string or account_url must be set"},
    Case{"azure_credential",        2, {"checkpoint_storage={type: azure, container: c, credential: a, connection_string: s}"}, "credential and connection_string must not both be set"},
    Case{"bucket_missing",          2, {"checkpoint_storage={type: s3}"},          "bucket is a required property"},
    Case{"save_negative",           1, {"checkpoint_storage.save_trial_best=-1"},  "save_trial_best must be >= 0"},
    Case{"azure",                   2, {"checkpoint_storage={type: azure, container: c, account_url: u, credential: k}"}, "<config>.checkpoint_storage (line 5): type \"azure\" is not supported: use shared_fs, directory, s3 or gcs"},
    Case{"unknown_storage",         2, {"checkpoint_storage={type: nfs}"},        "is not an object where object[\"type\"] is one of 'shared_fs', 'directory', 's3', 'gcs', or 'azure'"},
    Case{"entrypoint_missing",      1, {"entrypoint="},                            "Must specify an entrypoint that references the trial class."},
    Case{"entrypoint_missing",      2, {"entrypoint="},                            "must specify an entrypoint that references the trial class"},
    Case{"entrypoint_empty",        2, {"entrypoint=''"},                          "must specify an entrypoint that references the trial class"},
    Case{"entrypoint_malformed",    1, {"entrypoint=model_def.MNistTrial"},        "entrypoint must be of the form \"module.submodule:ClassName\""},
    Case{"entrypoint_malformed",    2, {"entrypoint='model_def:'"},                "entrypoint must be of the form \"module.submodule:ClassName\""},
    Case{"entrypoint_cxx_no_class", 2, {"entrypoint='model_def.cpp:'"},            "entrypoint must be of the form \"module.submodule:ClassName\""},
    Case{"entrypoint_cxx_colons",   2, {"entrypoint='model_def.cpp:ns::'"},        "entrypoint must be of the form \"module.submodule:ClassName\""},
    Case{"entrypoint_one_colon",    2, {"entrypoint='a:b:C'"},                     "entrypoint must be of the form \"module.submodule:ClassName\""},
    Case{"image",                   1, {"environment.image=[a]"},                  "is neither a string nor a map of cpu, cuda, or rocm to strings"},
    Case{"variables",               1, {"environment.environment_variables=A"},    "is neither a list of strings nor a map of cpu, cuda, or rocm to lists of strings"},
    Case{"variable_without_name",   2, {"environment.environment_variables=[=x]"}, "has no name before \"=\""},
    Case{"pod_name",                2, {"environment.pod_spec={metadata: {name: x}}"}, "pod Name is not configurable"},
    Case{"pod_image",               2, {"environment.pod_spec={spec: {containers: [{name: determined-container, image: x}]}}"}, "container Image is not configurable, set it in the experiment config"},
    Case{"workspace_alone",         2, {"workspace=w"},                            "<config>.workspace (line 15): workspace and project must both be included in config if one is provided"},
    Case{"project_alone",           2, {"project=p"},                              "workspace and project must both be included in config if one is provided"}),
    name_of);
// clang-format on

}  // namespace
}  // namespace det::config
