// A process that commits without pause is killed at a random moment, fifty times over
// the same database. What it had acknowledged must be there, and commits must be whole.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

constexpr std::int64_t kPerSnapshot = 150;

// One commit: five traces of the same number, and now and then a snapshot, so that kills fall into the
// removal of events that nobody needs any more.
std::vector<Change> numbered(std::int64_t n) {
  auto trial = sample_trial(1, 1);
  trial.batches = n;
  std::vector<Change> changes{
      AppendEvent{{n, Time{n}, json::object{{"n", n}, {"padding", boost::json::string(200, 'x')}}}},
      PutTrial{trial}, AddMetrics{report(1, 1, "training", n, {{"loss", 1.0 / static_cast<double>(n)}})},
      AddLogs{"stream", n - 1, {line(trial.task_id, std::to_string(n))}}, PutSetting{"n", std::to_string(n)}};
  if (n % kPerSnapshot == 0) changes.push_back(SaveSnapshot{{n, json::object{{"n", n}}}});
  return changes;
}

[[noreturn]] void commit_until_killed(const std::filesystem::path& path, std::int64_t first, int pipe) {
  SqliteSettings options;
  options.checkpoint_pages = 50;  // so that many kills fall into a checkpoint
  const auto store = open_sqlite(path, options);
  if (!store) _exit(3);
  for (std::int64_t n = first;; ++n) {
    (*store)->commit(numbered(n), [n, pipe] {
      if (write(pipe, &n, sizeof n) != sizeof n) _exit(4);
    });
    if (n % 64 == 0) (*store)->flush();
  }
}

// The last number that the child acknowledged before it was killed, or `before`.
std::int64_t run_and_kill(const std::filesystem::path& path, std::int64_t before,
                          std::chrono::microseconds after) {
  int pipe[2];
  EXPECT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) commit_until_killed(path, before + 1, pipe[1]);
  close(pipe[1]);
  std::int64_t last = before, n = 0;
  // The time counts from the first answer: opening takes a while on a busy machine.
  bool first = true;
  while (read(pipe[0], &n, sizeof n) == sizeof n) {
    EXPECT_EQ(n, last + 1) << "acknowledged out of order";
    last = n;
    if (std::exchange(first, false)) {
      usleep(static_cast<useconds_t>(after.count()));
      kill(child, SIGKILL);
    }
  }
  close(pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with status " << WEXITSTATUS(status);
  return last;
}

TEST(Crash, WhatWasAcknowledgedSurvivesFiftyKills) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "det.db";
  std::mt19937 random(1);
  std::int64_t stored = 0, acknowledged_in_all = 0;
  bool shortened = false;
  for (int round = 0; round < 50; ++round) {
    const auto acknowledged = run_and_kill(path, stored, std::chrono::microseconds(random() % 40'000));
    acknowledged_in_all += acknowledged - stored;
    const auto store = open_sqlite(SqliteOptions{path, {}});
    ASSERT_TRUE(store) << store.error().message();
    const auto events = (*store)->events_after(0, 0);
    ASSERT_GE(events.back().sequence, acknowledged) << "lost in round " << round;
    stored = events.back().sequence;
    const auto first = events.front().sequence;
    ASSERT_EQ(static_cast<std::int64_t>(events.size()), stored - first + 1) << "a gap in round " << round;
    const auto snapshot = (*store)->latest_snapshot();
    const auto newest = snapshot ? snapshot->sequence : 0;
    ASSERT_EQ(newest, stored / kPerSnapshot * kPerSnapshot) << "in round " << round;
    ASSERT_LE(first, std::max<std::int64_t>(0, newest - kPerSnapshot) + 1)
        << "needed for replay in round " << round;
    shortened = shortened || first > 1;
    ASSERT_EQ((*store)->setting("n"), std::to_string(stored));
    ASSERT_EQ((*store)->trial(TrialId(1))->batches, stored);
    ASSERT_EQ(static_cast<std::int64_t>((*store)->metrics({.trial = TrialId(1)}).size()), stored);
    const auto logs = (*store)->logs({.task_id = sample_trial(1, 1).task_id});
    ASSERT_EQ(static_cast<std::int64_t>(logs.size()), stored);
    ASSERT_EQ(logs.back().log, std::to_string(stored));
  }
  EXPECT_TRUE(shortened) << "no kill could fall into the removal of events";
  EXPECT_GT(acknowledged_in_all, 500) << "too few commits for the kills to mean something";
  RecordProperty("acknowledged", std::to_string(acknowledged_in_all));
}

}  // namespace
}  // namespace det::store
