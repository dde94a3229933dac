#include "world.h"

#include <fmt/format.h>
#include <algorithm>

namespace det::simulation::leadership {

namespace {
constexpr Milliseconds kFaultsEnd = 60'000, kEnd = 90'000;
}  // namespace

World::World(std::uint64_t seed, Mutant planted) : random(seed), mutant(planted) {
  // Swarm: each seed has some kinds of misfortune.
  slow_commits = chance(0.5) ? 0.2 : 0;
  lock_losses = chance(0.3) ? 0.3 : 0;  // as behind a pooler in transaction mode
  fault_rate = chance(0.8) ? 0.004 : 0.0005;
  const auto count = between(2, 3);
  for (int i = 0; i < count; ++i) processes.emplace_back(*this, i);
}

void World::note(const std::string& what) {
  verdict.last_events.push_back(fmt::format("{:7.3f} s  {}", static_cast<double>(now) / 1000, what));
  if (verdict.last_events.size() > 40) verdict.last_events.erase(verdict.last_events.begin());
}

void World::answer(Session& session, Answer answer) {
  answer.arrives = now + between(1, 30);
  if (!session.client_gone) session.answers.push_back(std::move(answer));
}

void World::end_session(int id) {
  auto& session = sessions.at(id);
  if (row_owner == id) row_owner.reset();  // what it began is rolled back
  if (lock_owner == id) lock_owner.reset();
  session.statements.clear();
  session.commits_at.reset();
  session.ended = true;
  if (session.forgotten) {
    sessions.erase(id);
    return;
  }
  if (!session.client_gone)
    session.answers.push_back({.kind = Answer::Kind::Lost, .arrives = now + between(1, 30)});
  session.client_gone = true;
}

/// The COMMIT of the first statement is through.
void World::apply(int id, Session& session) {
  const auto statement = session.statements.front();
  session.statements.pop_front();
  session.commits_at.reset();
  row_owner.reset();
  if (statement.kind == Statement::Kind::BeginEpoch) {
    ++epoch;
    commit_number = 0;
    beats = {.epoch = epoch, .beats = 0, .resigned = false};
    ++verdict.leaders;
    note(fmt::format("session {} begins epoch {}", id, epoch));
    answer(session, {.to = statement.kind, .epoch = epoch, .log_size = log.size()});
    return;
  }
  if (statement.epoch != epoch)
    violated(fmt::format("a leader of epoch {} commits in epoch {}", statement.epoch, epoch));
  if (statement.view != log.size())
    violated(fmt::format("a leader that knows {} changes commits after {}", statement.view, log.size()));
  for (const int value : statement.values) {
    if (std::any_of(log.begin(), log.end(), [&](const Entry& e) { return e.value == value; }))
      violated(fmt::format("change {} is stored twice", value));
    log.push_back({statement.epoch, value});
  }
  commit_number = statement.number;
  note(fmt::format("session {} commits {} of epoch {}", id, statement.number, statement.epoch));
  answer(session, {.to = statement.kind});
}

void World::execute(int id, Session& session) {
  auto& statement = session.statements.front();
  const auto done = [&](Answer what) {
    what.to = statement.kind;
    session.statements.pop_front();
    answer(session, std::move(what));
  };
  switch (statement.kind) {
    case Statement::Kind::ReadBeats: return done({.beats = beats});
    case Statement::Kind::TryLock: {
      const bool free = !lock_owner || lock_owner == id;
      if (free) lock_owner = id;
      return done({.locked = free});
    }
    case Statement::Kind::EndHolder: {
      const auto holder = lock_owner;
      done({});
      if (!holder || *holder == id) return;
      note(fmt::format("session {} ends session {}", id, *holder));
      if (sessions.at(*holder).commits_at)
        sessions.at(*holder).terminated = true;
      else
        end_session(*holder);
      return;
    }
    case Statement::Kind::ReadRow: return done({.epoch = epoch, .number = commit_number});
    case Statement::Kind::BeginEpoch:
    case Statement::Kind::Write:
      if (row_owner && row_owner != id) return;  // waits for the transaction that has the row
      if (statement.kind == Statement::Kind::Write && mutant != Mutant::NoFence) {
        const bool last = statement.stored == commit_number || mutant == Mutant::ReadsBeforeLocking;
        if (statement.epoch != epoch || !last) return done({.kind = Answer::Kind::NotLeader});
      }
      row_owner = id;
      session.commits_at =
          now + (now < kFaultsEnd && chance(slow_commits) ? between(100, 6'000) : between(1, 10));
  }
}

void World::server_step() {
  if (!up()) return;
  std::vector<int> ids;
  for (const auto& [id, session] : sessions) ids.push_back(id);
  std::shuffle(ids.begin(), ids.end(), random);
  for (const int id : ids) {
    if (!sessions.contains(id)) continue;
    auto& session = sessions.at(id);
    if (session.ended) continue;
    if (session.commits_at) {
      if (*session.commits_at > now) continue;
      apply(id, session);
      if (session.terminated) end_session(id);
      continue;
    }
    if (session.client_gone && session.ends_at <= now) {
      end_session(id);
      continue;
    }
    if (!session.statements.empty() && session.statements.front().arrives <= now) execute(id, session);
  }
}

/// A commit that is under way may be stored or not.
void World::restart() {
  down_until = now + between(100, 4'000);
  note("the server restarts");
  std::vector<int> ids;
  for (const auto& [id, session] : sessions) ids.push_back(id);
  for (const int id : ids) {
    auto& session = sessions.at(id);
    if (session.ended) continue;
    if (session.commits_at && chance(0.5)) {
      apply(id, session);
      if (!session.client_gone) session.answers.pop_back();
    }
    end_session(id);
  }
}

void World::strike() {
  ++verdict.faults;
  auto& process = processes[static_cast<std::size_t>(between(0, static_cast<int>(processes.size()) - 1))];
  switch (between(0, 4)) {
    case 0: return process.freeze(now + between(100, 9'000));
    case 1: return process.cut(now + between(100, 12'000));
    case 2: return process.kill(between(100, 3'000));
    case 3: return restart();
    default:
      if (lock_owner && chance(lock_losses)) {
        note("the lock is lost, and its session lives");
        lock_owner.reset();
      }
  }
}

Verdict World::run() {
  while (now < kEnd && !verdict.violation) {
    now += between(1, 25);
    if (now < kFaultsEnd && chance(fault_rate)) strike();
    server_step();
    for (auto& process : processes) process.step();
  }
  for (const int value : acknowledged)
    if (std::none_of(log.begin(), log.end(), [&](const Entry& e) { return e.value == value; }))
      violated(fmt::format("change {} was acknowledged and is lost", value));
  for (std::size_t i = 1; i < log.size(); ++i)
    if (log[i].epoch < log[i - 1].epoch) violated("an older epoch commits after a newer one");
  if (last_acknowledgement < kEnd - 2'000) violated("nobody leads although all is well again");
  verdict.acknowledged = acknowledged.size();
  return verdict;
}

Verdict simulate(std::uint64_t seed, Mutant mutant) {
  return World(seed, mutant).run();
}

}  // namespace det::simulation::leadership
