#include "det/checkpoint/tensorboard_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "event";
}

config::CheckpointStorage shared_fs(const fs::path& host) {
  return {.type = "shared_fs", .host_path = host.string(), .storage_path = "a"};
}

TEST(TensorboardFiles, ThoseOfOneExperimentGoAndAllOthersStay) {
  const TemporaryDirectory directory;
  const auto storage = shared_fs(directory.path());
  const auto kept = directory.path() / "a" / "c" / "tensorboard" / "experiment";
  write(kept / "1" / "trial" / "1" / "events.out.tfevents.1");
  write(kept / "12" / "trial" / "3" / "events.out.tfevents.1");
  EXPECT_EQ(*tensorboard_directory(storage, "c", 1), kept / "1");
  EXPECT_TRUE(remove_tensorboard_files(storage, "c", 1));
  EXPECT_FALSE(fs::exists(kept / "1"));
  EXPECT_TRUE(fs::exists(kept / "12" / "trial" / "3" / "events.out.tfevents.1"));
  EXPECT_TRUE(remove_tensorboard_files(storage, "c", 1)) << "already gone";
  EXPECT_TRUE(remove_tensorboard_files(shared_fs("/no/such/place"), "c", 1));
}

TEST(TensorboardFiles, ALinkLeadsNobodyOutOfTheStorage) {
  const TemporaryDirectory directory, elsewhere;
  const auto storage = shared_fs(directory.path());
  write(elsewhere.path() / "1" / "precious");
  fs::create_directories(directory.path() / "a" / "c" / "tensorboard");
  fs::create_directory_symlink(elsewhere.path(), directory.path() / "a" / "c" / "tensorboard" / "experiment");
  const auto refused = remove_tensorboard_files(storage, "c", 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("behind a link"), std::string::npos) << refused.error().message();
  fs::remove(directory.path() / "a" / "c" / "tensorboard" / "experiment");
  fs::create_directories(directory.path() / "a" / "c" / "tensorboard" / "experiment");
  fs::create_directory_symlink(elsewhere.path() / "1", *tensorboard_directory(storage, "c", 1));
  EXPECT_TRUE(remove_tensorboard_files(storage, "c", 1)) << "the link itself goes";
  EXPECT_TRUE(fs::exists(elsewhere.path() / "1" / "precious"));
}

TEST(TensorboardFiles, OtherStoragesHaveNone) {
  const auto refused = remove_tensorboard_files({.type = "azure"}, "c", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::Unimplemented);
}

}  // namespace
}  // namespace det::checkpoint
