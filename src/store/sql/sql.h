#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "det/store/document.h"
#include "det/store/sql/dialect.h"

/// Databases as values: what the rest of the module speaks. Statements are written once, in the SQL that
/// SQLite and PostgreSQL share; where they differ, a Dialect has the words.
namespace det::store {

/// The database did not do what it was asked.
class SqlError : public std::runtime_error {
 public:
  enum class Kind {
    Other,
    DiskFull,        ///< no space, no quota, or a limit of the file's size: waiting helps
    ConnectionLost,  ///< what was being committed may be stored or not
    NotLeader        ///< another master has taken over; nothing was stored
  };
  SqlError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }
  bool disk_full() const { return kind_ == Kind::DiskFull; }
  /// Whether the same transaction may succeed later.
  bool passes() const { return kind_ == Kind::DiskFull || kind_ == Kind::ConnectionLost; }

 private:
  Kind kind_;
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

/// A prepared statement. Parameters count from 1, columns from 0.
class Statement {
 public:
  virtual ~Statement() = default;

  virtual void bind_integer(int parameter, std::int64_t number) = 0;
  virtual void bind_double(int parameter, double number) = 0;
  virtual void bind_text(int parameter, std::string_view text) = 0;
  /// `lasting`: the bytes live until the statement was stepped.
  virtual void bind_bytes(int parameter, std::string_view bytes, bool lasting) = 0;
  virtual void bind_null(int parameter) = 0;

  /// Whether there is another row.
  virtual bool next() = 0;
  /// For statements without rows. An error may show later: at the next question, at the latest at the commit.
  virtual void run() = 0;
  /// Ready for the next use.
  virtual void reset() = 0;
  /// Asks without waiting, where the database takes several questions at a time; each `answer` then leads to
  /// the rows of the next one. False: only `next` asks.
  virtual bool send() { return false; }
  virtual void answer() {}

  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double number(int column) const = 0;
  /// Valid until the next row.
  virtual std::string_view bytes(int column) const = 0;
};

/// How many rows a statement changed, to be asked later: see Connection::changes_of.
struct ChangeCount {
  std::int64_t value = 0;  ///< the number itself, or where it will be found
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual const Dialect& dialect() const = 0;
  /// Runs statements without parameters or results.
  virtual void execute(const char* sql) = 0;
  /// A prepared statement, kept for the next call with the same text.
  virtual Statement& prepare(std::string_view sql) = 0;
  /// One that is not kept.
  virtual std::unique_ptr<Statement> prepare_once(std::string_view sql) = 0;
  /// How many rows the last statement changed.
  virtual std::int64_t changes() = 0;
  /// The same for later: a database beyond a network is then asked once for many statements. Valid until
  /// the end of the transaction.
  virtual ChangeCount count_changes() = 0;
  virtual std::int64_t changes_of(ChangeCount count) = 0;
};

/// Text put together for one use: too many variants to keep them all.
struct OneTimeSql {
  std::string text;
};

/// One use of a prepared statement: parameters bound in order, rows read in
/// order. Its destructor resets the statement for the next use.
class Query {
 public:
  Query(Connection& connection, std::string_view sql) : statement_(&connection.prepare(sql)) {}
  Query(Connection& connection, const OneTimeSql& sql)
      : owned_(connection.prepare_once(sql.text)), statement_(owned_.get()) {}
  ~Query() {
    if (!owned_) statement_->reset();
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  template <class... T>
  Query& bind(const T&... values) {
    (bind_one(values), ...);
    return *this;
  }
  /// Ready to be bound anew.
  void reset() {
    statement_->reset();
    parameter_ = 0;
  }
  bool send() {
    parameter_ = 0;
    return statement_->send();
  }
  void answer() { statement_->answer(); }
  /// Whether there is another row.
  bool next() { return statement_->next(); }
  /// For statements without rows.
  void run() { statement_->run(); }
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
  template <class T>
  void bind_one(const T& value) {
    if constexpr (std::is_integral_v<T>)
      statement_->bind_integer(++parameter_, static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
      statement_->bind_double(++parameter_, value);
    else if constexpr (json::is_id<T>::value)
      statement_->bind_integer(++parameter_, value.value());
    else if constexpr (std::is_same_v<T, Time>)
      statement_->bind_integer(++parameter_, value.microseconds);
    else if constexpr (std::is_same_v<T, Bytes>)
      statement_->bind_bytes(++parameter_, value.view, true);
    else if constexpr (json::DescribedEnum<T>)
      statement_->bind_text(++parameter_, boost::describe::enum_to_string(value, "?"));
    else if constexpr (std::is_convertible_v<T, std::string_view>)
      statement_->bind_text(++parameter_, value);
    else
      bind_nested(value);
  }
  template <class T>
  void bind_nested(const std::optional<T>& value) {
    if (value)
      bind_one(*value);
    else
      statement_->bind_null(++parameter_);
  }
  template <class T>
  void bind_nested(const Document<T>& document) {
    statement_->bind_bytes(++parameter_, encode_document(json::to_json(document.value)), false);
  }

  template <class T>
  void read_one(T& field) {
    if constexpr (std::is_same_v<T, bool>)
      field = statement_->integer(column_++) != 0;
    else if constexpr (std::is_integral_v<T>)
      field = static_cast<T>(statement_->integer(column_++));
    else if constexpr (std::is_floating_point_v<T>)
      field = statement_->number(column_++);
    else if constexpr (json::is_id<T>::value)
      field = T(statement_->integer(column_++));
    else if constexpr (std::is_same_v<T, Time>)
      field = Time{statement_->integer(column_++)};
    else if constexpr (std::is_same_v<T, std::string>)
      field.assign(statement_->bytes(column_++));
    else if constexpr (json::DescribedEnum<T>)
      read_enum(field);
    else
      read_nested(field);
  }
  template <class T>
  void read_enum(T& field) {
    const std::string name(statement_->bytes(column_++));
    if (!boost::describe::enum_from_string(name.c_str(), field))
      throw DamagedDocument(fmt::format("the database has the unknown state '{}'", name));
  }
  template <class T>
  void read_nested(std::optional<T>& field) {
    field.reset();
    if (statement_->is_null(column_))
      ++column_;
    else
      read_one(field.emplace());
  }
  template <class T>
  void read_nested(const Document<T>& document) {
    if (statement_->is_null(column_)) {  // of a row that is older than its column
      ++column_;
      document.value = {};
      return;
    }
    auto value = decode_document(statement_->bytes(column_++));
    if constexpr (std::is_same_v<T, json::value>)
      document.value = std::move(value);
    else if (auto error = json::read(value, document.value, "document"))
      throw DamagedDocument(error->message());
  }

  std::unique_ptr<Statement> owned_;
  Statement* statement_;
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

/// Asks the same of each item: `bind(query, item)`, then `read(query, item)` for each row of the answer, in
/// order. A database beyond a network is asked once for many of them. `read` must not ask with the same text.
template <class Items, class Bind, class Read>
void ask_of_each(Connection& connection, std::string_view sql, Items& items, Bind bind, Read read) {
  Query query(connection, sql);
  std::vector<decltype(&*std::begin(items))> asked;
  const auto take = [&](auto& item) {
    while (query.next()) read(query, item);
  };
  const auto take_answers = [&] {
    for (auto* item : asked) {
      query.answer();
      take(*item);
    }
    asked.clear();
  };
  for (auto& item : items) {
    bind(query, item);
    if (query.send()) {
      asked.push_back(&item);
      if (asked.size() == 256) take_answers();
      continue;
    }
    take(item);
    query.reset();
  }
  take_answers();
}

/// As a limit: all rows.
constexpr std::int64_t kAllRows = std::int64_t{1} << 62;
inline std::int64_t limit_or_all(std::int64_t limit) {
  return limit > 0 ? limit : kAllRows;
}

}  // namespace det::store
