// What a database must be, and the sentences for those that are not.

#include <gtest/gtest.h>

#include "det/store/contract/contract_fixture.h"
#include "det/store/postgres/losing_proxy.h"
#include "det/store/postgres/postgres_migrations.h"
#include "det/store/postgres/postgres_text.h"

namespace det::store {
namespace {

class PostgresOpening : public testing::Test {
 protected:
  ~PostgresOpening() override { server.drop(name); }

  std::string error_of(const std::string& target) {
    const auto opened = open_postgres(target, {}, {.holder = "this test"});
    return opened ? "" : opened.error().message();
  }
  bool says(const std::string& target, std::string_view part) {
    const auto error = error_of(target);
    EXPECT_NE(error.find(part), std::string::npos) << error;
    return true;
  }
  std::string as(const std::string& user, const std::string& database) {
    return fmt::format("postgres://{}@127.0.0.1:{}/{}", user, server.port(), database);
  }

  PostgresServer& server = PostgresServer::shared();
  TemporaryDirectory directory;
  std::string name = directory.path().filename().string();
};

TEST_F(PostgresOpening, AnEmptyDatabaseIsTakenAndOpenedAgain) {
  const auto target = server.database(name);
  EXPECT_EQ(error_of(target), "");
  EXPECT_EQ(error_of(target), "");
}

TEST_F(PostgresOpening, SaysWhatToDoWhereThereIsNoServer) {
  says("postgres://det@127.0.0.1:1/x", "Check the host and the port, and that the server runs");
}

TEST_F(PostgresOpening, SaysHowToMakeADatabaseThatIsNotThere) {
  says(server.url("nowhere"), "Create it with 'createdb --encoding UTF8 --template template0 NAME'");
}

TEST_F(PostgresOpening, SaysWhichUserIsNotThere) {
  says(as("nobody", "postgres"), "role \"nobody\" does not exist. Create the user");
}

TEST_F(PostgresOpening, RefusesAWrongPasswordAndDoesNotRepeatIt) {
  server.execute("postgres", "CREATE ROLE guarded LOGIN PASSWORD 'right'");
  server.require_password("guarded");
  server.database(name);
  const auto target = fmt::format("postgres://guarded:wr0ng@127.0.0.1:{}/{}", server.port(), name);
  says(target, "password authentication failed for user \"guarded\". Correct the user or the password");
  EXPECT_EQ(error_of(target).find("wr0ng"), std::string::npos);
  says(as("guarded", name), "Give a password");
}

TEST_F(PostgresOpening, RefusesAnEncodingThatIsNotUtf8) {
  server.execute("postgres",
                 fmt::format("CREATE DATABASE \"{}\" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
                             "TEMPLATE template0",
                             name));
  says(server.url(name), "the encoding of the database is LATIN1, but it must be UTF8; create another one");
}

TEST_F(PostgresOpening, RefusesAServerBeforeVersion13) {
  server.database(name);
  LosingProxy proxy(server.port());
  const auto target = fmt::format("postgres://det@127.0.0.1:{}/{}", proxy.port(), name);
  proxy.show_version("12");
  says(target, "the server is PostgreSQL 12.");
  says(target, "upgrade it to version 13 or later");
  proxy.show_version("13");
  EXPECT_EQ(error_of(target), "");
}

TEST_F(PostgresOpening, LeavesTheDatabaseOfAnotherProgramAlone) {
  const auto target = server.database(name);
  server.execute(name, "CREATE TABLE theirs (x int)");
  says(target, "the database holds the tables of another program; create an empty one");
  server.execute(name, "SELECT x FROM theirs");
}

TEST_F(PostgresOpening, SaysWhichRightsAreMissing) {
  server.execute("postgres", "CREATE ROLE guest LOGIN");
  server.database(name);
  says(as("guest", name), fmt::format("ALTER DATABASE {} OWNER TO guest", name));
}

TEST_F(PostgresOpening, RefusesANewerSchema) {
  const auto target = server.database(name);
  EXPECT_EQ(error_of(target), "");
  server.execute(name, "INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'later', '')");
  says(target, "a newer release of det has used it; install that release or a later one");
}

TEST_F(PostgresOpening, RefusesASchemaOfAnotherBuild) {
  const auto target = server.database(name);
  EXPECT_EQ(error_of(target), "");
  server.execute(name, "UPDATE schema_migrations SET checksum = 'x' WHERE number = 3");
  says(target, "its migration 3 ('0003_environments') differs");
}

TEST_F(PostgresOpening, AMigrationThatFailsLeavesTheVersionBefore) {
  PostgresConnection connection(server.database(name), PostgresConnection::Mode::Write);
  const Migration first[] = {{1, "0001_first", "CREATE TABLE a (x INTEGER NOT NULL)"}};
  migrate_postgres(connection, first);
  const Migration both[] = {first[0], {2, "0002_bad", "DROP TABLE a; INSERT INTO nowhere VALUES (1)"}};
  EXPECT_THROW(migrate_postgres(connection, both), SqlError);
  server.execute(name, "SELECT x FROM a");
  EXPECT_TRUE(check_schema(connection, first));
}

TEST_F(PostgresOpening, TextsThatPostgresCannotHoldAreStoredWithReplacements) {
  const auto store = *open_postgres(server.database(name), {}, {.holder = "this test"});
  store->commit({PutSetting{"k", std::string("a\0b\xff", 4)}}, nullptr);
  store->flush();
  EXPECT_EQ(store->setting("k"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(PostgresText, ParametersAreNumberedOutsideOfTextsAndComments) {
  EXPECT_EQ(numbered_parameters("SELECT '?' -- ?\n, ?, ?2, ?"), "SELECT '?' -- ?\n, $1, $2, $2");
}

TEST(PostgresText, TypesAreTranslatedOutsideOfTextsAndComments) {
  EXPECT_EQ(
      postgres_schema("CREATE TABLE t (id INTEGER PRIMARY KEY, -- TEXT\n a TEXT, b BLOB, c REAL) WITHOUT "
                      "ROWID"),
      "CREATE TABLE t (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- TEXT\n a text COLLATE "
      "\"C\", b bytea, c double precision) ");
}

}  // namespace
}  // namespace det::store
