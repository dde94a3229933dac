#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"

/// What the tests of this module share: the two minimal documents of
/// experiment-config.md §18 and a world to resolve them in.
namespace det::config::testing {

inline const std::string kGen1 = R"(description: mnist_const
hyperparameters: {learning_rate: 0.001, dropout: 0.5, global_batch_size: 64, n_filters1: 40, n_filters2: 40}
searcher: {name: single, metric: validation_error, max_steps: 20, smaller_is_better: true}
entrypoint: model_def:MNistTrial
)";

inline const std::string kGen2 = R"(name: mnist_const
hyperparameters: {learning_rate: 0.001, dropout: 0.5, global_batch_size: 64, n_filters1: 40, n_filters2: 40}
searcher: {name: single, metric: validation_error, max_length: {batches: 2000}, smaller_is_better: true}
entrypoint: model_def:MNistTrial
)";

inline Circumstances world() {
  Circumstances circumstances;
  circumstances.now = Time{1'600'000'000 * kSecond};
  circumstances.pet_name = "calm-grey-heron";
  return circumstances;
}

inline json::object master_defaults() {
  return {{"checkpoint_storage", json::object{{"type", "shared_fs"}, {"host_path", "/var/det/checkpoints"}}}};
}

inline tl::expected<Resolved, std::vector<Error>> resolve_text(
    const std::string& yaml, std::optional<std::string> from_template = {}) {
  return resolve({master_defaults(), std::move(from_template), yaml}, world());
}

/// All problems, one a line; empty if there are none.
inline std::string problems_of(const tl::expected<Resolved, std::vector<Error>>& resolved) {
  std::string text;
  if (!resolved)
    for (const auto& error : resolved.error()) text += error.message() + "\n";
  return text;
}

inline Resolved resolved(const std::string& yaml, std::optional<std::string> from_template = {}) {
  auto result = resolve_text(yaml, std::move(from_template));
  EXPECT_TRUE(result) << yaml << "\n" << problems_of(result);
  return result ? *std::move(result) : Resolved{};
}

inline json::value yaml_value(const std::string& yaml) {
  auto document = parse_yaml(yaml);
  EXPECT_TRUE(document) << yaml << "\n" << (document ? "" : document.error().front().text);
  return document ? document->value : json::value();
}

/// A minimal document with `changes` merged into it by the rules of options:
/// "searcher.max_steps=0", and "searcher.max_steps=" for null.
inline std::string changed(const std::string& yaml, const std::vector<std::string>& changes) {
  auto document = yaml_value(yaml).get_object();
  for (const auto& change : changes) {
    const auto applied = apply_option(document, change);
    EXPECT_TRUE(applied) << change;
  }
  return emit_yaml(document);
}

}  // namespace det::config::testing
