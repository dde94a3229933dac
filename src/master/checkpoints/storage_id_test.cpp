#include "det/master/checkpoints/storage_id.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

std::optional<std::int32_t> id_of(const char* storage) {
  return storage_id(json::parse(std::string(R"({"checkpoint_storage": )") + storage + "}")->get_object());
}

TEST(StorageId, EqualPlacesHaveOneNumberWhateverIsKeptThereAndWhoeverAsks) {
  const auto shared = id_of(R"({"type": "shared_fs", "host_path": "/data", "save_trial_best": 1})");
  ASSERT_TRUE(shared);
  EXPECT_GT(*shared, 0);
  EXPECT_EQ(
      shared,
      id_of(R"({"host_path": "/data", "type": "shared_fs", "save_trial_best": 5, "storage_path": null})"));
  EXPECT_NE(shared, id_of(R"({"type": "shared_fs", "host_path": "/other"})"));
  EXPECT_NE(shared, id_of(R"({"type": "directory", "container_path": "/data"})"));
  EXPECT_EQ(id_of(R"({"type": "s3", "bucket": "b", "access_key": "1"})"),
            id_of(R"({"type": "s3", "bucket": "b", "access_key": "2"})"));
}

TEST(StorageId, WithoutAStorageThereIsNone) {
  EXPECT_FALSE(id_of("null"));
  EXPECT_FALSE(storage_id({}));
}

}  // namespace
}  // namespace det::master
