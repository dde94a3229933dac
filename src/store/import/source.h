#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/store/import/source_row.h"
#include "det/store/postgres/postgres.h"

namespace det::store {

/// The database of an original cluster, as it was when it was opened: all reads see one moment, and change
/// nothing. Releases differ in tables and columns, so what there is is looked up first.
class SourceDatabase {
 public:
  /// FailedPrecondition: the database of another program, of this one, or of a release that is too old.
  static Result<std::unique_ptr<SourceDatabase>> open(const std::string& target);

  bool has(std::string_view table) const { return tables_.contains(table); }
  bool has(std::string_view table, std::string_view column) const;
  /// Which of these tables there is; "": none.
  std::string_view first_of(std::initializer_list<std::string_view> tables) const;

  /// A column as an expression of a SELECT: text, or bytes where it holds bytes; NULL where there is none.
  /// "r.state" with the alias of its table.
  std::string column(std::string_view table, std::string_view alias, std::string_view column) const;
  /// All of these, each under its own name: for `each_row`.
  std::string columns(std::string_view table, std::string_view alias,
                      std::initializer_list<std::string_view> names) const;

  /// The rows of a SELECT whose columns are text, however many they are. What is no UTF-8 is replaced.
  void each_row(const std::string& select, const std::function<void(SourceRow)>& use);
  /// The rows of any SELECT as they come. Not one within another.
  void each(const std::string& select, const std::function<void(const Statement&)>& use);
  std::int64_t number(const std::string& select);
  std::string text(const std::string& select);

  /// Reads. What is wrong where its tables are not as they were expected; empty: nothing.
  std::string attempt(const std::function<void()>& read);
  /// An expression: a hash of bytes, in hexadecimal.
  std::string hash_of(std::string_view bytes) const;

  /// "postgres://host/name", without a password.
  std::string shown() const { return shown_target(connection_->handle()); }
  /// Of the cluster; empty: it has none.
  const std::string& cluster_id() const { return cluster_id_; }
  /// The number of its last migration.
  std::int64_t schema_version() const { return schema_version_; }

 private:
  explicit SourceDatabase(std::unique_ptr<PostgresConnection> connection)
      : connection_(std::move(connection)) {}
  void look_up_tables();
  Result<void> check();
  Result<void> check_rights();

  std::unique_ptr<PostgresConnection> connection_;
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>
      tables_;  // -> column -> type
  std::string cluster_id_;
  std::int64_t schema_version_ = 0;
  int cursors_ = 0;
};

/// A timestamp of a row that came as it is.
std::optional<Time> read_timestamp(const Statement& row, int column);

}  // namespace det::store
