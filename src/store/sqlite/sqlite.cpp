#include "det/store/sqlite/sqlite.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace det::store {

namespace {

constexpr int kBusyMilliseconds = 10'000;

// SQLite keeps the errno of some failures only; of the others it is still in errno.
int system_errno(sqlite3* database, int code) {
  const int kept = database != nullptr ? sqlite3_system_errno(database) : 0;
  return kept != 0 || (code & 0xff) != SQLITE_IOERR ? kept : errno;
}

int extended(sqlite3* database, int code) {
  return database != nullptr ? sqlite3_extended_errcode(database) : code;
}

std::string describe(sqlite3* database, int code, std::string_view doing, int cause) {
  const char* what = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  auto text = fmt::format("SQLite error '{}' (code {}) in: {}", what, code, doing);
  if (cause != 0) text += fmt::format(" ({})", std::strerror(cause));
  return text;
}

SqlError::Kind kind_of(int code, int cause) {
  if ((code & 0xff) == SQLITE_FULL) return SqlError::Kind::DiskFull;
  if ((code & 0xff) != SQLITE_IOERR || code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
    return SqlError::Kind::Other;
  const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
  return full ? SqlError::Kind::DiskFull : SqlError::Kind::Other;
}

}  // namespace

SqliteError::SqliteError(sqlite3* database, int code, std::string_view doing)
    : SqliteError(database, code, doing, system_errno(database, code)) {}

SqliteError::SqliteError(sqlite3* database, int code, std::string_view doing, int system_errno)
    : SqlError(kind_of(extended(database, code), system_errno),
               describe(database, code, doing, system_errno)),
      code_(extended(database, code)) {}

SqliteConnection::SqliteConnection(const std::filesystem::path& path, Mode mode) {
  sqlite3* database = nullptr;
  const int flags = mode == Mode::Write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw SqliteError(database, code, fmt::format("open {}", path.string()));
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (mode == Mode::Read) {
    // Only the writer may checkpoint (docs/decisions/0003-sqlite-one-writer.md).
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    execute("PRAGMA query_only = ON");
  }
}

const Dialect& SqliteConnection::dialect() const {
  static constexpr Dialect kDialect{
      .integers = "(SELECT value FROM json_each(?))",
      .texts = "(SELECT value FROM json_each(?))",
      .position = "instr",
      .line_contains = "instr(line, ?) > 0",
      .best_metric_is_nan = "typeof(best_metric) = 'text'",
      .stale_blocks =
          "SELECT trial_id, metric_group, up_to_batches FROM metric_blocks INDEXED BY "
          "stale_metric_blocks WHERE sums IS NULL LIMIT ?",
  };
  return kDialect;
}

void SqliteConnection::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SqliteError(database_.get(), code, sql);
}

Statement& SqliteConnection::prepare(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return *found->second;
  return *statements_.emplace(sql, std::make_unique<SqliteStatement>(database_.get(), sql)).first->second;
}

std::unique_ptr<Statement> SqliteConnection::prepare_once(std::string_view sql) {
  return std::make_unique<SqliteStatement>(database_.get(), sql);
}

SqliteStatement::SqliteStatement(sqlite3* database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) throw SqliteError(database, code, sql);
}

bool SqliteStatement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw SqliteError(database_, code, sqlite3_sql(statement_));
}

void SqliteStatement::bind_double(int parameter, double number) {
  if (std::isnan(number)) return bind_text(parameter, "NaN");  // SQLite would store NULL
  check(sqlite3_bind_double(statement_, parameter, number));
}

void SqliteStatement::bind_text(int parameter, std::string_view text) {
  // Never null for an empty text: that would be NULL.
  const char* bytes = text.data() != nullptr ? text.data() : "";
  check(sqlite3_bind_text64(statement_, parameter, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void SqliteStatement::bind_bytes(int parameter, std::string_view bytes, bool lasting) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  check(sqlite3_bind_blob64(statement_, parameter, data, bytes.size(),
                            lasting ? SQLITE_STATIC : SQLITE_TRANSIENT));
}

double SqliteStatement::number(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_TEXT) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

std::string_view SqliteStatement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace det::store
