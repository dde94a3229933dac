// Documents that nobody would write, thousands of them, each from a seed. What
// must hold: nothing crashes, a refusal always says why, what was accepted is
// accepted again with the same result, and emitted YAML reads back.
// A failing seed replays exactly:  DET_SEED=1234 ctest -R ConfigRobustness
#include <cstdlib>

#include "det/base/random.h"
#include "det/base/text.h"
#include "det/config/testing.h"

namespace det::config {
namespace {

const std::vector<std::string>& fragments() {
  static const std::vector<std::string> list = {"\n",
                                                "- ",
                                                "? ",
                                                ": ",
                                                "[",
                                                "]",
                                                "{",
                                                "}",
                                                ",",
                                                "&a ",
                                                "*a",
                                                "!!str ",
                                                "! ",
                                                "!<x> ",
                                                "%YAML 1.2\n",
                                                "---\n",
                                                "...\n",
                                                "|\n",
                                                "> ",
                                                "|2\n",
                                                "\"",
                                                "'",
                                                "#",
                                                "\t",
                                                "  ",
                                                "\\x41",
                                                "<<: *a",
                                                "~",
                                                "null",
                                                "010",
                                                "1e400",
                                                ".nan",
                                                "-1",
                                                "1.5",
                                                "0",
                                                "true",
                                                "metric",
                                                "name: random",
                                                "type: int",
                                                "minval: 3",
                                                "max_length: {epochs: 1}",
                                                "9223372036854775807",
                                                "searcher: ",
                                                "hyperparameters: ",
                                                "\r\n",
                                                "\xEF\xBB\xBF",
                                                "\xC3\xA9",
                                                "\xff",
                                                "resources: []",
                                                "vals: []"};
  return list;
}

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> list = {
      testing::kGen1, testing::kGen2,
      "name: a\nentrypoint: [python3, train.py]\nsearcher:\n  name: grid\n  metric: m\n  max_length:\n    "
      "epochs: 2\nrecords_per_epoch: 100\n"
      "hyperparameters:\n  global_batch_size: &g {type: categorical, vals: [8, 16]}\n  n: {lr: {type: log, "
      "base: 10, minval: -4, maxval: 1, count: 3}}\n  again: *g\n",
      "searcher: {name: adaptive, metric: m, target_trial_steps: 8, step_budget: 80, bracket_rungs: [1, "
      "2]}\nentrypoint: m:C\n"
      "hyperparameters: {global_batch_size: 8}\nmin_validation_period: 3\nlabels: {a: yes, b: "
      "no}\nbind_mounts: [{host_path: /a, container_path: b}]\n",
      "environment: {image: {gpu: a}, environment_variables: {gpu: [A=1]}, pod_spec: {spec: {containers: "
      "[{name: x}]}}}\nlog_policies: [{name: a, pattern: b}]\n"
      "checkpoint_storage: {type: azure, container: c, account_url: u}\nresources: {shm_size: 4.5 G, "
      "devices: ['/dev/a:/dev/b']}\nprofiling: {enabled: on}\n"};
  return list;
}

std::string mutated(Random& random) {
  const auto pick = [&](const std::vector<std::string>& from) -> const std::string& {
    return from[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(from.size())))];
  };
  std::string text = random.below(4) == 0 ? "" : pick(seeds());
  if (random.below(3) == 0) text += pick(seeds());
  const auto changes = random.below(6) + (text.empty() ? 10 : 0);
  for (std::int64_t i = 0; i < changes; ++i) {
    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size()) + 1));
    switch (random.below(5)) {
      case 0: text.insert(at, pick(fragments())); break;
      case 1: text.erase(at, static_cast<std::size_t>(random.below(12))); break;
      case 2: text.insert(at, pick(seeds()).substr(0, static_cast<std::size_t>(random.below(120)))); break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      default: text.insert(at, "\n" + pick(fragments())); break;
    }
  }
  return text;
}

void check(std::uint32_t seed) {
  SCOPED_TRACE("DET_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto yaml = mutated(random);
  SCOPED_TRACE(yaml);

  if (const auto document = parse_yaml(yaml)) {
    const auto emitted = emit_yaml(document->value);
    EXPECT_TRUE(is_utf8(emitted));
    const auto again = parse_yaml(emitted);
    ASSERT_TRUE(again) << emitted;
    EXPECT_EQ(again->value, document->value) << emitted;
  } else {
    EXPECT_FALSE(document.error().empty());
  }

  std::optional<std::string> from_template;
  if (random.below(3) == 0) from_template = mutated(random);
  const auto resolved = testing::resolve_text(yaml, from_template);
  if (!resolved) {
    ASSERT_FALSE(resolved.error().empty());
    for (const auto& error : resolved.error()) {
      EXPECT_TRUE(is_utf8(error.message()));
      EXPECT_FALSE(error.message().empty());
      EXPECT_LT(error.message().size(), 2000u);
    }
    return;
  }
  const auto again = testing::resolve_text(json::serialize(resolved->config.document));
  ASSERT_TRUE(again) << testing::problems_of(again);
  EXPECT_EQ(again->config.document, resolved->config.document);
  EXPECT_TRUE(from_document(resolved->config.document));
}

TEST(ConfigRobustness, NoDocumentCrashesOrIsRefusedWithoutAReason) {
  if (const char* seed = std::getenv("DET_SEED"))
    return check(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
  for (std::uint32_t seed = 0; seed < 1000 && !::testing::Test::HasFailure(); ++seed) check(seed);
}

TEST(ConfigRobustness, EveryPrefixOfADocumentIsAnswered) {
  for (const auto& document : seeds())
    for (std::size_t length = 0; length <= document.size(); ++length) {
      const auto resolved = testing::resolve_text(document.substr(0, length));
      EXPECT_TRUE(resolved || !resolved.error().empty()) << document.substr(0, length);
    }
}

TEST(ConfigRobustness, ADocumentThatIsWrongAllOverIsAnsweredWithALimitedNumberOfErrors) {
  std::string yaml;
  for (int i = 0; i < 20'000; ++i) yaml += fmt::format("k{}: 1\n", i);
  const auto resolved = testing::resolve_text(yaml);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().size(), 1001u);
  EXPECT_EQ(resolved.error().back().message(), "and 19002 more problems");
}

}  // namespace
}  // namespace det::config
