// A small validator of the part of JSON Schema that experiment_schema() uses
// decides over the same documents as resolve(): they must agree.
#include <cmath>
#include <functional>
#include <regex>
#include <set>

#include "det/config/testing.h"

namespace det::config {
namespace {

using testing::changed;
using testing::kGen1;
using testing::kGen2;

const std::set<std::string> kUnderstood = {"$defs",
                                           "$ref",
                                           "$schema",
                                           "additionalProperties",
                                           "anyOf",
                                           "const",
                                           "default",
                                           "description",
                                           "enum",
                                           "errorMessage",
                                           "eventuallyRequired",
                                           "exclusiveMinimum",
                                           "items",
                                           "maximum",
                                           "minItems",
                                           "minLength",
                                           "minimum",
                                           "not",
                                           "oneOf",
                                           "pattern",
                                           "properties",
                                           "required",
                                           "title",
                                           "type",
                                           "writeOnly"};

bool has_type(const json::value& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_bool();
  if (type == "integer")
    return value.is_int64() || (value.is_double() && std::floor(value.get_double()) == value.get_double());
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  ADD_FAILURE() << "unknown type " << type;
  return false;
}

bool valid(const json::object& schema, const json::value& value, const json::object& root);

std::size_t matching(const json::value& options, const json::value& value, const json::object& root) {
  std::size_t count = 0;
  for (const auto& option : options.get_array()) count += valid(option.get_object(), value, root) ? 1 : 0;
  return count;
}

bool valid_object(const json::object& schema, const json::object& object, const json::object& root) {
  static const json::object kNone;
  const auto* properties =
      schema.if_contains("properties") != nullptr ? &schema.at("properties").get_object() : &kNone;
  for (const auto& [key, value] : object) {
    if (const auto* property = properties->if_contains(key)) {
      if (!valid(property->get_object(), value, root)) return false;
    } else if (const auto* others = schema.if_contains("additionalProperties")) {
      if (others->is_bool() ? !others->get_bool() : !valid(others->get_object(), value, root)) return false;
    }
  }
  if (const auto* required = schema.if_contains("required"))
    for (const auto& name : required->get_array())
      if (!object.contains(name.get_string())) return false;
  return true;
}

bool valid(const json::object& schema, const json::value& value, const json::object& root) {
  for (const auto& [keyword, argument] : schema)
    EXPECT_TRUE(kUnderstood.contains(std::string(keyword))) << keyword;
  const auto number = [&](const char* keyword) { return json::to_double(schema.at(keyword)).value(); };
  if (schema.contains("$ref")) return valid(root.at("$defs").at("hyperparameter").get_object(), value, root);
  if (schema.contains("type") && !has_type(value, schema.at("type").get_string())) return false;
  if (schema.contains("const") && schema.at("const") != value) return false;
  if (schema.contains("not") && valid(schema.at("not").get_object(), value, root)) return false;
  if (schema.contains("anyOf") && matching(schema.at("anyOf"), value, root) == 0) return false;
  if (schema.contains("oneOf") && matching(schema.at("oneOf"), value, root) != 1) return false;
  if (const auto* choices = schema.if_contains("enum"))
    if (std::find(choices->get_array().begin(), choices->get_array().end(), value) ==
        choices->get_array().end())
      return false;
  if (value.is_number()) {
    const double given = json::to_double(value).value();
    if (schema.contains("minimum") && given < number("minimum")) return false;
    if (schema.contains("maximum") && given > number("maximum")) return false;
    if (schema.contains("exclusiveMinimum") && given <= number("exclusiveMinimum")) return false;
  }
  if (value.is_string()) {
    const std::string text(value.get_string());
    if (schema.contains("minLength") && static_cast<double>(text.size()) < number("minLength")) return false;
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(std::string(schema.at("pattern").get_string()))))
      return false;
  }
  if (value.is_array()) {
    if (schema.contains("minItems") && static_cast<double>(value.get_array().size()) < number("minItems"))
      return false;
    if (const auto* items = schema.if_contains("items"))
      for (const auto& item : value.get_array())
        if (!valid(items->get_object(), item, root)) return false;
  }
  return !value.is_object() || valid_object(schema, value.get_object(), root);
}

bool valid(const std::string& yaml) {
  return valid(experiment_schema(), testing::yaml_value(yaml), experiment_schema());
}

TEST(ExperimentSchema, IsTheDraftThatItSays) {
  EXPECT_EQ(experiment_schema().at("$schema"), json::value("https://json-schema.org/draft/2020-12/schema"));
  EXPECT_EQ(experiment_schema().at("additionalProperties"), json::value(false));
}

TEST(ExperimentSchema, AcceptsWhatResolveAccepts) {
  const std::vector<std::string> documents = {
      kGen1,
      kGen2,
      "{}",
      changed(kGen2, {"searcher={name: adaptive_asha, metric: m, max_length: {epochs: 9}, max_trials: 3, "
                      "stop_once: true}",
                      "records_per_epoch=1000"}),
      changed(kGen1, {"searcher={name: adaptive, metric: m, target_trial_steps: 9, step_budget: 90, "
                      "bracket_rungs: [2, 3]}",
                      "min_validation_period=3"}),
      changed(kGen2, {"hyperparameters.n={a: {type: int, minval: 1, maxval: 4}, b: [1], c: {d: {type: log, "
                      "base: 10, minval: -1, maxval: 1}}}"}),
      changed(kGen2,
              {"hyperparameters.n={type: {type: int, minval: 1, maxval: 2}}", "hyperparameters.z=null"}),
      changed(kGen2, {"checkpoint_storage={save_trial_best: 3}", "searcher.max_length=100",
                      "entrypoint=[python3, a.py]"}),
      changed(kGen2, {"checkpoint_storage={type: s3, bucket: b, prefix: a/b..c}", "resources.shm_size=4.5 G",
                      "resources.devices=['/dev/a:/dev/b:r']"}),
      changed(kGen2, {"environment={image: {gpu: a}, environment_variables: [A=1], ports: {x: 80}, pod_spec: "
                      "{any: thing}}",
                      "labels={a: true}"}),
      changed(kGen2, {"bind_mounts=[{host_path: /a, container_path: b}]",
                      "log_policies=[{pattern: x, action: {type: exclude_node}}]", "max_restarts="})};
  for (const auto& document : documents) EXPECT_TRUE(valid(document)) << document;
  for (const auto& document : {kGen1, kGen2})
    EXPECT_TRUE(valid(emit_yaml(testing::resolved(document).config.document)));
}

TEST(ExperimentSchema, RefusesWhatResolveRefusesForASingleValue) {
  const std::vector<std::string> changes = {
      "serchr=1",
      "resources.slots=1",
      "searcher.name=sinlge",
      "searcher.metric=''",
      "searcher.max_length={batches: 0}",
      "searcher.max_length={}",
      "searcher.max_length={batches: 1, epochs: 1}",
      "searcher.max_rungs=3",
      "max_restarts=-1",
      "max_restarts=1.5",
      "max_restarts='5'",
      "resources.priority=100",
      "resources.shm_size=1 gi",
      "resources.weight=0",
      "checkpoint_policy=some",
      "optimizations.mixed_precision=0",
      "checkpoint_storage={type: s3, host_path: /x}",
      "checkpoint_storage={type: shared_fs, host_path: x}",
      "checkpoint_storage={type: azure, container: c, account_url: u}",
      "checkpoint_storage={type: hdfs}",
      "checkpoint_storage={type: gcs, bucket: b, prefix: a/../b}",
      "checkpoint_storage={type: gcs, bucket: b, prefix: ..}",
      "hyperparameters.a={type: foo}",
      "hyperparameters.a={type: int, minval: 1}",
      "hyperparameters.n={m: {type: log, base: -1, minval: 1, maxval: 2}}",
      "hyperparameters.a={type: categorical, vals: []}",
      "bind_mounts=[{host_path: a, container_path: b}]",
      "bind_mounts=[{host_path: /a, container_path: .}]",
      "resources.devices=['/dev/x']",
      "environment.image=[a]",
      "log_policies=[{name: a, pattern: b, action: stop}]",
      "reproducibility.experiment_seed=4294967296",
      "labels=a"};
  for (const auto& change : changes) {
    const auto document = changed(kGen2, {change});
    EXPECT_FALSE(testing::resolve_text(document)) << change;
    EXPECT_FALSE(valid(document)) << change;
  }
}

}  // namespace
}  // namespace det::config
