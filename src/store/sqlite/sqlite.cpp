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

std::string describe(sqlite3* database, int code, std::string_view doing, int cause) {
  const char* what = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  auto text = fmt::format("SQLite error '{}' (code {}) in: {}", what, code, doing);
  if (cause != 0) text += fmt::format(" ({})", std::strerror(cause));
  return text;
}

}  // namespace

SqliteError::SqliteError(sqlite3* database, int code, std::string_view doing)
    : SqliteError(database, code, doing, system_errno(database, code)) {}

SqliteError::SqliteError(sqlite3* database, int code, std::string_view doing, int system_errno)
    : std::runtime_error(describe(database, code, doing, system_errno)),
      code_(database != nullptr ? sqlite3_extended_errcode(database) : code),
      system_errno_(system_errno) {}

bool SqliteError::disk_full() const {
  if ((code_ & 0xff) == SQLITE_FULL) return true;
  if ((code_ & 0xff) != SQLITE_IOERR || code_ == SQLITE_IOERR_FSYNC || code_ == SQLITE_IOERR_DIR_FSYNC)
    return false;
  return system_errno_ == ENOSPC || system_errno_ == EDQUOT || system_errno_ == EFBIG;
}

Connection::Connection(const std::filesystem::path& path, Mode mode) {
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

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SqliteError(database_.get(), code, sql);
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return found->second.get();
  return statements_.emplace(sql, prepare_once(sql)).first->second.get();
}

sqlite3_stmt* Connection::prepare_once(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw SqliteError(database_.get(), code, sql);
  return statement;
}

Query::~Query() {
  if (owned_) {
    sqlite3_finalize(statement_);
  } else {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
}

bool Query::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw SqliteError(database_, code, sqlite3_sql(statement_));
}

void Query::bind_double(double number) {
  if (std::isnan(number)) return bind_text("NaN");  // SQLite would store NULL
  check(sqlite3_bind_double(statement_, ++parameter_, number));
}

void Query::bind_text(std::string_view text) {
  // Never null for an empty text: that would be NULL.
  const char* bytes = text.data() != nullptr ? text.data() : "";
  check(sqlite3_bind_text64(statement_, ++parameter_, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Query::bind_bytes(std::string_view bytes, sqlite3_destructor_type lifetime) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  check(sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), lifetime));
}

double Query::read_double() {
  const int column = column_++;
  if (sqlite3_column_type(statement_, column) == SQLITE_TEXT) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

std::string_view Query::read_bytes() {
  const int column = column_++;
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace det::store
