#pragma once

#include <functional>
#include <string>
#include <vector>

#include "det/store/move.h"
#include "det/store/sqlite/sqlite.h"

/// Tables as rows of values, whatever they mean: what move_store copies.
namespace det::store {

struct Table {
  enum class Kind { Integer, Text, Bytes, Double };
  struct Column {
    std::string name;
    Kind kind = Kind::Integer;
  };
  std::string name;
  std::vector<Column> columns;
  std::string numbered;          ///< the column whose values the database gives; empty: none
  std::vector<std::string> key;  ///< columns that order the rows, equally in both databases
};

/// All but the list of migrations, as the schema in SQLite says.
std::vector<Table> read_tables(SqliteConnection& connection);
std::int64_t count_rows_of(Connection& connection, const Table& table);
/// Inside a transaction on both sides. What is summed is what `from` holds. Its first `present` rows are in
/// `to` already. After some thousand rows each `pause` is called, which may commit.
MovedTable copy_table(Connection& from, Connection& to, const Table& table, std::int64_t present = 0,
                      const std::function<void()>& pause = {});
/// Inside a transaction.
MovedTable sum_table(Connection& connection, const Table& table);
/// In PostgreSQL: rows to come get numbers after those that are there.
void continue_numbers(Connection& connection, const Table& table);

}  // namespace det::store
