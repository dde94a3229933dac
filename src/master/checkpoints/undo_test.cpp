// Deleted checkpoints that can be brought back, over HTTP and on the disk.

#include <gmock/gmock.h>

#include <fstream>

#include "det/checkpoint/storage.h"
#include "det/config/experiment_config.h"
#include "det/master/checkpoints/undo_settings.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class Undo : public testing::MasterTest {
 protected:
  /// An experiment that is over, with two checkpoints of which its policy keeps both.
  void SetUp() override {
    undo_seconds_ = 3600;
    restart();
    id_ = submit("checkpoint_storage: {save_trial_latest: 2}\n");
    const auto task = sync("a", 1).desired.at(0);
    save(task, "first", 10);
    save(task, "second", 20);
    call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id_));
    exit("a", 1, task.allocation_id, 137);
    for (int i = 0; i < 500 && experiment(id_).at("state") != "STATE_CANCELED"; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void save(const api::DesiredAllocation& task, const std::string& uuid, int batches) {
    const auto directory = directory_ / "made";
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "weights") << uuid;
    const auto storage = checkpoint::open_storage(
        config::CheckpointStorage{.type = "shared_fs", .host_path = (directory_ / "checkpoints").string()});
    ASSERT_TRUE(storage) << storage.error().message();
    const auto saved = (*storage)->save(directory, uuid);
    ASSERT_TRUE(saved) << saved.error().message();
    const auto reported = call(task.token, "POST", "/api/v1/checkpoints",
                               json::object{{"uuid", uuid},
                                            {"resources", {{"weights", uuid.size()}}},
                                            {"metadata", {{"steps_completed", batches}}}});
    ASSERT_EQ(reported.status, 200) << reported.text;
  }
  testing::Answer remove(const std::string& uuid) {
    return call(user_, "DELETE", "/api/v1/checkpoints", {{"checkpointUuids", json::array{uuid}}});
  }
  testing::Answer undelete(const std::string& uuid) {
    return call(user_, "POST", "/api/v1/checkpoints/undelete", {{"checkpointUuids", json::array{uuid}}});
  }
  json::value checkpoint(const std::string& uuid) {
    return call(user_, "GET", "/api/v1/checkpoints/" + uuid).body.at("checkpoint");
  }
  bool has_files(const std::string& uuid) {
    return std::filesystem::exists(directory_ / "checkpoints" / uuid / "weights");
  }
  std::int64_t id_ = 0;
};

TEST_F(Undo, ADeletedCheckpointIsWhatItWasWhenItIsBroughtBack) {
  const auto before = json::serialize(checkpoint("first"));
  const auto deleted = remove("first");
  ASSERT_EQ(deleted.status, 200) << deleted.text;
  EXPECT_TRUE(deleted.body.at("undoUntil").is_string()) << deleted.text;
  EXPECT_EQ(checkpoint("first").at("state"), "STATE_DELETED");
  EXPECT_TRUE(has_files("first"));
  restart();
  EXPECT_EQ(undelete("first").status, 200);
  EXPECT_EQ(json::serialize(checkpoint("first")), before);
  EXPECT_THAT(undelete("first").text, HasSubstr("checkpoint first is not deleted"));
}

TEST_F(Undo, WhatNobodyBroughtBackInTimeIsGone) {
  undo_seconds_ = 1;
  restart();
  remove("first");
  EXPECT_TRUE(has_files("first"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  restart();  // looks at once
  for (int i = 0; i < 500 && has_files("first"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(has_files("first"));
  EXPECT_TRUE(has_files("second"));
  for (int i = 0; i < 500 && undelete("first").text.find("cannot be restored") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(undelete("first").text,
              HasSubstr("checkpoint first cannot be restored: its files are deleted"));
}

TEST_F(Undo, TheEndOfAnExperimentIsTheEndOfItsDeletedCheckpoints) {
  remove("first");
  ASSERT_EQ(call(user_, "DELETE", fmt::format("/api/v1/experiments/{}", id_)).status, 200);
  for (int i = 0; i < 500 && (has_files("first") || has_files("second")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(has_files("first"));
  EXPECT_FALSE(has_files("second"));
  for (int i = 0; i < 500 && undelete("first").status != 404; ++i)  // the rows go after the files
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(undelete("first").status, 404);
}

TEST_F(Undo, WithoutItFilesGoAtOnce) {
  undo_seconds_ = 0;
  restart();
  const auto deleted = remove("first");
  EXPECT_EQ(deleted.text.find("undoUntil\":\""), std::string::npos) << deleted.text;
  EXPECT_FALSE(has_files("first"));
  EXPECT_THAT(undelete("first").text, HasSubstr("cannot be restored"));
  EXPECT_EQ(undelete("nothing").status, 404);
}

TEST_F(Undo, FilesThatSomebodyTookAwayAreSaidToBeMissing) {
  remove("first");
  std::filesystem::remove_all(directory_ / "checkpoints" / "first");
  EXPECT_THAT(undelete("first").text,
              HasSubstr("checkpoint first cannot be restored: its files are no longer in"));
  EXPECT_EQ(checkpoint("first").at("state"), "STATE_DELETED");
}

TEST(CheckpointUndo, IsADuration) {
  const auto of = [](json::object configuration) { return take_checkpoint_undo(configuration); };
  EXPECT_EQ(of({}), 0);
  EXPECT_EQ(of({{"checkpoint_undo", "36h"}}), 36 * 3600);
  EXPECT_EQ(of({{"checkpoint_undo", 5}}).error().message(),
            "checkpoint_undo is 5; it must be a duration of at most 8760h, such as 24h");
  EXPECT_FALSE(of({{"checkpoint_undo", "9000h"}}));
}

}  // namespace
}  // namespace det::master
