// How many reports and log lines per second does the store acknowledge as durable?
//
//   store_bench [directory] [seconds per case]
//   store_bench postgres://USER@HOST/NAME [seconds per case]    all tables of that database are dropped
//
// "waiting": each committer waits for the acknowledgement of its report before the next one, as a trial does.
// "in flight": reports arrive faster than they are written, so that commits are grouped as far as possible.
// Choose a directory on the disk to be measured; a tmpfs measures only the processor.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "det/store/postgres/postgres_store.h"
#include "det/store/sqlite/sqlite_store.h"

namespace {

using namespace det;
using namespace det::store;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::filesystem::path directory;
double seconds_per_case = 2;

/// Of an empty database of a PostgreSQL server; empty: SQLite.
std::string postgres;

/// A store in a new file, which is removed at the end; or in tables that are.
class Scratch {
 public:
  explicit Scratch(SqliteSettings options = {}) {
    remove();
    auto opened = postgres.empty() ? open_sqlite(path(), std::move(options))
                                   : open_postgres(postgres, std::move(options), {.holder = "bench"});
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().message().c_str());
      std::exit(1);
    }
    store_ = *std::move(opened);
  }
  ~Scratch() {
    store_.reset();
    remove();
  }
  Store& operator*() { return *store_; }
  Store* operator->() { return store_.get(); }

 private:
  static std::filesystem::path path() { return directory / "store_bench.db"; }
  static void remove() {
    if (!postgres.empty()) {
      PostgresConnection(postgres, PostgresConnection::Mode::Write)
          .execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
      return;
    }
    for (const auto* suffix : {"", "-wal", "-shm", ".lock"})
      std::filesystem::remove(path().string() + suffix);
  }
  std::unique_ptr<Store> store_;
};

experiment::MetricRecord training_report(std::int64_t trial, std::int64_t n) {
  experiment::MetricRecord r;
  r.trial_id = TrialId(trial);
  r.run_id = 1;
  r.group = "training";
  r.batches = n * 100;
  r.report_time = Time{n};
  const double x = 1.0 / static_cast<double>(n + trial);
  r.avg_metrics = {{"loss", x}, {"accuracy", 1 - x}, {"batches_per_second", 1234.5 + x}};
  return r;
}

struct Figures {
  double per_second = 0;
  double p50_ms = 0, p99_ms = 0;
};

Figures figures(std::vector<double>& milliseconds, double seconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double part) {
    return milliseconds[static_cast<std::size_t>(part * static_cast<double>(milliseconds.size() - 1))];
  };
  return {static_cast<double>(milliseconds.size()) / seconds, at(0.5), at(0.99)};
}

Figures waiting(Store& store, int committers) {
  std::mutex mutex;
  std::vector<double> latencies;
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (int c = 1; c <= committers; ++c)
    threads.emplace_back([&, c] {
      std::vector<double> own;
      for (std::int64_t n = 1; Seconds(Clock::now() - start).count() < seconds_per_case; ++n) {
        const auto sent = Clock::now();
        std::atomic<bool> done = false;
        store.commit({AddMetrics{training_report(c, n)}}, [&] {
          done = true;
          done.notify_one();
        });
        done.wait(false);
        own.push_back(Seconds(Clock::now() - sent).count() * 1e3);
      }
      const std::lock_guard lock(mutex);
      latencies.insert(latencies.end(), own.begin(), own.end());
    });
  for (auto& thread : threads) thread.join();
  return figures(latencies, Seconds(Clock::now() - start).count());
}

Figures pipelined(Store& store, int trials, int in_flight_max) {
  std::vector<double> latencies;  // appended to by the writer's thread only
  std::atomic<std::int64_t> done_count = 0;
  std::int64_t sent = 0;
  const auto start = Clock::now();
  while (Seconds(Clock::now() - start).count() < seconds_per_case) {
    if (sent - done_count >= in_flight_max) {
      std::this_thread::yield();
      continue;
    }
    ++sent;
    store.commit({AddMetrics{training_report(1 + sent % trials, 1 + sent / trials)}}, [&, at = Clock::now()] {
      latencies.push_back(Seconds(Clock::now() - at).count() * 1e3);
      ++done_count;
    });
  }
  store.flush();
  return figures(latencies, Seconds(Clock::now() - start).count());
}

double log_lines_per_second(Store& store, int streams, int lines_at_once) {
  experiment::LogRecord line;
  line.source = "task";
  line.stdtype = "stdout";
  line.level = "INFO";
  line.log =
      "epoch 3 batch 1200: loss 0.123456, 1234.5 records per second, learning rate 0.001 (warm-up done)";
  std::atomic<std::int64_t> waiting_count = 0;
  std::int64_t batches = 0;
  const auto start = Clock::now();
  while (Seconds(Clock::now() - start).count() < seconds_per_case) {
    if (waiting_count > 2 * streams) {
      std::this_thread::yield();
      continue;
    }
    const auto stream = batches % streams;
    line.task_id = "task-" + std::to_string(stream);
    ++waiting_count;
    AddLogs logs{line.task_id, batches / streams * lines_at_once,
                 std::vector<experiment::LogRecord>(static_cast<std::size_t>(lines_at_once), line)};
    store.commit({std::move(logs)}, [&] { --waiting_count; });
    ++batches;
  }
  store.flush();
  return static_cast<double>(batches * lines_at_once) / Seconds(Clock::now() - start).count();
}

void show(const char* mode, const char* what, int n, const Figures& f) {
  std::printf("%-20s %-24s %6d %12.0f %9.2f %9.2f\n", mode, what, n, f.per_second, f.p50_ms, f.p99_ms);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  directory = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
  if (const std::string target = directory.string(); target.starts_with("postgres")) postgres = argv[1];
  if (argc > 2) seconds_per_case = std::atof(argv[2]);
  std::printf("%-20s %-24s %6s %12s %9s %9s\n", "mode", "reports", "n", "per second", "p50 ms", "p99 ms");
  struct Mode {
    const char* name;
    SqliteSettings options;
  };
  SqliteSettings as_shipped, single, growing, unsynced;
  single.transaction_bytes_max = 1;
  growing.reserve_log = false;
  unsynced.sync_every_commit = false;
  std::vector<Mode> modes{{postgres.empty() ? "as shipped" : "PostgreSQL", as_shipped}};
  if (postgres.empty()) {
    modes.push_back({"one commit each", single});
    modes.push_back({"log not reserved", growing});
    modes.push_back({"synchronous=NORMAL", unsynced});
  }
  for (const auto& [name, options] : modes) {
    for (const int committers : {1, 2, 4, 8, 16, 32, 64, 256})
      show(name, "waiting committers", committers, waiting(*Scratch(options), committers));
    for (const int trials : {1, 100, 10'000})
      show(name, "2000 in flight, trials", trials, pipelined(*Scratch(options), trials, 2000));
  }
  for (const int times : {1, 2}) {
    const auto start = Clock::now();
    const Scratch store;
    std::printf("open a new store: %.1f ms%s", Seconds(Clock::now() - start).count() * 1e3,
                times == 1 ? ", " : "\n");
  }
  for (const int streams : {1, 8, 64})
    std::printf("log lines per second, batches of 1000, %2d streams: %.0f\n", streams,
                log_lines_per_second(*Scratch(), streams, 1000));
  return 0;
}
