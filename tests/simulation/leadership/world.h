#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "det/store/postgres/succession.h"

/// Several masters on one PostgreSQL database, in virtual time, from one seed.
///
/// What decides is the production code of store/postgres/succession.h. The server is simulated: sessions, the
/// advisory lock, the row of the epoch and its lock, commits that take long or go on although their client
/// is gone, restarts. So are processes (frozen, killed, started again) and the network between both.
namespace det::simulation::leadership {

/// A bug planted on purpose.
enum class Mutant {
  None,
  ReadsBeforeLocking,    ///< a leader with a new session reads its last commit before it has the lock, and
                         ///< transactions check the epoch, but not which commit was the last
  RepeatsWithoutAsking,  ///< … makes its last transaction again, whether it is stored or not
  NoFence,               ///< transactions check neither
  KeepsLeading,          ///< a leader with a new session does not look whether another one has led
};

struct Verdict {
  std::optional<std::string> violation;
  int faults = 0, leaders = 0;
  std::size_t acknowledged = 0;
  std::vector<std::string> last_events;
};

/// Plays one seed to its end: the same seed gives the same verdict.
Verdict simulate(std::uint64_t seed, Mutant mutant = Mutant::None);

// ---- inside ----------------------------------------------------------------

using Milliseconds = std::int64_t;

/// What a master asks of the server. Statements of a session are made one after the other.
struct Statement {
  enum class Kind { ReadBeats, TryLock, EndHolder, BeginEpoch, ReadRow, Write };
  Kind kind = Kind::ReadBeats;
  std::int64_t epoch = 0, number = 0;  // of Write
  std::int64_t stored = 0;             // … the commit that its leader knows to be the last
  std::size_t view = 0;                // … how much of the log its leader knows
  std::vector<int> values{};
  Milliseconds arrives = 0;
};

struct Answer {
  enum class Kind { Done, Lost, NotLeader };
  Kind kind = Kind::Done;
  Statement::Kind to = Statement::Kind::ReadBeats;
  store::Beats beats{};
  bool locked = false;
  std::int64_t epoch = 0, number = 0;
  std::size_t log_size = 0;
  Milliseconds arrives = 0;
};

struct Session {
  std::deque<Statement> statements;
  std::deque<Answer> answers;
  std::optional<Milliseconds> commits_at;  // the first statement has its COMMIT under way until then
  bool client_gone = false;                // nothing reaches the client; the server will notice
  Milliseconds ends_at = 0;                // … then
  bool ended = false;                      // for the server
  bool forgotten = false;                  // by the client
  bool terminated = false;                 // it ends after the commit that is under way
};

struct Entry {
  std::int64_t epoch = 0;
  int value = 0;
};

struct World;

class Process {
 public:
  Process(World& world, int number) : world_(world), number_(number) {}

  void step();
  void kill(Milliseconds down);
  void freeze(Milliseconds until) { frozen_until_ = until; }
  void cut(Milliseconds until);

 private:
  enum class State { Down, First, Waits, Begins, Leads, Resumes };

  void heard(const Answer& answer);
  void lost();
  void connect();
  void forget_session();
  void send(Statement::Kind kind);
  void write();
  void write_again();
  void acknowledge();
  void look();
  void resume(const Answer& answer);
  void beat();
  bool is_cut() const;

  World& world_;
  const int number_;
  State state_ = State::Down;
  std::optional<int> session_;
  std::optional<store::Successor> successor_;
  std::int64_t epoch_ = 0, commit_ = 0, stored_ = 0;
  std::size_t view_ = 0;
  std::vector<int> group_;  // what the transaction under way has
  bool under_way_ = false;
  bool locked_ = false;
  std::optional<Answer> row_;
  Milliseconds up_at_ = 0, frozen_until_ = 0, cut_until_ = 0, next_ = 0, next_beat_ = 0;
};

struct World {
  World(std::uint64_t seed, Mutant mutant);

  Verdict run();
  void server_step();
  void execute(int id, Session& session);
  void apply(int id, Session& session);
  void end_session(int id);
  void answer(Session& session, Answer answer);
  void restart();
  void strike();
  void note(const std::string& what);
  void violated(const std::string& what) {
    if (!verdict.violation) verdict.violation = what;
  }
  Milliseconds between(Milliseconds low, Milliseconds high) {
    return std::uniform_int_distribution<Milliseconds>(low, high)(random);
  }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }
  store::SteadyTime clock() const { return store::SteadyTime(std::chrono::milliseconds(now + 3'600'000)); }
  bool up() const { return now >= down_until; }

  std::mt19937_64 random;
  const Mutant mutant;
  Milliseconds now = 0;
  Verdict verdict;
  double slow_commits = 0, lock_losses = 0, fault_rate = 0;

  // What the server keeps.
  std::int64_t epoch = 0, commit_number = 0;
  store::Beats beats;
  std::vector<Entry> log;

  std::map<int, Session> sessions;
  std::optional<int> lock_owner, row_owner;
  int next_session = 0, next_value = 0;
  Milliseconds down_until = 0;

  std::deque<Process> processes;
  std::set<int> acknowledged;
  Milliseconds last_acknowledgement = 0;
};

}  // namespace det::simulation::leadership
