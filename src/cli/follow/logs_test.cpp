#include "det/cli/follow/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <fstream>

#include "det/cli/context/archive.h"
#include "det/cli/test_master.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using test::det;
using test::TemporaryDirectory;
using test::TestMaster;
using ::testing::HasSubstr;

constexpr const char* kLogs = "GET /api/v1/trials/12/logs";

std::string entry(int id, const std::string& text) {
  return fmt::format(R"({{"result":{{"id":"{}","timestamp":"2026-01-02T03:04:{:02}Z","message":"{}\n"}}}})",
                     id, id, text);
}

TEST(TrialLogs, AreShownAsTheyAre) {
  TestMaster master;
  master.stream(kLogs, {entry(1, "[2026-01-02T03:04:05Z] f6114bb3 [rank=1] || INFO: text"), entry(2, "two")});
  const auto outcome = det("trial logs 12", master);
  EXPECT_EQ(outcome.out,
            "[2026-01-02T03:04:05Z] f6114bb3 [rank=1] || INFO: text\ntwo\n"
            "Trial log stream ended. To reopen log stream, run: det trial logs -f 12\n");
}

TEST(TrialLogs, AreFilteredByTheMaster) {
  TestMaster master;
  master.stream(kLogs, {});
  det("t logs 12 --head 3 --rank-id 0 --rank-id 2 --level warning --stdtype stderr --agent-id a", master);
  EXPECT_EQ(
      master.asked().back(),
      "GET "
      "/api/v1/trials/12/"
      "logs?agentIds=a&rankIds=0&rankIds=2&stdtypes=stderr&levels=LOG_LEVEL_WARNING&levels=LOG_LEVEL_ERROR"
      "&levels=LOG_LEVEL_CRITICAL&limit=3");
}

TEST(TrialLogs, OfTheEndAreShownOldestFirst) {
  TestMaster master;
  master.stream(kLogs, {entry(3, "three"), entry(2, "two")});
  EXPECT_THAT(det("t logs 12 --tail 2", master).out, ::testing::StartsWith("two\nthree\n"));
  EXPECT_EQ(master.asked().back(), "GET /api/v1/trials/12/logs?limit=2&orderBy=ORDER_BY_DESC");
}

TEST(TrialLogs, CanBeJson) {
  TestMaster master;
  master.stream(kLogs, {entry(1, "one")});
  EXPECT_EQ(det("t logs 12 --json", master).out,
            R"({"id":"1","timestamp":"2026-01-02T03:04:01Z","message":"one\n"})"
            "\n");
}

TEST(TrialLogs, GoOnWhereABrokenConnectionLeftOff) {
  TestMaster master;
  master.stream(kLogs, {entry(11, "one"), entry(12, "two")}, /*cut=*/true);
  master.stream(kLogs, {entry(12, "two"), entry(13, "three")});
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_COMPLETED"}})");
  EXPECT_THAT(det("t logs -f 12", master).out,
              ::testing::StartsWith("one\ntwo\nthree\nTrial log stream ended."));
  EXPECT_THAT(master.asked(), ::testing::Contains("GET /api/v1/trials/12/logs?follow=true&afterId=12"));
}

TEST(TrialLogs, AreFollowedFromTheLinesOnThatTheEndIsOf) {
  TestMaster master;
  master.stream(kLogs, {entry(13, "three"), entry(12, "two")});
  master.stream(kLogs, {entry(14, "four")});
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_COMPLETED"}})");
  EXPECT_THAT(det("t logs -f 12 --tail 2", master).out, ::testing::StartsWith("two\nthree\nfour\nTrial"));
  EXPECT_THAT(master.asked(), ::testing::Contains("GET /api/v1/trials/12/logs?follow=true&afterId=13"));

  TestMaster quiet;
  quiet.stream(kLogs, {entry(13, "three")});
  quiet.stream(kLogs, {entry(14, "four")});
  quiet.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_COMPLETED"}})");
  EXPECT_THAT(det("t logs -f 12 --tail 0", quiet).out, ::testing::StartsWith("four\nTrial"));
}

TEST(TrialLogs, AreFollowedUntilTheTrialEndsAndNotTheStream) {
  TestMaster master;
  master.stream(kLogs, {entry(1, "one")});
  master.stream(kLogs, {entry(1, "one"), entry(2, "two")});
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_RUNNING"}})");
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_COMPLETED"}})");
  EXPECT_THAT(det("t logs -f 12", master).out, ::testing::StartsWith("one\ntwo\nTrial log stream ended."));
}

TEST(TrialLogs, EndWithTheMastersError) {
  TestMaster master;
  master.refuse(kLogs, 404, "trial '12' not found");
  EXPECT_EQ(det("t logs 12", master).err, "Failed to show logs of trial: trial '12' not found\n");
  EXPECT_EQ(det("t logs -f 12", master).err, "Failed to show logs of trial: trial '12' not found\n");
  TestMaster other;
  other.stream(kLogs,
               {entry(1, "one"), R"({"error":{"grpcCode":13,"httpCode":500,"message":"the disk is gone"}})"});
  const auto outcome = det("t logs 12", other);
  EXPECT_EQ(outcome.out, "one\n");
  EXPECT_EQ(outcome.err, "Failed to show logs of trial: the disk is gone\n");
}

// A tar archive with these entries; names that end in "/" are directories.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files, bool as_link = false) {
  std::string bytes(1024 * 1024, '\0');
  std::size_t used = 0;
  auto* writer = ::archive_write_new();
  ::archive_write_add_filter_gzip(writer);
  ::archive_write_set_format_pax_restricted(writer);
  ::archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const auto& [name, content] : files) {
    auto* item = ::archive_entry_new();
    ::archive_entry_set_pathname(item, name.c_str());
    ::archive_entry_set_filetype(item, as_link ? AE_IFLNK : name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    if (as_link) ::archive_entry_set_symlink(item, content.c_str());
    ::archive_entry_set_perm(item, 0644);
    ::archive_entry_set_size(item, as_link ? 0 : static_cast<la_int64_t>(content.size()));
    ::archive_write_header(writer, item);
    if (!as_link) ::archive_write_data(writer, content.data(), content.size());
    ::archive_entry_free(item);
  }
  ::archive_write_close(writer);
  ::archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

TEST(Unpack, RefusesEntriesThatLeaveTheDirectory) {
  const TemporaryDirectory directory;
  const auto into = directory.path() + "/into";
  fs::create_directory(into);
  for (const auto* name : {"../x", "/tmp/det-cli-test-x", "a/../../x"})
    EXPECT_FALSE(unpack(directory.write("a.tgz", tar_of({{name, "1"}})), into)) << name;
  EXPECT_FALSE(unpack(directory.write("b.tgz", tar_of({{"link", "/etc"}}, true)), into));
  EXPECT_FALSE(unpack(directory.write("c.tgz", "no archive"), into));
  EXPECT_TRUE(fs::is_empty(into));
  EXPECT_TRUE(unpack(directory.write("d.tgz", tar_of({{"d/", ""}, {"d/f", "hello"}})), into));
  EXPECT_EQ(fs::file_size(into + "/d/f"), 5u);
}

std::string checkpoint_json(const std::string& host_path) {
  return fmt::format(
      R"({{"uuid":"u1","state":"STATE_COMPLETED","reportTime":"2026-01-02T03:04:05Z","resources":{{"f":"1"}},
      "metadata":{{"steps_completed":100,"framework":"torch-2.11.0"}},"training":{{"trialId":12,"experimentId":7,"hparams":{{}},
      "searcherMetric":0.5,"validationMetrics":{{"avgMetrics":{{"error":0.5}}}},
      "experimentConfig":{{"checkpoint_storage":{{"type":"shared_fs","host_path":"{}","storage_path":"cp"}}}}}}}})",
      host_path);
}

TEST(DownloadCheckpoint, CopiesFromStorageThatThisMachineSees) {
  TestMaster master;
  const TemporaryDirectory directory;
  directory.write("shared/cp/u1/state-dict.pth", "weights");
  master.answer("GET /api/v1/checkpoints/u1",
                "{\"checkpoint\":" + checkpoint_json(directory.path() + "/shared") + "}");
  const auto target = directory.path() + "/model";
  const auto outcome = det("checkpoint download u1 -q -o " + target, master);
  EXPECT_EQ(outcome.out, target + "\n");
  EXPECT_EQ(fs::file_size(target + "/state-dict.pth"), 7u);
  std::ifstream file(target + "/metadata.json");
  const auto metadata = json::parse(std::string(std::istreambuf_iterator<char>(file), {})).value();
  EXPECT_EQ(metadata.at("framework"), "torch-2.11.0");
  EXPECT_EQ(metadata.at("trial_id"), 12);
  EXPECT_EQ(det("checkpoint download u1 -q -o " + target, master).code, 0);
}

TEST(DownloadCheckpoint, AsksTheMasterOtherwise) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("GET /api/v1/trials/12/checkpoints",
                "{\"checkpoints\":[" + checkpoint_json("/no/such") + "],\"pagination\":{\"total\":1}}");
  master.answer("GET /checkpoints/u1", tar_of({{"sub/", ""}, {"sub/f", "hello"}}));
  const auto target = directory.path() + "/model";
  const auto outcome = det("trial download 12 --best -o " + target, master);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, ::testing::StartsWith("Local checkpoint path:\n" + target + "\n"));
  EXPECT_EQ(fs::file_size(target + "/sub/f"), 5u);
  EXPECT_TRUE(fs::exists(target + "/metadata.json"));
}

TEST(DownloadCheckpoint, ModeMasterAsksTheMasterEvenForStorageThatThisMachineSees) {
  TestMaster master;
  const TemporaryDirectory directory;
  directory.write("shared/cp/u1/from-storage", "weights");
  master.answer("GET /api/v1/checkpoints/u1",
                "{\"checkpoint\":" + checkpoint_json(directory.path() + "/shared") + "}");
  master.answer("GET /checkpoints/u1", tar_of({{"from-master", "hello"}}));
  const auto target = directory.path() + "/model";
  EXPECT_EQ(det("checkpoint download u1 -q --mode master -o " + target, master).code, 0);
  EXPECT_TRUE(fs::exists(target + "/from-master"));
  EXPECT_FALSE(fs::exists(target + "/from-storage"));
}

TEST(DownloadCheckpoint, ModeDirectNeverAsksTheMaster) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("GET /api/v1/checkpoints/u1", "{\"checkpoint\":" + checkpoint_json("/no/such") + "}");
  master.answer("GET /checkpoints/u1", tar_of({{"from-master", "hello"}}));
  const auto outcome = det("checkpoint download u1 --mode direct -o " + directory.path() + "/model", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("/no/such/cp/u1 does not exist; use --mode master"));
  EXPECT_EQ(det("checkpoint download u1 --mode other", master).code, 2);
}

TEST(DownloadCheckpoint, ThatFailsLeavesNothingBehind) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("GET /api/v1/checkpoints/u1", "{\"checkpoint\":" + checkpoint_json("/no/such") + "}");
  master.answer("GET /checkpoints/u1", "no archive");
  EXPECT_EQ(det("c download u1 -o " + directory.path() + "/model", master).code, 1);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

}  // namespace
}  // namespace det::cli
