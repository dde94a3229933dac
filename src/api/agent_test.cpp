#include "det/api/agent.h"

#include <gtest/gtest.h>

#include "det/base/json.h"

namespace det::api {
namespace {

DesiredAllocation good() {
  DesiredAllocation a;
  a.allocation_id = "7.677de5d8-09a4-4c6b.1";
  a.slot_ids = {0, 1};
  a.size = 2;
  return a;
}

TEST(AgentMessages, NamesAreSafeAsFileNames) {
  for (const auto* name : {"7.677de5d8-09a4.1", "a", "A_b-c.9"}) EXPECT_TRUE(is_name(name)) << name;
  for (const auto* name : {"", ".", "..", ".hidden", "a/b", "a b", "a\n", "\xc3\xa4"})
    EXPECT_FALSE(is_name(name)) << name;
  EXPECT_TRUE(is_name(std::string(200, 'a')));
  EXPECT_FALSE(is_name(std::string(201, 'a')));
}

TEST(AgentMessages, AnAllocationThatCannotBeStartedSaysWhy) {
  EXPECT_FALSE(problem(good()));
  const auto message = [](auto change) {
    auto a = good();
    change(a);
    const auto error = problem(a);
    return error ? error->message() : std::string();
  };
  EXPECT_EQ(message([](auto& a) { a.allocation_id = "../x"; }), "allocation id \"../x\" is not a valid name");
  EXPECT_EQ(message([](auto& a) { a.slot_ids = {1, 1}; }),
            "allocation 7.677de5d8-09a4-4c6b.1: slotIds has a slot twice");
  EXPECT_EQ(message([](auto& a) { a.size = 1; }),
            "allocation 7.677de5d8-09a4-4c6b.1: ranks 0 to 1 are outside the size of 1");
  EXPECT_NE(message([](auto& a) { a.grace_seconds = -1; }), "");
  EXPECT_NE(message([](auto& a) { a.environment["A=B"] = "x"; }), "");
  EXPECT_NE(message([](auto& a) { a.environment["A"] = std::string("x\0y", 3); }), "");
  EXPECT_NE(message([](auto& a) { a.model_definition = "../../etc"; }), "");
}

TEST(AgentMessages, ARequestNamesEachSlotAndAllocationOnce) {
  SyncRequest request;
  request.session = "s1";
  request.slots.resize(2);
  EXPECT_TRUE(problem(request));
  request.slots[1].id = 1;
  EXPECT_FALSE(problem(request));
  request.allocations.resize(2);
  request.allocations[0].allocation_id = request.allocations[1].allocation_id = "a.1";
  EXPECT_TRUE(problem(request));
}

TEST(AgentMessages, LogEntriesAreTextOrBase64AndBounded) {
  LogBatch batch;
  batch.allocation_id = "a.1";
  batch.entries.resize(1);
  auto& entry = batch.entries[0];
  entry.stdtype = "stdout";
  EXPECT_FALSE(problem(batch));
  entry.log = "\xff";
  EXPECT_TRUE(problem(batch));
  entry.log = "/w==";
  entry.encoding = "base64";
  EXPECT_FALSE(problem(batch));
  entry.encoding = "zip";
  EXPECT_TRUE(problem(batch));
  entry.encoding = "";
  entry.log = std::string(kLogPieceBytesMax, 'x');
  EXPECT_FALSE(problem(batch));
  entry.log += 'x';
  EXPECT_TRUE(problem(batch));
  batch.entries.assign(kLogBatchEntriesMax + 1, {});
  EXPECT_TRUE(problem(batch));
}

TEST(AgentMessages, SurviveJson) {
  SyncReply reply;
  reply.desired = {good()};
  reply.acknowledged = {"a.1"};
  const auto back = json::from_json<SyncReply>(json::to_json(reply));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, reply);
  SyncRequest request;
  request.allocations.resize(1);
  request.allocations[0].state = AllocationState::exited;
  request.allocations[0].exits = {{.rank = 0, .code = 137, .signal = 9, .reason = ""}};
  request.attributes = {{"gpu", "a100"}};
  EXPECT_EQ(json::from_json<SyncRequest>(json::to_json(request)).value(), request);
}

TEST(AgentMessages, AttributesAreNamesAndValuesOfPlainCharacters) {
  SyncRequest request{.session = "s"};
  request.attributes = {{"gpu", "a100"}, {"zone", "north-1"}};
  EXPECT_FALSE(problem(request));
  request.attributes = {{"gpu", "a 100"}};
  ASSERT_TRUE(problem(request));
  EXPECT_EQ(problem(request)->message(),
            "attribute \"gpu\"=\"a 100\" has characters other than letters, digits, dots, - and _");
}

}  // namespace
}  // namespace det::api
