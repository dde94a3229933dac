#include "det/store/sqlite/migrations.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

// Two versions of a schema with rows, in which the second moves the rows to a new table.
constexpr Migration kFirst{1, "0001_first", R"sql(
CREATE TABLE people (name TEXT NOT NULL);
INSERT INTO people (name) VALUES ('Ada; -- Lovelace');  -- a ; in a text ends no statement
INSERT INTO people (name) VALUES ('Alan');
)sql"};
constexpr Migration kSecond{2, "0002_second", R"sql(
-- Only a comment.
CREATE TABLE persons (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO persons (name) SELECT name FROM people;
DROP TABLE people;
CREATE INDEX persons_by_name ON persons (name);
)sql"};
constexpr Migration kBoth[] = {kFirst, kSecond};

// Everything that is in the database, as text.
std::string dump(const std::filesystem::path& path) {
  SqliteConnection connection(path, SqliteConnection::Mode::Write);
  std::string text;
  std::vector<std::string> tables;
  {
    Query query(connection, "SELECT type, name, COALESCE(sql, '') FROM sqlite_schema ORDER BY name");
    while (query.next()) {
      std::string type, name, sql;
      query.read(type, name, sql);
      text += fmt::format("{} {}: {}\n", type, name, sql);
      if (type == "table") tables.push_back(name);
    }
  }
  for (const auto& table : tables) {
    Query query(connection, OneTimeSql{fmt::format("SELECT * FROM {}", table)});
    while (query.next()) {
      std::string a, b;
      query.read(a, b);
      text += fmt::format("{}: {} {}\n", table, a, b);
    }
  }
  for (const auto* pragma : {"user_version", "application_id"}) {
    Query query(connection, OneTimeSql{fmt::format("PRAGMA {}", pragma)});
    query.next();
    text += fmt::format("{} {}\n", pragma, query.get<int>());
  }
  return text;
}

void run(const std::filesystem::path& path, std::span<const Migration> migrations) {
  SqliteConnection connection(path, SqliteConnection::Mode::Write);
  const auto migrated = migrate(connection, migrations);
  ASSERT_TRUE(migrated) << migrated.error().message();
}

// Runs the migrations in a process that ends before statement `fatal`; false: it came to the end.
bool crash_at(const std::filesystem::path& path, std::span<const Migration> migrations, int fatal) {
  const pid_t child = fork();
  if (child == 0) {
    SqliteConnection connection(path, SqliteConnection::Mode::Write);
    int statement = 0;
    const auto migrated = migrate(connection, migrations, [&] {
      if (statement++ == fatal) _exit(1);
    });
    _exit(migrated ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 2);
  return WEXITSTATUS(status) == 1;
}

int crash_everywhere(std::span<const Migration> old_ones, std::span<const Migration> migrations) {
  const TemporaryDirectory clean;
  run(clean.path() / "det.db", migrations);
  const auto expected = dump(clean.path() / "det.db");
  for (int statement = 0;; ++statement) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "det.db";
    if (!old_ones.empty()) run(path, old_ones);
    if (!crash_at(path, migrations, statement)) return statement;
    run(path, migrations);
    EXPECT_EQ(dump(path), expected) << "after a crash before statement " << statement;
  }
}

TEST(Migrations, ACrashAtAnyStatementIsRepairedByTheNextStart) {
  EXPECT_GT(crash_everywhere({}, built_in_migrations()), 30);
}

TEST(Migrations, ACrashDuringAnUpgradeLosesNoRows) {
  EXPECT_EQ(crash_everywhere(std::span(kBoth).first(1), kBoth), 4 + 5);
  EXPECT_EQ(crash_everywhere({}, kBoth), 3 + 5 + 4 + 5);
}

TEST(Migrations, AreNumberedFromOneWithoutGaps) {
  int number = 0;
  for (const auto& migration : built_in_migrations()) {
    EXPECT_EQ(migration.number, ++number);
    EXPECT_EQ(migration.name.substr(0, 4), fmt::format("{:04}", number));
  }
}

TEST(Migrations, RunOnlyOnce) {
  const TemporaryDirectory directory;
  run(directory.path() / "det.db", kBoth);
  const auto before = dump(directory.path() / "det.db");
  run(directory.path() / "det.db", kBoth);
  EXPECT_EQ(dump(directory.path() / "det.db"), before);
}

TEST(Migrations, ANewerSchemaIsRefusedWithAdvice) {
  const TemporaryDirectory directory;
  run(directory.path() / "det.db", kBoth);
  SqliteConnection connection(directory.path() / "det.db", SqliteConnection::Mode::Write);
  const auto migrated = migrate(connection, std::span(kBoth).first(1));
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().message(),
            "the database has schema version 2, but this program supports versions up to 1: a newer release "
            "of det has used it; install that release or a later one");
}

TEST(Migrations, AnEditedMigrationIsRefused) {
  const TemporaryDirectory directory;
  run(directory.path() / "det.db", kBoth);
  const Migration edited[] = {{1, "0001_first", "CREATE TABLE other (x)"}, kSecond};
  SqliteConnection connection(directory.path() / "det.db", SqliteConnection::Mode::Write);
  const auto migrated = migrate(connection, edited);
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().message().find("migration 1 ('0001_first') differs"), std::string::npos);
}

TEST(Migrations, AFailingStatementLeavesTheVersionBefore) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  run(path, std::span(kBoth).first(1));
  const auto before = dump(path);
  const Migration bad[] = {
      kFirst, {2, "0002_bad", "DROP TABLE people; CREATE TABLE t (x); INSERT INTO nowhere VALUES (1);"}};
  SqliteConnection connection(path, SqliteConnection::Mode::Write);
  EXPECT_THROW((void)migrate(connection, bad), SqliteError);
  EXPECT_EQ(dump(path), before);
}

}  // namespace
}  // namespace det::store
