#include "det/store/move_tables.h"

#include <bit>
#include <functional>
#include <map>

#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

constexpr int kRowsAtOnce = 2'000;
constexpr std::int64_t kRowsBetweenPauses = 20'000;

using Kind = Table::Kind;

Kind kind_of(const std::string& column, const std::string& type) {
  if (holds_document(column) || type == "BLOB") return Kind::Bytes;
  if (type == "TEXT") return Kind::Text;
  return type == "REAL" ? Kind::Double : Kind::Integer;
}

/// FNV-1a over the values of a row.
class RowSum {
 public:
  void add(std::string_view bytes) {
    add_number(bytes.size());
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  void add_number(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(number >> shift));
  }
  void add_null() { add_byte(0xff); }
  std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::uint64_t bits_of(double number) {
  return number != number ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(number);  // one NaN for all
}

std::uint64_t sum_row(const Statement& row, const Table& table) {
  RowSum sum;
  for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
    if (row.is_null(i)) {
      sum.add_null();
      continue;
    }
    switch (table.columns[static_cast<std::size_t>(i)].kind) {
      case Kind::Integer: sum.add_number(static_cast<std::uint64_t>(row.integer(i))); break;
      case Kind::Double: sum.add_number(bits_of(row.number(i))); break;
      case Kind::Bytes: sum.add(row.bytes(i)); break;
      case Kind::Text: sum.add(storable_text(row.bytes(i))); break;
    }
  }
  return sum.value();
}

void bind_row(Statement& to, int first, const Statement& row, const Table& table) {
  for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
    const int parameter = first + i;
    if (row.is_null(i)) {
      to.bind_null(parameter);
      continue;
    }
    switch (table.columns[static_cast<std::size_t>(i)].kind) {
      case Kind::Integer: to.bind_integer(parameter, row.integer(i)); break;
      case Kind::Double: to.bind_double(parameter, row.number(i)); break;
      case Kind::Bytes: to.bind_bytes(parameter, row.bytes(i), false); break;
      case Kind::Text: to.bind_text(parameter, row.bytes(i)); break;
    }
  }
}

std::string names(const Table& table) {
  std::string text;
  for (const auto& column : table.columns) text += (text.empty() ? "" : ", ") + column.name;
  return text;
}

/// By a cursor where the database sends whole answers only.
void each_row(Connection& connection, const Table& table, const std::function<void(const Statement&)>& use) {
  const auto select =
      fmt::format("SELECT {} FROM {} ORDER BY {}", names(table), table.name,
                  table.key.empty() ? names(table) : fmt::format("{}", fmt::join(table.key, ", ")));
  if (dynamic_cast<SqliteConnection*>(&connection) != nullptr) {
    const auto rows = connection.prepare_once(select);
    while (rows->next()) use(*rows);
    return;
  }
  connection.execute(fmt::format("DECLARE moved NO SCROLL CURSOR FOR {}", select).c_str());
  try {
    for (bool more = true; more;) {
      more = false;
      const auto rows = connection.prepare_once(fmt::format("FETCH {} FROM moved", kRowsAtOnce));
      for (; rows->next(); more = true) use(*rows);
    }
  } catch (const SqlError&) {  // of the other database, perhaps: this one can be read again
    try {
      connection.execute("CLOSE moved");
    } catch (const SqlError&) {
    }
    throw;
  }
  connection.execute("CLOSE moved");
}

std::string insert_text(const Table& table) {
  std::string marks;
  for (std::size_t i = 0; i < table.columns.size(); ++i) marks += i == 0 ? "?" : ", ?";
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, names(table), marks);
}

}  // namespace

std::vector<Table> read_tables(SqliteConnection& connection) {
  std::vector<Table> tables;
  {
    Query query(connection, R"sql(
SELECT name
FROM sqlite_schema
WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations'
ORDER BY name
)sql");
    while (query.next())
      tables.push_back({.name = query.get<std::string>(), .columns = {}, .numbered = "", .key = {}});
  }
  for (auto& table : tables) {
    Query query(connection,
                OneTimeSql{fmt::format("SELECT name, type, pk FROM pragma_table_info('{}') ORDER BY cid",
                                       table.name)});
    std::map<int, std::string> keys;
    while (query.next()) {
      std::string name, type;
      int key = 0;
      query.read(name, type, key);
      table.columns.push_back({name, kind_of(name, type)});
      if (key > 0) keys[key] = name;
      if (key > 0) table.numbered = type == "INTEGER" ? name : "";
    }
    if (keys.size() != 1) table.numbered.clear();
    for (const auto& [_, column] : keys) table.key.push_back(column);
  }
  return tables;
}

std::int64_t count_rows_of(Connection& connection, const Table& table) {
  Query query(connection, OneTimeSql{fmt::format("SELECT COUNT(*) FROM {}", table.name)});
  query.next();
  return query.get<std::int64_t>();
}

MovedTable copy_table(Connection& from, Connection& to, const Table& table, std::int64_t present,
                      const std::function<void()>& pause) {
  MovedTable moved{.name = table.name};
  auto& insert = to.prepare(insert_text(table));
  insert.reset();  // a copy before may have failed in it
  each_row(from, table, [&](const Statement& row) {
    ++moved.rows;
    moved.checksum += sum_row(row, table);
    if (moved.rows <= present) return;
    bind_row(insert, 1, row, table);
    insert.run();
    insert.reset();
    if (pause && moved.rows % kRowsBetweenPauses == 0) pause();
  });
  return moved;
}

MovedTable sum_table(Connection& connection, const Table& table) {
  MovedTable sum{.name = table.name};
  each_row(connection, table, [&](const Statement& row) {
    ++sum.rows;
    sum.checksum += sum_row(row, table);
  });
  return sum;
}

void continue_numbers(Connection& connection, const Table& table) {
  if (table.numbered.empty()) return;
  Query(connection, OneTimeSql{fmt::format("SELECT setval(pg_get_serial_sequence('{0}', '{1}'), "
                                           "COALESCE(MAX({1}), 0) + 1, false) FROM {0}",
                                           table.name, table.numbered)})
      .next();
}

}  // namespace det::store
