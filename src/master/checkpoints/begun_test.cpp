// Checkpoints that a trial began to save and never reported, over HTTP and on the disk.

#include <gmock/gmock.h>

#include <fstream>

#include "det/checkpoint/storage.h"
#include "det/config/experiment_config.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class Begun : public testing::MasterTest {
 protected:
  testing::Answer begin(const api::DesiredAllocation& task, const std::string& uuid) {
    return call(task.token, "POST", fmt::format("/api/v1/trials/{}/checkpoints/begin", task.trial_id),
                json::object{{"uuid", uuid}});
  }
  void save(const std::string& uuid) {
    const auto directory = directory_ / "made";
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "weights") << uuid;
    const auto storage = checkpoint::open_storage(
        config::CheckpointStorage{.type = "shared_fs", .host_path = (directory_ / "checkpoints").string()});
    ASSERT_TRUE(storage) << storage.error().message();
    const auto saved = (*storage)->save(directory, uuid);
    ASSERT_TRUE(saved) << saved.error().message();
  }
  void save_half(const std::string& uuid) {
    const auto partial = directory_ / "checkpoints" / fmt::format(".{}.partial-1", uuid);
    std::filesystem::create_directories(partial);
    std::ofstream(partial / "weights") << "half";
  }
  testing::Answer report_saved(const api::DesiredAllocation& task, const std::string& uuid) {
    return call(task.token, "POST", "/api/v1/checkpoints",
                json::object{{"uuid", uuid}, {"metadata", {{"steps_completed", 10}}}});
  }
  /// What lies in the storage, hidden things too; not the cluster's own directory of TensorBoard files.
  std::set<std::string> stored() const {
    std::set<std::string> names;
    if (std::filesystem::exists(directory_ / "checkpoints"))
      for (const auto& entry : std::filesystem::directory_iterator(directory_ / "checkpoints"))
        if (!std::filesystem::exists(entry.path() / "tensorboard")) names.insert(entry.path().filename());
    return names;
  }
  void kill(std::int64_t id, const std::string& allocation) {
    call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
    exit("a", 1, allocation, 137);
  }
  testing::Answer delete_experiment(std::int64_t id) {
    return call(user_, "DELETE", fmt::format("/api/v1/experiments/{}", id));
  }
  std::string state(std::int64_t id) { return std::string(experiment(id).at("state").as_string()); }
};

TEST_F(Begun, WhatWasSavedWholeOrHalfAndNotReportedGoesWhenTheExperimentEnds) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  for (const auto* uuid : {"reported", "whole", "half", "nothing"}) ASSERT_EQ(begin(task, uuid).status, 200);
  save("reported");
  ASSERT_EQ(report_saved(task, "reported").status, 200);
  ASSERT_EQ(begin(task, "reported").status, 200) << "its first delivery was slow";
  save("whole");
  save_half("half");
  save("stranger");
  restart();
  kill(id, task.allocation_id);
  const std::set<std::string> left = {"reported", "stranger"};
  EXPECT_TRUE(comes_true([&] { return stored() == left; })) << ::testing::PrintToString(stored());
}

TEST_F(Begun, NothingGoesWhileATrialMayStillReportIt) {
  const auto id = submit();
  const auto first = sync("a", 1).desired.at(0);
  ASSERT_EQ(begin(first, "of-the-first-run").status, 200);
  save("of-the-first-run");
  exit("a", 1, first.allocation_id, 1);
  const auto second = sync("a", 1).desired.at(0);
  ASSERT_EQ(second.run_id, 2);
  ASSERT_EQ(begin(second, "of-the-second-run").status, 200);
  save("of-the-second-run");
  restart();
  EXPECT_EQ(delete_experiment(id).status, 400) << "it is running";
  EXPECT_EQ(stored().size(), 2u);
  EXPECT_EQ(report_saved(second, "of-the-second-run").status, 200);
  kill(id, second.allocation_id);
  EXPECT_TRUE(comes_true([&] { return stored() == std::set<std::string>{"of-the-second-run"}; }));
}

TEST_F(Begun, ARunThatIsOverAndAnotherTrialsCannotBegin) {
  const auto id = submit();
  const auto other_id = submit();
  auto tasks = sync("a", 2).desired;
  ASSERT_EQ(tasks.size(), 2u);
  if (tasks[0].experiment_id.value() != id) std::swap(tasks[0], tasks[1]);
  ASSERT_EQ(begin(tasks[0], "begun").status, 200);
  ASSERT_EQ(report_saved(tasks[0], "reported").status, 200);
  for (const auto* uuid : {"begun", "reported"}) {
    const auto taken = begin(tasks[1], uuid);
    EXPECT_EQ(taken.status, 409) << taken.text;
    EXPECT_THAT(taken.text,
                HasSubstr(fmt::format(
                    "checkpoint {} already exists; report a new checkpoint under a new uuid", uuid)));
  }
  for (const auto* uuid : {"", "../up", ".hidden", "a/b"}) {
    const auto odd = begin(tasks[0], uuid);
    EXPECT_EQ(odd.status, 400) << odd.text;
    EXPECT_THAT(odd.text, HasSubstr(fmt::format("uuid is '{}'", uuid)));
  }
  const auto path = fmt::format("/api/v1/trials/{}/checkpoints/begin", tasks[1].trial_id);
  EXPECT_EQ(call(tasks[0].token, "POST", path, json::object{{"uuid", "x"}}).status, 403);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", other_id));
  sync("a", 2,
       {{.allocation_id = tasks[0].allocation_id, .state = api::AllocationState::running},
        {.allocation_id = tasks[1].allocation_id,
         .state = api::AllocationState::exited,
         .exits = {{.rank = 0, .code = 137}}}});
  EXPECT_EQ(begin(tasks[1], "late").status, 410);
}

TEST_F(Begun, AStorageThatFailsKeepsTheAnnouncementAndTheExperimentCannotBeDeletedBefore) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  ASSERT_EQ(begin(task, "whole").status, 200);
  save("whole");
  const auto root = directory_ / "checkpoints";
  std::filesystem::rename(root, directory_ / "away");
  std::ofstream(root) << "not a directory";
  kill(id, task.allocation_id);
  ASSERT_TRUE(comes_true([&] { return state(id) == "STATE_CANCELED"; }));
  ASSERT_EQ(delete_experiment(id).status, 200);
  ASSERT_TRUE(comes_true([&] { return state(id) == "STATE_DELETE_FAILED"; })) << state(id);
  std::filesystem::remove(root);
  std::filesystem::rename(directory_ / "away", root);
  EXPECT_EQ(stored(), std::set<std::string>{"whole"});
  ASSERT_EQ(delete_experiment(id).status, 200);
  EXPECT_TRUE(comes_true([&] { return stored().empty(); }));
  EXPECT_TRUE(comes_true(
      [&] { return call(user_, "GET", fmt::format("/api/v1/experiments/{}", id)).status == 404; }));
}

}  // namespace
}  // namespace det::master
