#include "det/store/postgres/postgres_migrations.h"

#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

std::int64_t number_of(Connection& connection, const char* sql) {
  Query query(connection, OneTimeSql{sql});
  return query.next() ? query.get<std::int64_t>() : 0;
}

std::int64_t version_of(Connection& connection) {
  return number_of(connection, "SELECT COALESCE(MAX(number), 0) FROM schema_migrations");
}

constexpr const char* kOurs = R"sql(
SELECT COUNT(*)
FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = 'schema_migrations' AND column_name IN ('number', 'checksum')
)sql";
constexpr const char* kUnfinishedCopies = R"sql(
SELECT COUNT(*)
FROM information_schema.tables
WHERE table_schema = current_schema() AND table_name = 'unfinished_copy'
)sql";
constexpr const char* kTables = R"sql(
SELECT COUNT(*)
FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_name NOT IN ('leadership', 'leader_beats')
)sql";

}  // namespace

Result<void> check_schema(PostgresConnection& connection, std::span<const Migration> migrations) {
  if (number_of(connection, kOurs) != 2) {
    if (number_of(connection, kTables) == 0) return {};
    return failed_precondition(
        "the database holds the tables of another program; create an empty one with 'createdb', and name it");
  }
  const auto version = version_of(connection);
  if (version > static_cast<std::int64_t>(migrations.size()))
    return failed_precondition(
        "the database has schema version {}, but this program supports versions up to {}: a newer release of "
        "det has used it; install that release or a later one",
        version, migrations.size());
  Query query(connection, "SELECT number, name, checksum FROM schema_migrations ORDER BY number");
  while (query.next()) {
    int number = 0;
    std::string name, sum;
    query.read(number, name, sum);
    if (checksum_of(migrations[static_cast<std::size_t>(number - 1)]) != sum)
      return failed_precondition(
          "the database was created by another build of det: its migration {} ('{}') differs from this "
          "program's; use the program that created it, or name another database",
          number, name);
  }
  return {};
}

std::int64_t schema_version(PostgresConnection& connection) {
  return number_of(connection, kOurs) == 2 ? version_of(connection) : 0;
}

std::optional<std::string> unfinished_copy(PostgresConnection& connection) {
  if (number_of(connection, kUnfinishedCopies) == 0) return std::nullopt;
  Query query(connection, "SELECT source FROM unfinished_copy");
  return query.next() ? query.get<std::string>() : "";
}

void mark_unfinished_copy(PostgresConnection& connection, const std::string& source) {
  connection.execute("BEGIN; CREATE TABLE unfinished_copy (source text NOT NULL)");
  Query(connection, "INSERT INTO unfinished_copy (source) VALUES (?)").bind(source).run();
  connection.execute("COMMIT");
}

void finish_copy(PostgresConnection& connection) {
  connection.execute("DROP TABLE unfinished_copy");
}

Result<void> refuse_unfinished_copy(PostgresConnection& connection) {
  const auto source = unfinished_copy(connection);
  if (!source) return {};
  return failed_precondition(
      "the database holds an unfinished copy of '{}': 'det migrate' was interrupted, or still runs. Run it "
      "again, and it continues; or name an empty database",
      *source);
}

void migrate_postgres(PostgresConnection& connection, std::span<const Migration> migrations) {
  std::string sql = "BEGIN;\n";
  std::size_t version = 0;
  if (number_of(connection, kOurs) == 2)
    version = static_cast<std::size_t>(version_of(connection));
  else
    sql +=
        "CREATE TABLE schema_migrations (number bigint PRIMARY KEY, name text NOT NULL, checksum text NOT "
        "NULL);\n";
  if (version == migrations.size()) return;
  for (const auto& migration : migrations.subspan(version))
    sql +=
        fmt::format("{};\nINSERT INTO schema_migrations (number, name, checksum) VALUES ({}, '{}', '{}');\n",
                    postgres_schema(migration.sql), migration.number, migration.name, checksum_of(migration));
  sql += "COMMIT;";
  try {
    connection.execute(sql.c_str());
  } catch (const SqlError&) {
    connection.roll_back();
    throw;
  }
}

}  // namespace det::store
