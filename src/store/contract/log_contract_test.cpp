// What every kind of database must do with log lines.

#include <gmock/gmock.h>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;

class LogContract : public StoreContract {
 protected:
  std::vector<std::string> texts(const LogQuery& query) {
    std::vector<std::string> all;
    for (const auto& r : store->logs(query)) all.push_back(r.log);
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(, LogContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(LogContract, LineComesBackAsItWasAdded) {
  LogRecord r;
  r.task_id = "1.r";
  r.allocation_id = "1.r.1";
  r.agent_id = "agent";
  r.container_id = "container";
  r.rank = 3;
  r.source = "task";
  r.stdtype = "stderr";
  r.level = "INFO";
  r.log = "hello";
  r.partial = true;
  r.timestamp = Time{1'700'000'000'000'001};
  commit(AddLogs{"s", 0, {r}});
  reopen();
  const auto found = store->logs({.task_id = "1.r"});
  ASSERT_EQ(found.size(), 1u);
  r.id = found[0].id;
  EXPECT_GT(r.id, 0);
  EXPECT_TRUE(same(found[0], r));
}

TEST_P(LogContract, BytesStayBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  commit(AddLogs{"s", 0, {line("t", bytes), line("t", ""), line("t", std::string(65536, '\xfe'))}});
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre(bytes, "", std::string(65536, '\xfe')));
  EXPECT_THAT(texts({.task_id = "t", .search = std::string("\x00\x01\x02", 3)}), ElementsAre(bytes));
}

TEST_P(LogContract, IdsAscendInTheOrderOfArrival) {
  commit(AddLogs{"a", 0, {line("t", "1"), line("t", "2")}});
  commit(AddOwnLogs{{line("t", "3")}});
  reopen();
  commit(AddLogs{"b", 0, {line("t", "4")}});
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre("1", "2", "3", "4"));
  std::int64_t last = 0;
  for (const auto& r : store->logs({.task_id = "t"})) {
    EXPECT_GT(r.id, last);
    last = r.id;
  }
}

TEST_P(LogContract, ARepeatedBatchIsStoredOnce) {
  const AddLogs batch{"s", 0, {line("t", "0"), line("t", "1"), line("t", "2")}};
  commit(batch);
  commit(batch);
  reopen();
  commit(batch);
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre("0", "1", "2"));
}

TEST_P(LogContract, OfAnOverlappingBatchOnlyTheNewLinesAreStored) {
  commit(AddLogs{"s", 0, {line("t", "0"), line("t", "1")}});
  commit(AddLogs{"s", 1, {line("t", "1"), line("t", "2"), line("t", "3")}});
  commit(AddLogs{"s", 2, {line("t", "2")}});
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre("0", "1", "2", "3"));
}

TEST_P(LogContract, StreamsCountTheirLinesApart) {
  commit(AddLogs{"out", 0, {line("t", "out0")}}, AddLogs{"err", 0, {line("t", "err0")}});
  commit(AddLogs{"out", 1, {line("t", "out1")}}, AddLogs{"err", 0, {line("t", "err0")}});
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre("out0", "err0", "out1"));
}

TEST_P(LogContract, AGapIsAccepted) {
  commit(AddLogs{"s", 5, {line("t", "5")}});
  commit(AddLogs{"s", 3, {line("t", "3"), line("t", "4"), line("t", "5"), line("t", "6")}});
  EXPECT_THAT(texts({.task_id = "t"}), ElementsAre("5", "6"));
}

TEST_P(LogContract, FollowingByIdSeesEachLineOnce) {
  std::int64_t after = 0;
  for (int i = 0; i < 5; ++i) {
    commit(AddOwnLogs{{line("t", std::to_string(i)), line("other", "x")}});
    const auto fresh = store->logs({.task_id = "t", .after_id = after});
    ASSERT_EQ(fresh.size(), 1u);
    EXPECT_EQ(fresh[0].log, std::to_string(i));
    after = fresh[0].id;
  }
}

TEST_P(LogContract, TailIsALimitFromTheEnd) {
  commit(AddOwnLogs{{line("t", "1"), line("t", "2"), line("t", "3")}});
  EXPECT_THAT(texts({.task_id = "t", .limit = 2}), ElementsAre("1", "2"));
  EXPECT_THAT(texts({.task_id = "t", .limit = 2, .descending = true}), ElementsAre("3", "2"));
}

TEST_P(LogContract, ThePageBeforeALineIsReadBackwards) {
  commit(AddOwnLogs{{line("t", "1"), line("t", "2"), line("t", "3"), line("t", "4")}});
  const auto last = store->logs({.task_id = "t", .limit = 1, .descending = true});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_THAT(texts({.task_id = "t", .before_id = last[0].id, .limit = 2, .descending = true}),
              ElementsAre("3", "2"));
}

TEST_P(LogContract, EachFilterLetsOnlyItsLinesThrough) {
  auto a = line("t", "alpha 100%");
  a.agent_id = "agent-a";
  a.container_id = "c-a";
  a.rank = 0;
  a.level = "INFO";
  a.timestamp = Time{100};
  auto b = line("t", "beta");
  b.agent_id = "agent-b";
  b.allocation_id = "t.2";
  b.container_id = "c-b";
  b.rank = 1;
  b.source = "agent";
  b.stdtype = "stderr";
  b.level = "ERROR";
  b.timestamp = Time{200};
  auto c = line("t", "gamma");
  c.source = "master";
  c.stdtype = "";
  c.timestamp = Time{300};
  commit(AddOwnLogs{{a, b, c}});
  const auto all = [](auto change) {
    LogQuery query{.task_id = "t"};
    change(query);
    return query;
  };
  EXPECT_THAT(texts(all([](auto& q) { q.agent_ids = {"agent-b", "x"}; })), ElementsAre("beta"));
  EXPECT_THAT(texts(all([](auto& q) { q.allocation_ids = {"t.2"}; })), ElementsAre("beta"));
  EXPECT_THAT(texts(all([](auto& q) { q.allocation_ids = {"t.9"}; })), ElementsAre());
  EXPECT_THAT(texts(all([](auto& q) { q.container_ids = {"c-a"}; })), ElementsAre("alpha 100%"));
  EXPECT_THAT(texts(all([](auto& q) { q.rank_ids = {0, 1}; })), ElementsAre("alpha 100%", "beta"));
  EXPECT_THAT(texts(all([](auto& q) { q.sources = {"master"}; })), ElementsAre("gamma"));
  EXPECT_THAT(texts(all([](auto& q) { q.stdtypes = {"stdout", "stderr"}; })),
              ElementsAre("alpha 100%", "beta"));
  EXPECT_THAT(texts(all([](auto& q) { q.levels = {"ERROR", "INFO"}; })), ElementsAre("alpha 100%", "beta"));
  EXPECT_THAT(texts(all([](auto& q) {
                q.after = Time{100};
                q.before = Time{300};
              })),
              ElementsAre("beta"));
  EXPECT_THAT(texts(all([](auto& q) { q.search = "a 100%"; })), ElementsAre("alpha 100%"));
  EXPECT_THAT(texts(all([](auto& q) { q.search = "' OR 1=1 --"; })), ElementsAre());
  EXPECT_THAT(texts(all([](auto& q) {
                q.sources = {"task"};
                q.levels = {"ERROR"};
              })),
              ElementsAre());
}

TEST_P(LogContract, ARestartedStoreGoesOnWithTheSameOrigins) {
  for (int i = 0; i < 3; ++i) {
    commit(AddLogs{"s", i, {line("t", std::to_string(i))}});
    reopen();
  }
  EXPECT_THAT(texts({.task_id = "t", .sources = {"task"}}), ElementsAre("0", "1", "2"));
}

}  // namespace
}  // namespace det::store
