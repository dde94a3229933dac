#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "det/store/document.h"

/// SQLite's C interface as values: what the rest of the module speaks.
namespace det::store {

/// The database did not do what it was asked.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(sqlite3* database, int code, std::string_view doing);
  int code() const { return code_; }  ///< extended result code
  /// No space, no quota, or a limit of the file's size: waiting helps. Never true of
  /// a failed sync, after which nobody knows what is on the disk.
  bool disk_full() const;

 private:
  SqliteError(sqlite3* database, int code, std::string_view doing, int system_errno);
  int code_;
  int system_errno_;
};

/// A BLOB parameter; the bytes must live until the statement was stepped.
struct Bytes {
  std::string_view view;
};
/// A JSON parameter or column, stored as an encoded document.
template <class T>
struct Document {
  T& value;
};
template <class T>
Document(T&) -> Document<T>;

class Connection {
 public:
  enum class Mode { Write, Read };
  /// Throws SqliteError.
  Connection(const std::filesystem::path& path, Mode mode);

  /// Runs statements without parameters or results.
  void execute(const char* sql);
  /// A prepared statement, kept for the next call with the same text.
  sqlite3_stmt* prepare(std::string_view sql);
  /// A prepared statement that the caller finalizes.
  sqlite3_stmt* prepare_once(std::string_view sql);
  int changes() const { return sqlite3_changes(database_.get()); }
  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }
  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, TextHash, std::equal_to<>>
      statements_;
};

/// Text put together for one use: too many variants to keep them all.
struct OneTimeSql {
  std::string text;
};

/// One use of a prepared statement: parameters bound in order, rows read in
/// order. Its destructor resets the statement for the next use.
class Query {
 public:
  Query(Connection& connection, std::string_view sql)
      : database_(connection.handle()), statement_(connection.prepare(sql)) {}
  Query(Connection& connection, const OneTimeSql& sql)
      : database_(connection.handle()), statement_(connection.prepare_once(sql.text)), owned_(true) {}
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  template <class... T>
  Query& bind(const T&... values) {
    (bind_one(values), ...);
    return *this;
  }
  /// Whether there is another row.
  bool next();
  /// For statements without rows.
  void run() {
    while (next()) {
    }
  }
  /// The columns of the row, from the first on, in order.
  template <class... T>
  void read(T&&... fields) {
    column_ = 0;
    (read_one(fields), ...);
  }
  template <class T>
  T get() {
    T field{};
    read(field);
    return field;
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw SqliteError(database_, code, sqlite3_sql(statement_));
  }

  void bind_integer(std::int64_t number) { check(sqlite3_bind_int64(statement_, ++parameter_, number)); }
  void bind_double(double number);
  void bind_text(std::string_view text);
  void bind_bytes(std::string_view bytes, sqlite3_destructor_type lifetime);

  template <class T>
  void bind_one(const T& value) {
    if constexpr (std::is_integral_v<T>)
      bind_integer(static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
      bind_double(value);
    else if constexpr (json::is_id<T>::value)
      bind_integer(value.value());
    else if constexpr (std::is_same_v<T, Time>)
      bind_integer(value.microseconds);
    else if constexpr (std::is_same_v<T, Bytes>)
      bind_bytes(value.view, SQLITE_STATIC);
    else if constexpr (json::DescribedEnum<T>)
      bind_text(boost::describe::enum_to_string(value, "?"));
    else if constexpr (std::is_convertible_v<T, std::string_view>)
      bind_text(value);
    else
      bind_nested(value);
  }
  template <class T>
  void bind_nested(const std::optional<T>& value) {
    if (value)
      bind_one(*value);
    else
      check(sqlite3_bind_null(statement_, ++parameter_));
  }
  template <class T>
  void bind_nested(const Document<T>& document) {
    bind_bytes(encode_document(json::to_json(document.value)), SQLITE_TRANSIENT);
  }

  bool is_null() const { return sqlite3_column_type(statement_, column_) == SQLITE_NULL; }
  double read_double();
  std::string_view read_bytes();

  template <class T>
  void read_one(T& field) {
    if constexpr (std::is_same_v<T, bool>)
      field = sqlite3_column_int64(statement_, column_++) != 0;
    else if constexpr (std::is_integral_v<T>)
      field = static_cast<T>(sqlite3_column_int64(statement_, column_++));
    else if constexpr (std::is_floating_point_v<T>)
      field = read_double();
    else if constexpr (json::is_id<T>::value)
      field = T(sqlite3_column_int64(statement_, column_++));
    else if constexpr (std::is_same_v<T, Time>)
      field = Time{sqlite3_column_int64(statement_, column_++)};
    else if constexpr (std::is_same_v<T, std::string>)
      field.assign(read_bytes());
    else if constexpr (json::DescribedEnum<T>)
      read_enum(field);
    else
      read_nested(field);
  }
  template <class T>
  void read_enum(T& field) {
    const std::string name(read_bytes());
    if (!boost::describe::enum_from_string(name.c_str(), field))
      throw DamagedDocument(fmt::format("the database has the unknown state '{}'", name));
  }
  template <class T>
  void read_nested(std::optional<T>& field) {
    field.reset();
    if (is_null())
      ++column_;
    else
      read_one(field.emplace());
  }
  template <class T>
  void read_nested(const Document<T>& document) {
    if (is_null()) {  // of a row that is older than its column
      ++column_;
      document.value = {};
      return;
    }
    auto value = decode_document(read_bytes());
    if constexpr (std::is_same_v<T, json::value>)
      document.value = std::move(value);
    else if (auto error = json::read(value, document.value, "document"))
      throw DamagedDocument(error->message());
  }

  sqlite3* database_;
  sqlite3_stmt* statement_;
  bool owned_ = false;
  int parameter_ = 0;
  int column_ = 0;
};

/// All rows of a query, each read by `read_row(query)`.
template <class Row, class ReadRow>
std::vector<Row> collect(Query& query, ReadRow read_row) {
  std::vector<Row> rows;
  while (query.next()) rows.push_back(read_row(query));
  return rows;
}
template <class Row, class ReadRow>
std::optional<Row> first(Query& query, ReadRow read_row) {
  if (!query.next()) return std::nullopt;
  return read_row(query);
}

}  // namespace det::store
