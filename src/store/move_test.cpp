#include "det/store/move.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class PostgresMove : public testing::Test {
 protected:
  PostgresMove() { target = server.database(name); }
  ~PostgresMove() override { server.drop(name); }

  std::string sqlite(const char* sub) { return "sqlite:" + (directory.path() / sub).string(); }
  std::unique_ptr<Store> open_at(const char* sub) {
    return *open_sqlite(directory.path() / sub / "determined.db", SqliteSettings{});
  }
  std::unique_ptr<Store> open_target() { return *open_postgres(target, {}, {.holder = "this test"}); }

  /// Something of nearly everything.
  static void fill(Store& store) {
    auto nan = sample_trial(2, 1);
    nan.best_metric = std::numeric_limits<double>::quiet_NaN();
    nan.end_time.reset();
    std::vector<Change> changes;
    changes.emplace_back(PutExperiment{sample_experiment(1)});
    changes.emplace_back(PutTrial{sample_trial(1, 1)});
    changes.emplace_back(PutTrial{nan});
    changes.emplace_back(AppendEvent{{1, Time{1}, json::object{{"a", "\0b"}}}});
    for (int n = 1; n <= 300; ++n)
      changes.emplace_back(AddMetrics{report(1, 1, "training", n, {{"loss", 1.0 / n}})});
    changes.emplace_back(AddLogs{"s", 0, {line("1.request-1", std::string("\0\xff raw", 6)), line("t", "")}});
    changes.emplace_back(PutSetting{"k", "v"});
    changes.emplace_back(PutWebhook{
        {.id = WebhookId(4), .name = "hook", .url = "http://x", .triggers = {}, .creation_time = Time{5}}});
    changes.emplace_back(
        PutDeletion{{.uuid = "u", .experiment_id = ExperimentId(1), .resources = {{"f", 3}}}});
    store.commit(std::move(changes), [] {});
    store.flush();
  }
  static std::string shown(Store& store) {
    std::string text;
    for (const auto& r : store.experiments()) text += json::serialize(json::to_json(r)) + "\n";
    for (const auto& r : store.trials(ExperimentId(1))) text += encode_document(json::to_json(r)) + "\n";
    for (const auto& r : store.metrics({.trial = TrialId(1)}))
      text += json::serialize(json::to_json(r)) + "\n";
    for (const auto& r : store.curve({.trial = TrialId(1), .points = 10}))
      text += json::serialize(json::to_json(r)) + "\n";
    for (const auto* task : {"1.request-1", "t"})
      for (const auto& r : store.logs({.task_id = task})) text += r.log + std::to_string(r.id) + "\n";
    text += json::serialize(store.summary_metrics(TrialId(1)));
    text += std::to_string(store.webhooks().size()) + std::to_string(store.deletion("u")->resources.at("f"));
    return text;
  }

  PostgresServer& server = PostgresServer::shared();
  TemporaryDirectory directory;
  std::string name = directory.path().filename().string();
  std::string target;
};

TEST_F(PostgresMove, ThereAndBackEverythingIsAsItWas) {
  std::string before;
  {
    const auto store = open_at("a");
    fill(*store);
    before = shown(*store);
  }
  const auto there = move_store(sqlite("a"), target);
  ASSERT_TRUE(there) << there.error().message();
  {
    const auto store = open_target();
    EXPECT_EQ(shown(*store), before);
    // What the database numbers itself continues after what came.
    store->commit({AddOwnLogs{{line("new", "line")}}}, nullptr);
    store->flush();
    EXPECT_EQ(store->logs({.task_id = "new"}).size(), 1u);
  }
  const auto back = move_store(target, sqlite("b"));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(shown(*open_at("b")), before);
  SqliteConnection copy(directory.path() / "b" / "determined.db", SqliteConnection::Mode::Read);
  Query query(copy, "PRAGMA auto_vacuum");
  query.next();
  EXPECT_EQ(query.get<std::int64_t>(), 2) << "it can return free space";
}

TEST_F(PostgresMove, ABackupIsOfOneMomentBesideAMasterAndComesBack) {
  std::string before;
  {
    const auto store = open_target();
    fill(*store);
    before = shown(*store);
    const auto copied =
        back_up_postgres(target, directory.path() / "copy" / "determined.db", [&](const auto& table) {
          if (table.name != "access_tokens") return;  // the first
          store->commit({PutExperiment{sample_experiment(2)}}, nullptr);
          store->flush();
        });
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(store->experiments().size(), 2u) << "the master went on";
  }
  EXPECT_EQ(shown(*open_at("copy")), before) << "of the moment when it began";
  server.drop(name);
  server.database(name);
  const auto restored = move_store(sqlite("copy"), target);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(shown(*open_target()), before);
}

TEST_F(PostgresMove, ABackupOfAnEmptyDatabaseIsRefused) {
  const auto file = directory.path() / "copy" / "determined.db";
  const auto refused = back_up_postgres(target, file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("is empty; name the one that the master uses"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(PostgresMove, ReportsRowsAndChecksumsThatAreEqualOnBothSides) {
  fill(*open_at("a"));
  const auto there = *move_store(sqlite("a"), target);
  const auto back = *move_store(target, sqlite("b"));
  ASSERT_EQ(there.size(), back.size());
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    EXPECT_EQ(there[i].rows, back[i].rows) << there[i].name;
    EXPECT_EQ(there[i].checksum, back[i].checksum) << there[i].name;
    rows += there[i].rows;
  }
  EXPECT_GT(rows, 300);
}

TEST_F(PostgresMove, ATargetThatIsInUseOrNotEmptyIsRefused) {
  fill(*open_at("a"));
  const auto error = [&](const std::string& from, const std::string& to) {
    const auto moved = move_store(from, to);
    return moved ? "" : moved.error().message();
  };
  {
    const auto leads = open_target();
    EXPECT_NE(error(sqlite("a"), target).find("a master uses this database; stop all masters first"),
              std::string::npos);
    fill(*leads);
  }
  EXPECT_NE(error(sqlite("a"), target).find("is not empty: table "), std::string::npos);
  EXPECT_NE(error(target, sqlite("a")).find("already exists; name another directory"), std::string::npos);
  {
    const auto runs = open_at("a");
    EXPECT_NE(error(sqlite("a"), target).find("is in use by process"), std::string::npos);
  }
  EXPECT_NE(error(sqlite("nowhere"), target).find("not found"), std::string::npos);
  EXPECT_NE(error(sqlite("a"), sqlite("b")).find("one of both must be"), std::string::npos);
  EXPECT_NE(error("a", target).find("must be sqlite:DIRECTORY"), std::string::npos);
}

/// Ends like `kill -9`: in a process of its own.
void cut_off(const std::string& from, const std::string& to, int after_tables) {
  const auto child = fork();
  if (child == 0) {
    int tables = 0;
    (void)move_store(from, to, [&](const MovedTable&) {
      if (++tables == after_tables) ::kill(::getpid(), SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(PostgresMove, AMoveToPostgresqlThatIsKilledIsRefusedByMastersAndContinues) {
  fill(*open_at("a"));
  const auto before = shown(*open_at("a"));
  cut_off(sqlite("a"), target, 20);
  const auto refused = open_postgres(target, {}, {.holder = "this test"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("the database holds an unfinished copy of '"), std::string::npos);
  EXPECT_NE(refused.error().message().find("Run it again, and it continues"), std::string::npos);
  EXPECT_FALSE(back_up_postgres(target, directory.path() / "no" / "determined.db"));
  cut_off(sqlite("a"), target, 30);
  const auto again = move_store(sqlite("a"), target);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(shown(*open_target()), before);
}

TEST_F(PostgresMove, AMoveToSqliteThatIsKilledIsRefusedByMastersAndContinues) {
  fill(*open_target());
  const auto before = shown(*open_target());
  cut_off(target, sqlite("b"), 20);
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "b" / "determined.db"));
  const auto refused = open_sqlite(directory.path() / "b" / "determined.db", SqliteSettings{});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("an unfinished copy of a database"), std::string::npos);
  const auto again = move_store(target, sqlite("b"));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(shown(*open_at("b")), before);
}

/// Fills the source, cuts a move off, changes the source, and moves again.
class PostgresMoveAfterAChange : public PostgresMove {
 protected:
  template <class OpenSource, class OpenTarget>
  void expect_the_change(const std::string& from, const std::string& to, OpenSource source, OpenTarget copy) {
    fill(*source());
    cut_off(from, to, 40);
    {
      const auto store = source();
      store->commit({PutSetting{"a", "before k"}, PutExperiment{sample_experiment(2)}}, nullptr);
      store->commit({DeleteExperiment{ExperimentId(1)}}, nullptr);
      store->flush();
    }
    const auto moved = move_store(from, to);
    ASSERT_TRUE(moved) << moved.error().message();
    const auto store = copy();
    EXPECT_EQ(store->setting("a"), "before k");
    EXPECT_TRUE(store->experiment(ExperimentId(2)));
    EXPECT_FALSE(store->experiment(ExperimentId(1)));
  }
};

TEST_F(PostgresMoveAfterAChange, ToPostgresqlTheChangedTablesAreCopiedAnew) {
  expect_the_change(sqlite("a"), target, [this] { return open_at("a"); }, [this] { return open_target(); });
}

TEST_F(PostgresMoveAfterAChange, ToSqliteTheChangedTablesAreCopiedAnew) {
  expect_the_change(target, sqlite("b"), [this] { return open_target(); }, [this] { return open_at("b"); });
}

}  // namespace
}  // namespace det::store
