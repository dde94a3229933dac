#include "det/store/sqlite/migrations.h"

#include "det/base/text.h"

namespace det::store {

namespace {

constexpr int kApplicationId = 0x64657453;  // "detS"

// FNV-1a.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

int pragma(SqliteConnection& connection, std::string_view name) {
  Query query(connection, OneTimeSql{fmt::format("PRAGMA {}", name)});
  query.next();
  return query.get<int>();
}

int table_count(SqliteConnection& connection) {
  Query query(connection, OneTimeSql{"SELECT COUNT(*) FROM sqlite_schema"});
  query.next();
  return query.get<int>();
}

void run_statements(SqliteConnection& connection, std::string_view sql,
                    const std::function<void()>& before_statement) {
  const char* const end = sql.data() + sql.size();
  const char* at = sql.data();
  while (at < end) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    const int prepared =
        sqlite3_prepare_v2(connection.handle(), at, static_cast<int>(end - at), &statement, &rest);
    const std::string_view text(at, static_cast<std::size_t>(rest - at));
    if (prepared != SQLITE_OK) throw SqliteError(connection.handle(), prepared, text);
    at = rest;
    if (statement == nullptr) continue;  // only a comment
    if (before_statement) before_statement();
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) {
      SqliteError error(connection.handle(), code, text);
      sqlite3_finalize(statement);
      throw error;
    }
    sqlite3_finalize(statement);
  }
}

void apply(SqliteConnection& connection, const Migration& migration,
           const std::function<void()>& before_statement) {
  const auto bookkeeping = fmt::format(
      "CREATE TABLE IF NOT EXISTS schema_migrations "
      "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL);"
      "INSERT INTO schema_migrations (number, name, checksum) VALUES ({0}, '{1}', '{2}');"
      "PRAGMA application_id = {3};"
      "PRAGMA user_version = {0};",
      migration.number, migration.name, checksum(migration.sql), kApplicationId);
  connection.execute("BEGIN IMMEDIATE");
  try {
    run_statements(connection, migration.sql, before_statement);
    run_statements(connection, bookkeeping, before_statement);
    if (before_statement) before_statement();
    connection.execute("COMMIT");
  } catch (const SqliteError&) {
    if (connection.in_transaction()) connection.execute("ROLLBACK");
    throw;
  }
}

Result<void> check_applied(SqliteConnection& connection, std::span<const Migration> migrations) {
  Query query(connection, "SELECT number, name, checksum FROM schema_migrations ORDER BY number");
  while (query.next()) {
    int number = 0;
    std::string name, sum;
    query.read(number, name, sum);
    if (number < 1 || number > static_cast<int>(migrations.size()) ||
        checksum(migrations[static_cast<std::size_t>(number - 1)].sql) != sum)
      return failed_precondition(
          "the database was created by another build of det: its migration {} ('{}') differs from this "
          "program's; use the program that created it, or choose another data directory",
          number, name);
  }
  return {};
}

}  // namespace

std::string checksum_of(const Migration& migration) {
  return checksum(migration.sql);
}

Result<void> migrate(SqliteConnection& connection, std::span<const Migration> migrations,
                     const std::function<void()>& before_statement) {
  const int application = pragma(connection, "application_id");
  const int version = pragma(connection, "user_version");
  const int newest = static_cast<int>(migrations.size());
  if (application != kApplicationId && (application != 0 || table_count(connection) != 0))
    return failed_precondition("the file is the database of another program; choose another data directory");
  if (version > newest)
    return failed_precondition(
        "the database has schema version {}, but this program supports versions up to {}: a newer release of "
        "det has used it; install that release or a later one",
        version, newest);
  if (version > 0) {
    if (auto checked = check_applied(connection, migrations); !checked) return checked;
  } else {
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL");  // possible only before there are tables
  }
  for (const auto& migration : migrations.subspan(static_cast<std::size_t>(version)))
    apply(connection, migration, before_statement);
  return {};
}

}  // namespace det::store
