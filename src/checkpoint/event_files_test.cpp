#include "det/checkpoint/event_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

config::CheckpointStorage storage_in(const fs::path& host) {
  return {.type = "shared_fs", .host_path = host.string(), .storage_path = ""};
}

TEST(EventFiles, ThoseOfOneTrialAreFoundInAllItsDirectories) {
  const TemporaryDirectory directory, elsewhere;
  const auto trial = directory.path() / "c" / "tensorboard" / "experiment" / "1" / "trial" / "7";
  const auto opened = open_event_files(storage_in(directory.path()), "c", 1, 7);
  ASSERT_TRUE(opened);
  EXPECT_TRUE((*opened)->current()->empty()) << "nothing is written yet";
  fs::create_directories(trial / "train");
  for (const auto* name : {"events.out.tfevents.2", "train/events.out.tfevents.1", "tables.json"})
    std::ofstream(trial / name) << "event";
  std::ofstream(elsewhere.path() / "events.out.tfevents.3") << "of somebody else";
  fs::create_symlink(elsewhere.path() / "events.out.tfevents.3", trial / "events.out.tfevents.3");
  fs::create_directory_symlink(elsewhere.path(), trial / "link");
  EXPECT_EQ(*(*opened)->current(),
            (std::vector<fs::path>{trial / "events.out.tfevents.2", trial / "train/events.out.tfevents.1"}));
}

TEST(EventFiles, OtherStoragesHaveNone) {
  EXPECT_EQ(open_event_files({.type = "azure"}, "c", 1, 1).error().code(), ErrorCode::Unimplemented);
}

}  // namespace
}  // namespace det::checkpoint
