#include <gtest/gtest.h>

#include <set>

#include "det/checkpoint/storage.h"

namespace det::checkpoint {
namespace {

struct RootCase {
  const char* host_path;
  const char* storage_path;
  const char* container_root;
  const char* expected;  // nullptr: refused
};
class SharedFsRoot : public ::testing::TestWithParam<RootCase> {};

TEST_P(SharedFsRoot, LiesInsideHostPath) {
  const auto& c = GetParam();
  const auto root = shared_fs_root(c.host_path, c.storage_path, c.container_root);
  ASSERT_EQ(root.has_value(), c.expected != nullptr) << (root ? root->string() : root.error().message());
  if (!root) return;
  EXPECT_EQ(root->string(), c.expected);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, SharedFsRoot, ::testing::Values(
    RootCase{"/data",    "",                    "",    "/data"},
    RootCase{"/data/",   "",                    "",    "/data"},
    RootCase{"/data",    ".",                   "",    "/data"},
    RootCase{"/data",    "/data",               "",    "/data"},
    RootCase{"/data",    "a/b",                 "",    "/data/a/b"},
    RootCase{"/data",    "a/b/",                "",    "/data/a/b"},
    RootCase{"/data",    "/data/a",             "",    "/data/a"},
    RootCase{"/data",    "/data/./x/../a//b",   "",    "/data/a/b"},
    RootCase{"/data",    "a/../b",              "",    "/data/b"},
    RootCase{"/",        "a",                   "",    "/a"},
    RootCase{"/data",    "a..b",                "",    "/data/a..b"},
    RootCase{"/data",    "..a",                 "",    "/data/..a"},
    RootCase{"/data",    "a",                   "/mnt","/mnt/a"},
    RootCase{"/data",    "/data/a",             "/mnt","/mnt/a"},
    RootCase{"/data",    "",                    "/mnt","/mnt"},
    RootCase{"/data",    "/data-secret",        "",    nullptr},
    RootCase{"/data",    "/data/../data-secret","",    nullptr},
    RootCase{"/data",    "..",                  "",    nullptr},
    RootCase{"/data",    "../data-secret",      "",    nullptr},
    RootCase{"/data",    "a/../../b",           "",    nullptr},
    RootCase{"/data",    "/",                   "",    nullptr},
    RootCase{"/data/x",  "/data",               "",    nullptr},
    RootCase{"/data",    "../data-secret",      "/mnt",nullptr},
    RootCase{"data",     "",                    "",    nullptr},
    RootCase{"",         "",                    "",    nullptr}));
// clang-format on

TEST(OpenStorage, NamesTheValueAndTheRule) {
  config::CheckpointStorage config;
  config.type = "shared_fs";
  config.host_path = "/data";
  config.storage_path = "/data-secret";
  const auto storage = open_storage(config);
  ASSERT_FALSE(storage);
  EXPECT_EQ(storage.error().message(),
            "checkpoint_storage.storage_path is \"/data-secret\"; it must be a relative path, or a "
            "subdirectory of "
            "host_path \"/data\"");
}

TEST(OpenStorage, SaysWhichTypesItKnows) {
  const config::CheckpointStorage config{.type = "azure", .fields = {{"type", "azure"}, {"container", "c"}}};
  const auto storage = open_storage(config);
  ASSERT_FALSE(storage);
  EXPECT_EQ(storage.error().code(), ErrorCode::Unimplemented);
  EXPECT_EQ(storage.error().message(),
            "checkpoint_storage.type is \"azure\"; it must be shared_fs, directory, s3 or gcs");
}

TEST(OpenStorage, ABucketIsOpenedWithoutACall) {
  for (const char* type : {"s3", "gcs"}) {
    const config::CheckpointStorage config{.type = type, .fields = {{"type", type}, {"bucket", "b"}}};
    const auto storage = open_storage(config);
    ASSERT_TRUE(storage) << type;
    EXPECT_TRUE((*storage)->path("some").empty());
  }
}

TEST(Uuid, IsRandomAndOfVersion4) {
  std::set<std::string> uuids;
  for (int i = 0; i < 1000; ++i) {
    const auto uuid = new_uuid();
    ASSERT_EQ(uuid.size(), 36u);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
    EXPECT_TRUE(uuids.insert(uuid).second);
  }
}

}  // namespace
}  // namespace det::checkpoint
