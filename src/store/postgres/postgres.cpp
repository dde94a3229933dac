#include "det/store/postgres/postgres.h"

#include <array>

#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

constexpr std::size_t kPendingMax = 2'000;  // answers that a server may hold back

SqlError::Kind kind_of(std::string_view state) {
  const auto of_class = [&](std::string_view prefix) { return state.starts_with(prefix); };
  if (state == "53100") return SqlError::Kind::DiskFull;
  // Lost or shut down, out of connections or memory, cancelled, in the way of another, a replica, a failing
  // disk of the server: the same transaction may succeed later, perhaps elsewhere.
  for (const auto* passing : {"08", "53", "57", "40", "25006", "58"})
    if (state.empty() || of_class(passing)) return SqlError::Kind::ConnectionLost;
  return SqlError::Kind::Other;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

PostgresError::PostgresError(std::string state, const std::string& message, std::string_view doing)
    : SqlError(kind_of(state), fmt::format("PostgreSQL error '{}'{} in: {}", trimmed(message),
                                           state.empty() ? "" : fmt::format(" ({})", state), doing)),
      state_(std::move(state)) {}

PostgresConnection::PostgresConnection(std::string target, Mode mode)
    : target_(std::move(target)), mode_(mode) {
  open();
}

void PostgresConnection::open() {
  // Before the target: what it may change. After it: what it may not.
  constexpr std::array kKeywords{"connect_timeout",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "tcp_user_timeout",
                                 "target_session_attrs",
                                 "dbname",
                                 "client_encoding",
                                 "fallback_application_name",
                                 static_cast<const char*>(nullptr)};
  const std::array values{"5",
                          "5",
                          "1",
                          "3",
                          "5000",
                          mode_ == Mode::Source ? "any" : "read-write",
                          target_.c_str(),
                          "UTF8",
                          "det",
                          static_cast<const char*>(nullptr)};
  connection_ = PQconnectdbParams(kKeywords.data(), values.data(), 1);
  ++connected_;
  if (!alive()) {
    const std::string message = PQerrorMessage(connection_);
    PQfinish(std::exchange(connection_, nullptr));
    throw PostgresError(SqlError::Kind::ConnectionLost, trimmed(message));
  }
  PQsetNoticeReceiver(connection_, [](void*, const PGresult*) {}, nullptr);
  // A session whose client is gone ends, and with it its lock, after seconds instead of hours.
  execute(
      "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3; "
      "SET tcp_user_timeout = 5000");
  execute(
      mode_ == Mode::Write
          ? "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; "
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
      : mode_ == Mode::Read
          ? "SET statement_timeout = 0; SET default_transaction_read_only = on; SET jit = off"
          : "SET statement_timeout = 0; SET default_transaction_read_only = on; SET TimeZone = 'UTC'; "
            "SET DateStyle = ISO; SET search_path = public; SET work_mem = '128MB'; SET jit = off; "
            "SET idle_in_transaction_session_timeout = 0");
}

void PostgresConnection::reconnect() {
  PQfinish(std::exchange(connection_, nullptr));
  pending_.clear();
  counts_.clear();
  open();
}

void PostgresConnection::roll_back() noexcept {
  if (!alive()) return;
  try {
    try {
      wait();
    } catch (const SqlError&) {  // what failed before is known
    }
    if (alive() && PQtransactionStatus(connection_) != PQTRANS_IDLE) execute("ROLLBACK");
  } catch (const SqlError&) {
    PQfinish(std::exchange(connection_, nullptr));
  }
}

const Dialect& PostgresConnection::dialect() const {
  static constexpr Dialect kDialect{
      .integers = "(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(? AS json)))",
      .texts = "(SELECT value FROM json_array_elements_text(CAST(? AS json)))",
      .position = "strpos",
      .line_contains = "position(? IN line) > 0",
      .best_metric_is_nan = "best_metric = 'NaN'",
      .stale_blocks =
          "SELECT trial_id, metric_group, up_to_batches FROM metric_blocks WHERE sums IS NULL LIMIT ?",
      .compares_indexed_values = true,
      .rows_at_once = 100,
      .stores_nul = false,
  };
  return kDialect;
}

void PostgresConnection::execute(const char* sql) {
  wait();
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) PQexitPipelineMode(connection_);
  const std::unique_ptr<PGresult, PostgresStatement::Clear> result(PQexec(connection_, sql));
  const auto status = PQresultStatus(result.get());
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  const std::string message = PQerrorMessage(connection_);
  PQenterPipelineMode(connection_);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
    throw PostgresError(state != nullptr ? state : "", message, sql);
}

PGresult* PostgresConnection::describe(const std::string& select) {
  wait();
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) PQexitPipelineMode(connection_);
  PGresult* prepared = PQprepare(connection_, "", select.c_str(), 0, nullptr);
  const bool fine = PQresultStatus(prepared) == PGRES_COMMAND_OK;
  const char* state = PQresultErrorField(prepared, PG_DIAG_SQLSTATE);
  const PostgresError error(state != nullptr ? state : "", PQerrorMessage(connection_), select);
  PQclear(prepared);
  PGresult* described = fine ? PQdescribePrepared(connection_, "") : nullptr;
  PQenterPipelineMode(connection_);
  if (!fine) throw error;
  return described;
}

Statement& PostgresConnection::prepare(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return *found->second;
  auto statement = std::make_unique<PostgresStatement>(*this, sql, fmt::format("s{}", statements_.size()));
  return *statements_.emplace(sql, std::move(statement)).first->second;
}

std::unique_ptr<Statement> PostgresConnection::prepare_once(std::string_view sql) {
  return std::make_unique<PostgresStatement>(*this, sql, "");
}

std::int64_t PostgresConnection::changes() {
  return changes_of(count_changes());
}

std::int64_t PostgresConnection::changes_of(ChangeCount count) {
  wait();
  return counts_.at(static_cast<std::size_t>(count.value));
}

void PostgresConnection::send(const char* sql) {
  if (!alive()) lost(sql);
  sent(PQsendQueryParams(connection_, sql, 0, nullptr, nullptr, nullptr, nullptr, 1) == 1, {});
}

void PostgresConnection::send(PostgresStatement& s, bool wants_rows) {
  if (!alive()) lost(s.sql_);
  const auto count = static_cast<int>(s.parameters_.size());
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths, binary(s.parameters_.size(), 1);
  for (const auto& p : s.parameters_) {
    types.push_back(p.type);
    values.push_back(p.null ? nullptr : s.buffer_.data() + p.begin);
    lengths.push_back(static_cast<int>(p.length));
  }
  counts_.push_back(0);
  const Pending pending{Sent::Query, wants_rows ? &s : nullptr, count_changes().value, &s.sql_};
  if (s.name_.empty()) {
    sent(PQsendQueryParams(connection_, s.sql_.c_str(), count, types.data(), values.data(), lengths.data(),
                           binary.data(), 1) == 1,
         wants_rows ? pending : Pending{Sent::Query, nullptr, pending.count, nullptr});
    return;
  }
  if (s.prepared_on_ != connected_) {
    s.prepared_on_ = connected_;
    sent(PQsendPrepare(connection_, s.name_.c_str(), s.sql_.c_str(), count, types.data()) == 1,
         {Sent::Prepare, &s, -1, &s.sql_});
  }
  sent(PQsendQueryPrepared(connection_, s.name_.c_str(), count, values.data(), lengths.data(), binary.data(),
                           1) == 1,
       pending);
}

void PostgresConnection::sent(bool accepted, Pending pending) {
  if (!accepted) {
    if (pending.what == Sent::Prepare) pending.statement->prepared_on_ = 0;
    lost("send a statement");
  }
  pending_.push_back(pending);
  if (pending_.size() >= kPendingMax && pending.what == Sent::Query) wait();
}

void PostgresConnection::wait() {
  if (connection_ == nullptr) lost("wait for answers");
  if (pending_.empty()) return;
  std::unique_ptr<PostgresError> first;
  if (PQpipelineSync(connection_) != 1) lost("wait for answers");
  while (!pending_.empty()) {
    const auto pending = pending_.front();
    pending_.pop_front();
    receive(pending, first);
  }
  const std::unique_ptr<PGresult, PostgresStatement::Clear> end(PQgetResult(connection_));
  if (PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) lost("wait for answers");
  if (first) throw *first;
}

void PostgresConnection::receive(const Pending& pending, std::unique_ptr<PostgresError>& first) {
  using Result = std::unique_ptr<PGresult, PostgresStatement::Clear>;
  Result result(PQgetResult(connection_));
  const auto status = PQresultStatus(result.get());
  const bool fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  const std::string_view doing = pending.sql != nullptr ? std::string_view(*pending.sql) : "a statement";
  if (!result || (!fine && !alive())) {
    const char* state = result ? PQresultErrorField(result.get(), PG_DIAG_SQLSTATE) : nullptr;
    if (state == nullptr) lost(doing);
    pending_.clear();
    throw PostgresError(state, PQresultErrorMessage(result.get()), doing);
  }
  if (!fine && pending.what == Sent::Prepare) pending.statement->prepared_on_ = 0;
  if (status == PGRES_FATAL_ERROR && !first) {
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    const char* column = PQresultErrorField(result.get(), PG_DIAG_COLUMN_NAME);
    const char* table = PQresultErrorField(result.get(), PG_DIAG_TABLE_NAME);
    const std::string code = state != nullptr ? state : "";
    if (code == "23502" && column != nullptr && table != nullptr && std::string_view(table) == "leadership")
      first = std::make_unique<PostgresError>(SqlError::Kind::NotLeader,
                                              "another master writes to this database now");
    else
      first = std::make_unique<PostgresError>(code, PQresultErrorMessage(result.get()), doing);
  }
  if (fine && pending.count >= 0) {
    const std::string_view tuples = PQcmdTuples(result.get());
    counts_[static_cast<std::size_t>(pending.count)] = tuples.empty() ? 0 : std::atoll(tuples.data());
  }
  if (fine && pending.what == Sent::Query && pending.statement != nullptr)
    pending.statement->answers_.push_back(std::move(result));
  while (Result more{PQgetResult(connection_)}) {
  }
}

void PostgresConnection::lost(std::string_view doing) {
  pending_.clear();
  const std::string message = connection_ != nullptr ? PQerrorMessage(connection_) : "";
  throw PostgresError("", message.empty() ? "the connection is closed" : message, doing);
}

std::string shown_target(PGconn* connection) {
  const auto text = [](const char* s) { return std::string_view(s != nullptr ? s : ""); };
  const auto host = text(PQhost(connection));
  return fmt::format("postgres://{}@{}:{}/{}", text(PQuser(connection)), host.empty() ? "localhost" : host,
                     text(PQport(connection)), text(PQdb(connection)));
}

}  // namespace det::store
