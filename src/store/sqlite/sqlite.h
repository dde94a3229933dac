#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "det/store/sql/sql.h"

/// SQLite's C interface as values: a Connection and its statements.
namespace det::store {

/// SQLite did not do what it was asked. A failed sync is never `disk_full`: after one, nobody knows what is
/// on the disk.
class SqliteError : public SqlError {
 public:
  SqliteError(sqlite3* database, int code, std::string_view doing);
  int code() const { return code_; }  ///< extended result code

 private:
  SqliteError(sqlite3* database, int code, std::string_view doing, int system_errno);
  int code_;
};

class SqliteStatement final : public Statement {
 public:
  SqliteStatement(sqlite3* database, std::string_view sql);
  ~SqliteStatement() override { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void bind_integer(int parameter, std::int64_t number) override {
    check(sqlite3_bind_int64(statement_, parameter, number));
  }
  void bind_double(int parameter, double number) override;
  void bind_text(int parameter, std::string_view text) override;
  void bind_bytes(int parameter, std::string_view bytes, bool lasting) override;
  void bind_null(int parameter) override { check(sqlite3_bind_null(statement_, parameter)); }
  bool next() override;
  void run() override {
    while (next()) {
    }
  }
  void reset() override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double number(int column) const override;
  std::string_view bytes(int column) const override;

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw SqliteError(database_, code, sqlite3_sql(statement_));
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteConnection final : public Connection {
 public:
  enum class Mode { Write, Read };
  /// Throws SqliteError.
  SqliteConnection(const std::filesystem::path& path, Mode mode);

  const Dialect& dialect() const override;
  void execute(const char* sql) override;
  Statement& prepare(std::string_view sql) override;
  std::unique_ptr<Statement> prepare_once(std::string_view sql) override;
  std::int64_t changes() override { return sqlite3_changes(database_.get()); }
  ChangeCount count_changes() override { return {changes()}; }
  std::int64_t changes_of(ChangeCount count) override { return count.value; }

  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }
  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::unordered_map<std::string, std::unique_ptr<SqliteStatement>, TextHash, std::equal_to<>> statements_;
};

}  // namespace det::store
