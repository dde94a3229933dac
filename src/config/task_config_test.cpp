#include "det/config/task_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/config/schema/layer.h"
#include "det/config/values/duration.h"

namespace det::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

tl::expected<TaskConfig, std::vector<Error>> resolved_task(std::string_view kind, std::string yaml,
                                                           std::optional<std::string> base = {},
                                                           json::object master = {}) {
  return resolve_task(kind,
                      {.master = std::move(master), .template_yaml = std::move(base), .user_yaml = yaml},
                      {.now = {}, .pet_name = "calm-heron", .resource_pools = {{"default", "gpus"}}});
}

TEST(TaskConfig, DefaultsAreThoseOfTheOriginal) {
  const auto command = resolved_task("command", "entrypoint: [echo, hi]");
  ASSERT_TRUE(command);
  EXPECT_EQ(command->description, "Command (calm-heron)");
  EXPECT_EQ(command->slots, 1);
  EXPECT_FALSE(command->idle_timeout_seconds);
  EXPECT_FALSE(command->priority);
  const auto board = resolved_task("tensorboard", "");
  ASSERT_TRUE(board);
  EXPECT_EQ(board->description, "TensorBoard (calm-heron)");
  EXPECT_EQ(board->slots, 0);
  EXPECT_EQ(board->idle_timeout_seconds, 300);
}

TEST(TaskConfig, OneTextIsForTheShellAndSeveralAreAProgram) {
  EXPECT_THAT(resolved_task("command", "entrypoint: [python, -c, \"print(1)\"]")->entrypoint,
              ElementsAre("python", "-c", "print(1)"));
  EXPECT_THAT(resolved_task("command", "entrypoint: [\"ls | wc\"]")->entrypoint,
              ElementsAre("/bin/sh", "-c", "ls | wc"));
  EXPECT_THAT(resolved_task("command", "entrypoint: ls | wc")->entrypoint,
              ElementsAre("/bin/sh", "-c", "ls | wc"));
}

TEST(TaskConfig, LayersLieOverOneAnother) {
  const auto config =
      resolved_task("notebook", "{resources: {slots: 0}, idle_timeout: 1m30s}",
                    "{resources: {slots: 4, priority: 7}, environment: {environment_variables: [A=1]}}",
                    {{"environment", {{"environment_variables", json::array{"B=2"}}}},
                     {"checkpoint_storage", {{"type", "shared_fs"}}}});
  ASSERT_TRUE(config) << config.error().front().message();
  EXPECT_EQ(config->slots, 0);
  EXPECT_EQ(config->priority, 7);
  EXPECT_EQ(config->idle_timeout_seconds, 90);
  const auto text = json::serialize(config->document);
  EXPECT_THAT(text, HasSubstr("A=1"));
  EXPECT_THAT(text, HasSubstr("B=2"));
}

TEST(TaskConfig, ADirectoryCanBeNamedAndMountsOfOtherNamesAreWarnedAbout) {
  const auto config = resolved_task("command",
                                    "{entrypoint: ls, work_dir: /data, bind_mounts: [{host_path: /tmp, "
                                    "container_path: /mnt}, {host_path: /a, container_path: /a}]}");
  ASSERT_TRUE(config) << config.error().front().message();
  EXPECT_EQ(config->work_dir, "/data");
  EXPECT_THAT(config->warnings,
              ElementsAre("bind_mounts: /tmp is not mounted at /mnt, because tasks run without containers; "
                          "read it at /tmp"));
}

TEST(TaskConfig, AGenericTaskCanBePausedUnlessItSaysOtherwise) {
  const auto usual = resolved_task("generic", "entrypoint: ls");
  ASSERT_TRUE(usual) << usual.error().front().message();
  EXPECT_EQ(usual->description, "Task (calm-heron)");
  EXPECT_TRUE(usual->pausable);
  const auto fixed = resolved_task("generic", "{entrypoint: ls, pausable: false, preemption_timeout: 60}");
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->pausable);
  EXPECT_EQ(fixed->preemption_timeout_seconds, 60);
}

TEST(TaskConfig, OfATemplateForSeveralKindsOnlyItsOwnIsUsed) {
  const std::string base =
      "max_restarts: 2\nresources: {slots: 3, slots_per_trial: 1, priority: 7}\nidle_timeout: 1m\n";
  EXPECT_TRUE(check_template(base, {}).empty());
  const auto command = resolved_task("command", "entrypoint: ls", base);
  ASSERT_TRUE(command) << command.error().front().message();
  EXPECT_EQ(command->slots, 3);
  EXPECT_EQ(command->priority, 7);
  EXPECT_FALSE(command->document.contains("max_restarts"));
  EXPECT_THAT(command->warnings,
              ElementsAre(HasSubstr("max_restarts (line 1) is left out"), HasSubstr("slots_per_trial")));
  const auto misspelt = base + "resource: {}\n";
  EXPECT_THAT(join_errors(check_template(misspelt, {})).message(), HasSubstr("(line 4)"));
  EXPECT_FALSE(resolved_task("command", "entrypoint: ls", misspelt));
}

TEST(TaskConfig, WhatIsWrongIsNamedWithItsLine) {
  struct Case {
    std::string_view kind;
    std::string yaml;
    std::string problem;
  };
  const Case cases[] = {
      {"command", "", "entrypoint must be non-empty"},
      {"command", "entrypoint: []", "entrypoint must be non-empty"},
      {"command", "entrypoint: x\nresources: {slots: -1}", "(line 2): resources.slots must be >= 0"},
      {"command", "entrypoint: x\nbind_mounts: [{host_path: a, container_path: b}]",
       "(line 2): host_path must be an absolute path"},
      {"command", "entrypoint: x\nwork_dir: data", "(line 2): work_dir must be an absolute path"},
      {"command", "entrypoint: x\npausable: false", "pausable"},
      {"generic", "pausable: false", "entrypoint must be non-empty"},
      {"generic", "entrypoint: x\npreemption_timeout: -1", "preemption_timeout"},
      {"command", "entrypoint: x\nresources: {resource_pool: tpus}", "cannot find resource pool"},
      {"command", "entrypoint: x\nresources: {priority: 100}", "scheduling priority"},
      {"command", "entrypoint: x\nidle_timeout: soon", "must be a duration"},
      {"command", "entrypoint: x\nnotebook_idle_type: activity", "notebook_idle_type"},
      {"notebook", "notebook_idle_type: sleep", "invalid notebook idle type"},
      {"notebook", "entrypoint: x", "entrypoint"},
      {"tensorboard", "resources: {slots: 1}", "a TensorBoard uses no slots"},
      {"shell", "searcher: {name: single}", "searcher"},
      {"shell", "[1]", "the document must be a map"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.yaml);
    const auto config = resolved_task(c.kind, c.yaml);
    ASSERT_FALSE(config);
    EXPECT_THAT(join_errors(config.error()).message(), HasSubstr(c.problem));
  }
}

TEST(TaskConfig, DurationsAreHoursMinutesAndSecondsInThatOrder) {
  const std::pair<const char*, std::optional<std::int64_t>> cases[] = {{"30s", 30},
                                                                       {"1h", 3600},
                                                                       {"1m30s", 90},
                                                                       {"1h1m1s", 3661},
                                                                       {"0s", 0},
                                                                       {"", {}},
                                                                       {"30", {}},
                                                                       {"s", {}},
                                                                       {"1s1m", {}},
                                                                       {"-1s", {}},
                                                                       {"1d", {}},
                                                                       {"1.5h", {}},
                                                                       {"9999999999999999999s", {}}};
  for (const auto& [text, seconds] : cases) EXPECT_EQ(duration_seconds(text), seconds) << text;
}

}  // namespace
}  // namespace det::config
