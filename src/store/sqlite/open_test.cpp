#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

std::string error_of(const std::filesystem::path& path) {
  const auto opened = open_sqlite(SqliteOptions{path, {}});
  return opened ? "" : opened.error().message();
}

TEST(OpenSqlite, CreatesTheDirectory) {
  const TemporaryDirectory directory;
  EXPECT_EQ(error_of(directory.path() / "a" / "b" / "det.db"), "");
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "a" / "b" / "det.db"));
}

TEST(OpenSqlite, KeepsTheDatabaseToItsOwner) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  for (int times = 0; times < 2; ++times) {
    const auto store = open_sqlite({.path = path, .on_stall = {}});
    ASSERT_TRUE(store);
    for (const auto* beside : {"", "-wal"})
      EXPECT_EQ(std::filesystem::status(path.string() + beside).permissions(),
                std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
          << beside;
    std::filesystem::permissions(path, std::filesystem::perms::all);
  }
}

TEST(OpenSqlite, NamesTheProcessThatHasTheDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  const auto first = open_sqlite(SqliteOptions{path, {}});
  ASSERT_TRUE(first);
  EXPECT_EQ(error_of(path),
            fmt::format("the database {0} is in use by process {1}, which has locked {0}.lock; stop that "
                        "process, or choose another data directory",
                        path.string(), getpid()));
}

TEST(OpenSqlite, LetsGoOfTheDatabaseWhenItIsClosed) {
  const TemporaryDirectory directory;
  EXPECT_EQ(error_of(directory.path() / "det.db"), "");
  EXPECT_EQ(error_of(directory.path() / "det.db"), "");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "det.db-wal")) << "a clean end leaves one file";
}

TEST(OpenSqlite, ReservesTheSpaceOfTheWriteAheadLog) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  const auto store = *open_sqlite(SqliteOptions{path, {}});
  const auto size = std::filesystem::file_size(path.string() + "-wal");
  EXPECT_GT(size, 16u << 20);
  store->commit({PutSetting{"k", "v"}}, nullptr);
  store->flush();
  EXPECT_EQ(std::filesystem::file_size(path.string() + "-wal"), size);
}

TEST(OpenSqlite, SaysThatADirectoryCannotBeMade) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "file") << "x";
  EXPECT_NE(error_of(directory.path() / "file" / "det.db").find("cannot create the directory"),
            std::string::npos);
}

TEST(OpenSqlite, SaysThatAFileIsNoDatabase) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "det.db") << std::string(5000, 'x');
  EXPECT_NE(error_of(directory.path() / "det.db").find("file is not a database"), std::string::npos);
}

TEST(OpenSqlite, LeavesTheDatabaseOfAnotherProgramAlone) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  SqliteConnection(path, SqliteConnection::Mode::Write).execute("CREATE TABLE theirs (x)");
  EXPECT_EQ(error_of(path),
            path.string() + ": the file is the database of another program; choose another data directory");
}

TEST(OpenSqlite, ReadersCanNeitherWriteNorCheckpoint) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  const auto store = *open_sqlite(SqliteOptions{path, {}});
  store->commit({PutTemplate{{"t", std::string(100'000, 'x')}}}, nullptr);
  store->flush();
  const auto size = std::filesystem::file_size(path);
  SqliteConnection reader(path, SqliteConnection::Mode::Read);
  reader.execute("SELECT name FROM templates");
  EXPECT_THROW(reader.execute("DELETE FROM templates"), SqliteError);
  EXPECT_THROW(reader.execute("PRAGMA wal_checkpoint"), SqliteError);
  EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(OpenSqlite, ADamagedDocumentIsAnErrorAndNotAnEmptyAnswer) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  (*open_sqlite(SqliteOptions{path, {}}))->commit({AppendEvent{{1, Time{1}, "event"}}}, nullptr);
  SqliteConnection(path, SqliteConnection::Mode::Write).execute("UPDATE events SET body = x'0107'");
  const auto store = *open_sqlite(SqliteOptions{path, {}});
  EXPECT_THROW((void)store->events_after(0, 0), DamagedDocument);
}

}  // namespace
}  // namespace det::store
