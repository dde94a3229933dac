#pragma once

#include <libpq-fe.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "det/store/sql/sql.h"

/// PostgreSQL over libpq: a Connection and its statements.
///
/// Statements are sent in pipeline mode, one behind the other; only a question waits, for its own answer and
/// those before it. A group of hundreds of changes so costs two or three round trips.
namespace det::store {

/// PostgreSQL did not do what it was asked.
class PostgresError : public SqlError {
 public:
  /// `state`: the SQLSTATE, or empty where the connection is gone.
  PostgresError(std::string state, const std::string& message, std::string_view doing);
  PostgresError(Kind kind, const std::string& message) : SqlError(kind, message) {}
  const std::string& state() const { return state_; }

 private:
  std::string state_;
};

class PostgresConnection;

class PostgresStatement final : public Statement {
 public:
  /// `name`: of the prepared statement; empty: used once.
  PostgresStatement(PostgresConnection& connection, std::string_view sql, std::string name);

  void bind_integer(int parameter, std::int64_t number) override;
  void bind_double(int parameter, double number) override;
  void bind_text(int parameter, std::string_view text) override;
  void bind_bytes(int parameter, std::string_view bytes, bool lasting) override;
  void bind_null(int parameter) override;
  bool next() override;
  void run() override;
  void reset() override;
  bool send() override;
  void answer() override;
  bool is_null(int column) const override;
  std::int64_t integer(int column) const override;
  double number(int column) const override;
  std::string_view bytes(int column) const override;

 private:
  friend class PostgresConnection;
  struct Parameter {
    Oid type = 0;
    bool null = true;
    std::size_t begin = 0, length = 0;  // in buffer_
  };
  Parameter& parameter(int number, Oid type);
  const char* value(int column) const { return PQgetvalue(result_.get(), row_, column); }

  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  PostgresConnection& connection_;
  const std::string sql_;
  const std::string name_;
  std::vector<Parameter> parameters_;
  std::string buffer_;
  std::uint64_t prepared_on_ = 0;  // the connection that knows it by name
  using Result = std::unique_ptr<PGresult, Clear>;
  std::deque<Result> answers_;  // that came, and are not taken yet
  Result result_;
  int row_ = 0;
};

class PostgresConnection final : public Connection {
 public:
  /// Source: reads what another program wrote, from whichever server.
  enum class Mode { Write, Read, Source };
  /// A URL or a list of "keyword=value". Throws PostgresError.
  PostgresConnection(std::string target, Mode mode);
  ~PostgresConnection() override { PQfinish(connection_); }
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  const Dialect& dialect() const override;
  /// Waits for what was sent before, and for itself.
  void execute(const char* sql) override;
  Statement& prepare(std::string_view sql) override;
  std::unique_ptr<Statement> prepare_once(std::string_view sql) override;
  std::int64_t changes() override;
  ChangeCount count_changes() override { return {static_cast<std::int64_t>(counts_.size()) - 1}; }
  std::int64_t changes_of(ChangeCount count) override;

  /// Sends one statement without parameters behind the others; errors show at the next question.
  void send(const char* sql);
  /// Lets go of what was sent, without waiting for the answers.
  void flush() { PQflush(connection_); }
  /// Waits for all that was sent. Throws the first error.
  void wait();
  /// The columns of a SELECT, without running it: to be cleared by the caller.
  PGresult* describe(const std::string& select);
  /// Counts of changes from before are no longer asked for.
  void forget_counts() { counts_.clear(); }

  bool alive() const { return PQstatus(connection_) == CONNECTION_OK; }
  /// A new connection to the same database in place of this one; statements are prepared again.
  void reconnect();
  /// Ends an open transaction, if the connection lives.
  void roll_back() noexcept;
  PGconn* handle() const { return connection_; }

 private:
  friend class PostgresStatement;
  enum class Sent { Prepare, Query };
  struct Pending {
    Sent what = Sent::Query;
    PostgresStatement* statement = nullptr;  // that wants the rows, or is prepared
    std::int64_t count = -1;                 // where the count of changes goes
    const std::string* sql = nullptr;        // of a kept statement
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void open();
  void send(PostgresStatement& statement, bool wants_rows);
  void sent(bool accepted, Pending pending);
  void receive(const Pending& pending, std::unique_ptr<PostgresError>& first);
  [[noreturn]] void lost(std::string_view doing);

  const std::string target_;
  const Mode mode_;
  PGconn* connection_ = nullptr;
  std::uint64_t connected_ = 0;  // times
  std::deque<Pending> pending_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<std::string, std::unique_ptr<PostgresStatement>, TextHash, std::equal_to<>> statements_;
};

/// The target without its password, for messages.
std::string shown_target(PGconn* connection);

}  // namespace det::store
