#include "det/store/postgres/postgres_store.h"

#include "det/store/postgres/connection_pool.h"
#include "det/store/postgres/postgres_migrations.h"
#include "det/store/postgres/postgres_transactions.h"
#include "det/store/sql/sql_store.h"

namespace det::store {

namespace {

constexpr int kOldestServer = 130000;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string answer(Connection& connection, const char* sql) {
  Query query(connection, OneTimeSql{sql});
  return query.next() ? query.get<std::string>() : "";
}

Result<void> check_server(PostgresConnection& connection) {
  const auto shown = shown_target(connection.handle());
  if (PQserverVersion(connection.handle()) < kOldestServer)
    return failed_precondition("{}: the server is PostgreSQL {}; upgrade it to version 13 or later", shown,
                               PQparameterStatus(connection.handle(), "server_version"));
  if (const auto encoding = answer(connection, "SHOW server_encoding"); encoding != "UTF8")
    return failed_precondition(
        "{}: the encoding of the database is {}, but it must be UTF8; create another one with 'createdb "
        "--encoding UTF8 --template template0 NAME'",
        shown, encoding);
  if (auto schema = check_schema(connection, built_in_migrations()); !schema)
    return tl::unexpected(std::move(schema).error().within(shown));
  return {};
}

Error missing_rights(PostgresConnection& connection, const SqlError& error) {
  return Error(
      ErrorCode::FailedPrecondition,
      fmt::format("{}: user {} lacks rights in the database ({}). Make it the owner: ALTER DATABASE "
                  "{} OWNER TO {}; or grant it CREATE and USAGE on the schema, and all privileges on "
                  "the tables in it",
                  shown_target(connection.handle()), PQuser(connection.handle()), error.what(),
                  PQdb(connection.handle()), PQuser(connection.handle())));
}

}  // namespace

// libpq tells of failed connections in words only.
Error cannot_connect(const std::string& said) {
  std::string words = said.substr(0, said.find("\n\tIs the server running"));
  while (words.ends_with('.') || words.ends_with('\n')) words.pop_back();
  const auto advised = [&](std::string_view advice) {
    return Error(ErrorCode::Unavailable,
                 fmt::format("cannot open the PostgreSQL database: {}. {}", words, advice));
  };
  if (has(words, "password authentication failed"))
    return advised(
        "Correct the user or the password: in the URL, in db.password of the configuration, or in "
        "the environment variable PGPASSWORD");
  if (has(words, "no password supplied"))
    return advised(
        "Give a password: in db.password of the configuration, in the environment variable "
        "PGPASSWORD, or in ~/.pgpass");
  if (has(words, "too many connections") || has(words, "too many clients") ||
      has(words, "connection slots are reserved"))
    return advised("Close other sessions, or raise max_connections of the server or the limit of the user");
  if (has(words, "pg_hba.conf"))
    return advised("Allow the connection in the server's pg_hba.conf and reload it");
  if (has(words, "database \"") && has(words, "does not exist"))
    return advised("Create it with 'createdb --encoding UTF8 --template template0 NAME'");
  if (has(words, "role \"") && has(words, "does not exist"))
    return advised("Create the user with 'createuser --pwprompt NAME', or name another one");
  if (has(words, "read-only"))
    return advised("This server is a replica: name the primary, or all servers as postgres://a,b/NAME");
  if (has(words, "invalid") || has(words, "missing \"=\""))
    return advised("Write it as postgres://USER@HOST:PORT/NAME");
  return advised("Check the host and the port, and that the server runs");
}

Result<std::unique_ptr<PostgresConnection>> connect_postgres(const std::string& target,
                                                             UnfinishedCopy unfinished) {
  std::unique_ptr<PostgresConnection> connection;
  try {
    connection = std::make_unique<PostgresConnection>(target, PostgresConnection::Mode::Write);
  } catch (const SqlError& error) {
    return tl::unexpected(cannot_connect(error.what()));
  }
  try {
    if (auto fine = check_server(*connection); !fine) return tl::unexpected(std::move(fine).error());
    if (unfinished == UnfinishedCopy::Refused)
      if (auto whole = refuse_unfinished_copy(*connection); !whole)
        return tl::unexpected(std::move(whole).error().within(shown_target(connection->handle())));
    return connection;
  } catch (const PostgresError& error) {
    if (error.state() == "42501") return tl::unexpected(missing_rights(*connection, error));
    return fail(ErrorCode::Unavailable, "cannot open the PostgreSQL database: {}", error.what());
  }
}

Result<std::unique_ptr<Store>> open_postgres(const std::string& target, WriterOptions writer,
                                             LeadershipOptions leadership) {
  DET_TRY(auto connection, connect_postgres(target));
  try {
    writer.name = shown_target(connection->handle());
    make_leadership_tables(*connection);
    DET_TRY(const auto epoch, lead(*connection, leadership));
    // While this one waited, a newer program may have led.
    if (auto schema = check_schema(*connection, built_in_migrations()); !schema)
      return tl::unexpected(std::move(schema).error().within(writer.name));
    if (auto whole = refuse_unfinished_copy(*connection); !whole)
      return tl::unexpected(std::move(whole).error().within(writer.name));
    migrate_postgres(*connection, built_in_migrations());
    return make_sql_store(
        {.rest = nullptr,
         .transactions = std::make_unique<PostgresTransactions>(std::move(connection), epoch),
         .writer = std::move(writer),
         .readers = std::make_unique<ConnectionPool>(target),
         .watch = [target, epoch](Writer& of) -> std::shared_ptr<void> {
           return std::make_shared<Heartbeat>(target, epoch,
                                              [&of](const std::string& why) { of.depose(why); });
         }});
  } catch (const PostgresError& error) {
    if (error.state() == "42501" && connection) return tl::unexpected(missing_rights(*connection, error));
    return fail(ErrorCode::Unavailable, "cannot open the PostgreSQL database: {}", error.what());
  }
}

bool is_postgres_url(std::string_view place) {
  return place.starts_with("postgres://") || place.starts_with("postgresql://");
}

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options) {
  WriterOptions writer;
  writer.on_stall = std::move(options.on_stall);
  return open_postgres(options.target, std::move(writer),
                       {.holder = std::move(options.holder),
                        .address = std::move(options.address),
                        .on_wait = std::move(options.on_wait),
                        .on_leader = std::move(options.on_leader),
                        .give_up = std::move(options.give_up)});
}

}  // namespace det::store
