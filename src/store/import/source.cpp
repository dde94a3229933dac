#include "det/store/import/source.h"

#include "det/store/postgres/postgres_store.h"
#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

constexpr int kRowsAtOnce = 4'000;
/// Without these a database is not one of the original, or of a release from before 0.19.
constexpr std::array kAlways{"experiments", "users"};
constexpr std::array kSince19{"workspaces", "projects", "checkpoints_v2", "tasks", "raw_validations"};

}  // namespace

Result<std::unique_ptr<SourceDatabase>> SourceDatabase::open(const std::string& target) {
  std::unique_ptr<PostgresConnection> connection;
  try {
    connection = std::make_unique<PostgresConnection>(target, PostgresConnection::Mode::Source);
  } catch (const SqlError& error) {
    return tl::unexpected(cannot_connect(error.what()));
  }
  std::unique_ptr<SourceDatabase> source(new SourceDatabase(std::move(connection)));
  try {
    // Bytes of a database without an encoding come as they are.
    source->connection_->execute(
        "SELECT set_config('client_encoding', 'SQL_ASCII', false) WHERE current_setting('server_encoding') = "
        "'SQL_ASCII'");
    source->connection_->execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    source->look_up_tables();
    if (auto fine = source->check(); !fine) return tl::unexpected(std::move(fine).error());
    if (auto fine = source->check_rights(); !fine) return tl::unexpected(std::move(fine).error());
    if (source->has("cluster_id", "cluster_id"))
      source->cluster_id_ = source->text("SELECT CAST(cluster_id AS text) FROM cluster_id LIMIT 1");
    if (source->has("gopg_migrations", "version"))
      source->schema_version_ =
          source->number("SELECT CAST(COALESCE(MAX(version), 0) AS bigint) FROM gopg_migrations");
    return source;
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable, "cannot read {}: {}", source->shown(), error.what());
  }
}

// As pg_catalog says, which also shows what this user may not read.
void SourceDatabase::look_up_tables() {
  Query query(*connection_, OneTimeSql{R"sql(
SELECT CAST(c.relname AS text), CAST(a.attname AS text), format_type(a.atttypid, NULL)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = CAST('public' AS regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
)sql"});
  while (query.next()) {
    std::string table, column, type;
    query.read(table, column, type);
    tables_[table][column] = type;
  }
}

Result<void> SourceDatabase::check() {
  if (has("experiment_documents") || has("leadership"))
    return failed_precondition(
        "{} is the database of a master of this program; copy it with 'det migrate' or 'det backup'",
        shown());
  for (const auto* table : kAlways)
    if (!has(table))
      return failed_precondition(
          "{} is not the database of a Determined cluster: it has no table '{}'; name the database of its "
          "master (db.name in master.yaml)",
          shown(), table);
  if (!has("experiments", "config") || first_of({"runs", "trials"}).empty())
    return failed_precondition(
        "{} is not the database of a Determined cluster: its experiments are of another program; name the "
        "database of its master (db.name in master.yaml)",
        shown());
  for (const auto* table : kSince19)
    if (!has(table))
      return failed_precondition(
          "{} is of a release that is too old: it has no table '{}'; start a master 0.38.1 of the original "
          "on "
          "it once, which upgrades it, and import it then",
          shown(), table);
  return {};
}

Result<void> SourceDatabase::check_rights() {
  Query query(*connection_, OneTimeSql{R"sql(
SELECT COALESCE(string_agg(CAST(relname AS text), ', ' ORDER BY relname), '')
FROM pg_class
WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'p')
  AND NOT has_table_privilege(oid, 'SELECT')
)sql"});
  query.next();
  const auto refused = query.get<std::string>();
  if (refused.empty()) return {};
  return fail(ErrorCode::PermissionDenied,
              "{}: user {} is not allowed to read {}; allow it with: GRANT SELECT ON ALL TABLES IN SCHEMA "
              "public TO {}",
              shown(), PQuser(connection_->handle()), refused, PQuser(connection_->handle()));
}

bool SourceDatabase::has(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.contains(column);
}

std::string_view SourceDatabase::first_of(std::initializer_list<std::string_view> tables) const {
  for (const auto table : tables)
    if (has(table)) return table;
  return "";
}

std::string SourceDatabase::column(std::string_view table, std::string_view alias,
                                   std::string_view column) const {
  if (!has(table, column)) return "CAST(NULL AS text)";
  const auto& type = tables_.find(table)->second.find(column)->second;
  const auto name = fmt::format("{}.\"{}\"", alias, column);
  if (type == "bytea") return name;
  if (type.ends_with("[]")) return fmt::format("CAST(to_json({}) AS text)", name);
  return fmt::format("CAST({} AS text)", name);
}

std::string SourceDatabase::columns(std::string_view table, std::string_view alias,
                                    std::initializer_list<std::string_view> names) const {
  std::string list;
  for (const auto name : names)
    list += fmt::format("{}{} AS \"{}\"", list.empty() ? "" : ", ", column(table, alias, name), name);
  return list;
}

void SourceDatabase::each_row(const std::string& select, const std::function<void(SourceRow)>& use) {
  std::vector<std::string> names;
  {
    // The names of the columns, which a Statement does not tell.
    const std::unique_ptr<PGresult, decltype(&PQclear)> described(connection_->describe(select), PQclear);
    for (int i = 0; i < PQnfields(described.get()); ++i) names.emplace_back(PQfname(described.get(), i));
  }
  each(select, [&](const Statement& statement) {
    SourceRow row;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const int column = static_cast<int>(i); !statement.is_null(column))
        row.set(names[i], storable_text(statement.bytes(column)));
    use(std::move(row));
  });
}

void SourceDatabase::each(const std::string& select, const std::function<void(const Statement&)>& use) {
  const auto cursor = fmt::format("import_{}", ++cursors_);
  connection_->execute(fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", cursor, select).c_str());
  for (bool more = true; more;) {
    int rows = 0;
    const auto statement = connection_->prepare_once(fmt::format("FETCH {} FROM {}", kRowsAtOnce, cursor));
    for (; statement->next(); ++rows) use(*statement);
    more = rows == kRowsAtOnce;
  }
  connection_->execute(fmt::format("CLOSE {}", cursor).c_str());
}

std::string SourceDatabase::attempt(const std::function<void()>& read) {
  connection_->execute("SAVEPOINT attempt");
  try {
    read();
  } catch (const PostgresError& error) {
    if (!error.state().starts_with("42") && !error.state().starts_with("22")) throw;
    connection_->execute("ROLLBACK TO SAVEPOINT attempt");
    return error.what();
  }
  connection_->execute("RELEASE SAVEPOINT attempt");
  return "";
}

std::string SourceDatabase::hash_of(std::string_view bytes) const {
  constexpr int kFirstWithSha256 = 110000;
  return PQserverVersion(connection_->handle()) < kFirstWithSha256
             ? fmt::format("md5({})", bytes)
             : fmt::format("encode(sha256({}), 'hex')", bytes);
}

std::int64_t SourceDatabase::number(const std::string& select) {
  Query query(*connection_, OneTimeSql{select});
  return query.next() ? query.get<std::int64_t>() : 0;
}

std::string SourceDatabase::text(const std::string& select) {
  Query query(*connection_, OneTimeSql{select});
  return query.next() ? query.get<std::string>() : "";
}

std::optional<Time> read_timestamp(const Statement& row, int column) {
  constexpr std::int64_t kSince1970 = 946'684'800'000'000;  // PostgreSQL counts from the year 2000
  if (row.is_null(column)) return std::nullopt;
  const auto bytes = row.bytes(column);
  if (bytes.size() != 8) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : bytes) number = (number << 8) | static_cast<unsigned char>(c);
  const auto since2000 = static_cast<std::int64_t>(number);
  if (since2000 == std::numeric_limits<std::int64_t>::max() ||
      since2000 == std::numeric_limits<std::int64_t>::min())
    return std::nullopt;  // infinity
  return Time{since2000 + kSince1970};
}

}  // namespace det::store
