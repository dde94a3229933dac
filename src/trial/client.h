#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/http/url.h"
#include "det/trial/line.h"
#include "det/trial/plan.h"
#include "det/trial/reporter.h"

namespace det::trial {

/// Who a trial process is and where its master is: docs/reference/protocols.md §2.
struct ClientOptions {
  http::Url master;
  std::vector<http::Url>
      all_masters{};  ///< Several that share a database, of which one leads; empty: `master`.
  std::string token;
  ExperimentId experiment;
  TrialId trial;
  std::int64_t run = 1;
  std::string task_id;
  std::string allocation_id;
  /// What turns the searcher's records or epochs into batches; 0: the trial cannot.
  std::int64_t global_batch_size = 0;
  std::int64_t records_per_epoch = 0;

  Retry retry;
  Reporter::Limits limits;
  std::chrono::milliseconds progress_interval{250};
  std::function<void(const std::string&)>
      notice;                  ///< Gets a sentence about an outage; absent: standard error.
  std::function<void()> poll;  ///< Called now and then by whoever waits; may throw.
};

/// Reads the DET_* variables; names the first that is missing or wrong.
Result<ClientOptions> options_from_environment(const std::function<const char*(const char*)>& variable);

/// The searcher's demands so far.
struct Operations {
  std::vector<std::int64_t> lengths;  ///< total batches, ascending
  std::int64_t completed = 0;         ///< how many the master knows to be completed
  bool closed = false;
};

/// What a trial process says to its master and hears from it.
///
/// Calls return once the master has made the report durable, or earlier where
/// their comment says "queued". All reports arrive in the order of the calls, and
/// exactly once in effect: repeating one changes nothing. While the master
/// cannot be reached, calls wait and try again for ever. Error code Gone: the
/// allocation is over; end the process without writing anything more.
///
/// Threads: safe. Its own threads start with the first call, so it may be made
/// before a fork and used after it; a child cannot use the threads of its
/// parent and is told so.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();  ///< Drops what is still queued; `close` does not.

  /// Waits until there are more than `known` operations, the trial is closed,
  /// preemption is asked for, or the time is up; answers with what is known then.
  Result<Operations> operations(std::int64_t known, std::chrono::milliseconds timeout);
  /// `length` is one of those that `operations` gave.
  Result<void> complete_operation(std::int64_t length, double metric);

  /// Queued; waits only while the queue is full. `batches` is the total after this chunk, `records` how many
  /// the chunk had over all slots (0: not counted).
  Result<void> report_training(std::int64_t batches, json::object average, json::array each_batch,
                               std::int64_t records = 0);
  Result<void> report_validation(std::int64_t batches, json::object metrics, std::int64_t records = 0);
  Result<void> report_progress(double fraction);        ///< Queued; too frequent ones are left out.
  Result<void> report_state(const std::string& state);  ///< Queued.
  /// What this rank found where it runs. Queued; a refusal is only noticed.
  Result<void> report_environment(int rank, json::object environment);
  /// Before the first file goes to storage: what is never reported is then deleted one day.
  Result<void> begin_checkpoint(const std::string& uuid);
  /// After all files are in storage.
  Result<void> report_checkpoint(const std::string& uuid, std::int64_t batches,
                                 const std::map<std::string, std::int64_t>& resources, json::object metadata);
  /// `message` is shown as the trial's error where the reason is EXITED_REASON_ERRORED.
  Result<void> report_early_exit(const std::string& reason, const std::string& message = {});

  /// Costs nothing: reads what a thread learns from the master.
  Result<bool> preempt_requested();
  /// `can_wait`: everything is saved, and this process could go on later from where it is. Then `wish` says
  /// what it shall do.
  Result<void> acknowledge_preemption(bool can_wait = false);
  /// After acknowledge_preemption(true): what the master wants; Wait when it has not said more in `timeout`.
  /// After GoOn the preemption is over, and another one may come.
  enum class Wish { Wait, GoOn, Leave };
  Result<Wish> wish(std::chrono::milliseconds timeout);
  /// The experiment's best searcher metric so far.
  Result<std::optional<double>> best_validation();

  /// Says where this process, rank 0, is found by the others: "host:port", any of which may work.
  Result<void> publish_rendezvous(const std::vector<std::string>& addresses);
  /// Where rank 0 is found; empty when it has not said so within `timeout`.
  Result<std::vector<std::string>> rendezvous(std::chrono::milliseconds timeout);

  Result<void> flush();
  /// Flushes and ends the threads. The second time does nothing.
  Result<void> close();

 private:
  struct Threads;
  struct Operation {
    std::int64_t length = 0;  ///< as the searcher counts
    std::int64_t batches = 0;
    bool completed = false;  ///< by this process
  };

  Result<std::shared_ptr<Threads>> threads();
  Result<http::Reply> send(http::Call call);
  Result<void> post(const std::string& path, const json::object& body);
  Result<void> enqueue(Reporter::Kind kind, const std::string& path, const json::object& body);
  Result<Operations> read_operations(const std::string& body);
  json::object metrics_body(const char* group, std::int64_t batches, json::object metrics) const;
  static void watch_preemption(Threads& threads, const std::string& allocation_path);
  void start_watching(Threads& threads);
  void abandon_in_fork();

  const ClientOptions options_;
  const std::string trial_path_;
  const std::string allocation_path_;

  std::mutex mutex_;
  std::shared_ptr<Threads> threads_;  ///< calls in progress hold it, too
  bool closed_ = false;
  std::vector<Operation> known_;
  Operations latest_;
  std::chrono::steady_clock::time_point progress_sent_{};
};

}  // namespace det::trial
