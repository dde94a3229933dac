#include "det/store/postgres/leadership.h"

#include <chrono>

namespace det::store {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLock = 0x64657453;  // "detS"
constexpr std::chrono::milliseconds kLook{100};

Beats read_beats(Connection& connection) {
  Query query(connection, R"sql(
SELECT leadership.epoch, beats, resigned, holder, address FROM leadership, leader_beats
)sql");
  Beats b;
  if (query.next()) query.read(b.epoch, b.beats, b.resigned, b.holder, b.address);
  return b;
}

bool take_lock(Connection& connection) {
  Query query(connection, "SELECT pg_try_advisory_lock(?)");
  query.bind(kLock);
  return query.next() && query.get<bool>();
}

// What the sessions that hold the lock began is rolled back.
void end_holder(Connection& connection) {
  Query query(connection, R"sql(
SELECT pg_terminate_backend(pid)
FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = 0 AND CAST(objid AS bigint) = ?
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)sql");
  query.bind(kLock);
  while (query.next()) {
  }
}

std::int64_t begin_epoch(PostgresConnection& connection, const LeadershipOptions& options) {
  std::int64_t epoch = 0;
  {
    connection.forget_counts();
    connection.send("BEGIN");
    Query next(connection, R"sql(
UPDATE leadership SET epoch = epoch + 1, commit_number = 0, holder = ?, address = ?, since = now()
RETURNING epoch
)sql");
    next.bind(options.holder, options.address);
    next.next();
    epoch = next.get<std::int64_t>();
  }
  Query(connection, "UPDATE leader_beats SET epoch = ?, beats = 0, resigned = 0").bind(epoch).run();
  connection.send("COMMIT");
  connection.wait();
  return epoch;
}

}  // namespace

void make_leadership_tables(PostgresConnection& connection) {
  // Little is left on each page, so that the row that is written again and again stays on it.
  connection.execute(R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(1684370516);
CREATE TABLE IF NOT EXISTS leadership (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL,
  commit_number bigint NOT NULL,
  holder text NOT NULL,
  since timestamptz NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE IF NOT EXISTS leader_beats (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL,
  beats bigint NOT NULL,
  resigned bigint NOT NULL
) WITH (fillfactor = 10);
ALTER TABLE leadership ADD COLUMN IF NOT EXISTS address text NOT NULL DEFAULT '';
INSERT INTO leadership (epoch, commit_number, holder, since) VALUES (0, 0, '', now()) ON CONFLICT DO NOTHING;
INSERT INTO leader_beats (epoch, beats, resigned) VALUES (0, 0, 1) ON CONFLICT DO NOTHING;
COMMIT;
)sql");
}

std::function<bool()> once_another_leads() {
  return
      [until = Clock::now() + kFreeLockPatience + std::chrono::seconds(1)] { return Clock::now() > until; };
}

Result<std::int64_t> lead(PostgresConnection& connection, const LeadershipOptions& options) {
  Successor successor(read_beats(connection), Clock::now());
  if (take_lock(connection)) return begin_epoch(connection, options);
  if (options.on_wait)
    options.on_wait(fmt::format("another master leads ({}); standing by, to take over when it ends",
                                successor.seen().holder));
  auto told = successor.seen().address;
  if (options.on_leader) options.on_leader(told);
  while (!options.give_up || !options.give_up()) {
    std::this_thread::sleep_for(kLook);
    try {
      if (!connection.alive()) {
        connection.reconnect();
        successor.cut_off(Clock::now());
      }
      successor.saw(read_beats(connection), Clock::now());
      if (options.on_leader && successor.seen().address != told)
        options.on_leader(told = successor.seen().address);
      const auto now = Clock::now();
      if (successor.may_take_lock(now) && take_lock(connection)) return begin_epoch(connection, options);
      if (successor.may_end_holder(now)) end_holder(connection);
    } catch (const SqlError& error) {
      if (error.kind() != SqlError::Kind::ConnectionLost) throw;
      successor.cut_off(Clock::now());
      try {
        connection.reconnect();
      } catch (const SqlError&) {  // the server is away
      }
    }
  }
  return fail(ErrorCode::Unavailable, "stopped while another master leads");
}

std::int64_t lead_again(PostgresConnection& connection, std::int64_t epoch) {
  const bool locked = take_lock(connection);  // before the row is read: see Resumption
  Query query(connection, "SELECT epoch, commit_number, holder FROM leadership");
  std::int64_t now = 0, commit = 0;
  std::string holder;
  if (query.next()) query.read(now, commit, holder);
  switch (resumption(locked, epoch, now)) {
    case Resumption::Leads: return commit;
    case Resumption::Deposed:
      throw PostgresError(SqlError::Kind::NotLeader,
                          fmt::format("another master has taken over ({})", holder));
    case Resumption::Waits: break;
  }
  throw PostgresError(SqlError::Kind::ConnectionLost, "the lock of the leader is not free yet");
}

void write_epoch(PostgresConnection& connection, std::int64_t epoch, std::int64_t stored,
                 std::int64_t commit) {
  // An epoch that is not this one's becomes NULL, which the table refuses: the transaction fails.
  Query(connection, R"sql(
UPDATE leadership
SET commit_number = ?, epoch = CASE WHEN epoch = ? AND commit_number = ? THEN epoch END
)sql")
      .bind(commit, epoch, stored)
      .run();
}

void resign(PostgresConnection& connection, std::int64_t epoch) noexcept {
  if (!connection.alive()) return;
  try {
    Query(connection, "UPDATE leader_beats SET resigned = 1 WHERE epoch = ?").bind(epoch).run();
    connection.wait();
  } catch (const SqlError&) {  // others will notice
  }
}

Heartbeat::Heartbeat(std::string target, std::int64_t epoch,
                     std::function<void(const std::string&)> on_deposed)
    : target_(std::move(target)), epoch_(epoch), on_deposed_(std::move(on_deposed)) {
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::run() {
  std::unique_ptr<PostgresConnection> connection;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    try {
      if (!connection)
        connection = std::make_unique<PostgresConnection>(target_, PostgresConnection::Mode::Write);
      if (!beat(*connection)) {
        on_deposed_(fmt::format("another master has taken over ({})", read_beats(*connection).holder));
        return;
      }
    } catch (const std::exception&) {
      connection.reset();  // the writer says that the server is away
    }
    lock.lock();
    wake_.wait_for(lock, kBeat, [&] { return stopping_; });
  }
}

bool Heartbeat::beat(PostgresConnection& connection) {
  connection.wait();
  connection.forget_counts();
  Query(connection, "UPDATE leader_beats SET beats = beats + 1 WHERE epoch = ?").bind(epoch_).run();
  return connection.changes() != 0;
}

}  // namespace det::store
