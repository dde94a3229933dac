#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "det/base/error.h"
#include "det/experiment/records.h"

namespace det::store {

using experiment::AllocationRecord;
using experiment::CheckpointRecord;
using experiment::CheckpointState;
using experiment::ExperimentRecord;
using experiment::LogRecord;
using experiment::MetricRecord;
using experiment::TrialRecord;

struct UserRecord {
  UserId id;
  std::string username, display_name;
  bool admin = false, active = true;
  std::string password_hash;  ///< argon2id; empty: the empty password
  Time modified_at;
};
struct SessionRecord {
  std::string token_hash;
  UserId user;
  Time expires;
};
struct TemplateRecord {
  std::string name;
  std::string yaml;
};
struct Event {
  std::int64_t sequence = 0;
  Time time;
  json::value body;
};
struct Snapshot {
  std::int64_t sequence = 0;  ///< of the last event that it contains
  json::value body;
};

// What can be remembered. Puts replace the row of the same id.
struct AppendEvent { Event event; };
struct SaveSnapshot { Snapshot snapshot; };
struct PutExperiment { ExperimentRecord record; };
struct PutTrial { TrialRecord record; };
struct PutAllocation { AllocationRecord record; };
struct PutCheckpoint { CheckpointRecord record; };
/// A report equal to one that is stored changes nothing; new names are merged into it.
struct AddMetrics { MetricRecord record; };
/// A new run of the trial starts at `batches`: reports beyond it vanish from all reads.
struct RewindTrial { TrialId trial; std::int64_t run_id = 0; std::int64_t batches = 0; };
/// Lines of one stream; those whose sequence is stored already are dropped (I-5).
struct AddLogs { std::string stream; std::int64_t first_sequence = 0; std::vector<LogRecord> lines; };
/// Lines of our own (scheduling messages), without a stream.
struct AddOwnLogs { std::vector<LogRecord> lines; };
struct PutModelDefinition { std::string digest; std::string archive; };
struct PutUser { UserRecord record; };
struct PutSession { SessionRecord record; };
struct DeleteSession { std::string token_hash; };
struct PutTemplate { TemplateRecord record; };
struct DeleteTemplate { std::string name; };
/// The experiment and all that belongs to it.
struct DeleteExperiment { ExperimentId id; };
struct PutSetting { std::string key; std::string value; };

using Change = std::variant<AppendEvent, SaveSnapshot, PutExperiment, PutTrial, PutAllocation, PutCheckpoint, AddMetrics,
                            RewindTrial, AddLogs, AddOwnLogs, PutModelDefinition, PutUser, PutSession, DeleteSession,
                            PutTemplate, DeleteTemplate, DeleteExperiment, PutSetting>;

struct Page { std::int64_t offset = 0; std::int64_t limit = 0; bool descending = false; };  ///< limit 0: all

struct LogQuery {
  std::string task_id;
  std::int64_t after_id = 0;          ///< only entries with a greater id
  std::int64_t limit = 0;             ///< 0: all
  bool descending = false;
  std::vector<std::string> agent_ids, container_ids, sources, stdtypes, levels;
  std::vector<int> rank_ids;
  std::optional<Time> before, after;
  std::string search;                 ///< substring
};

struct MetricQuery {
  TrialId trial;
  std::optional<std::string> group;
  std::int64_t after_batches = -1;
  std::int64_t limit = 0;
};

/// What the platform remembers.
///
/// Writes: `commit` queues the changes; a writer thread puts everything that is
/// queued into one transaction (group commit), syncs, and then calls `done` of
/// each in order. The changes of one call are applied together or not at all,
/// and calls in the order made. A write that fails ends the process: what the
/// kernel did after a failed sync cannot be known (reliability.md §2.2). Only
/// a full disk is answered by waiting and trying again, with `on_stall` told.
///
/// Reads: blocking, on the caller's thread, from read-only connections; they see
/// at least everything whose `done` was called before.
///
/// Threads: all members may be called from any thread.
class Store {
 public:
  virtual ~Store() = default;

  virtual void commit(std::vector<Change> changes, std::function<void()> done) = 0;
  /// Blocks until everything queued before is durable.
  virtual void flush() = 0;

  // What a restarted master needs.
  virtual std::optional<Snapshot> latest_snapshot() = 0;
  virtual std::vector<Event> events_after(std::int64_t sequence, std::int64_t limit) = 0;

  virtual std::vector<ExperimentRecord> experiments() = 0;  ///< all, ascending by id
  virtual std::optional<ExperimentRecord> experiment(ExperimentId id) = 0;
  virtual std::vector<TrialRecord> trials(ExperimentId id) = 0;
  virtual std::optional<TrialRecord> trial(TrialId id) = 0;
  virtual std::optional<TrialRecord> trial_of_task(const std::string& task_id) = 0;
  virtual std::vector<AllocationRecord> allocations(const std::string& task_id) = 0;
  virtual std::vector<CheckpointRecord> checkpoints_of_experiment(ExperimentId id) = 0;
  virtual std::vector<CheckpointRecord> checkpoints_of_trial(TrialId id) = 0;
  virtual std::optional<CheckpointRecord> checkpoint(const std::string& uuid) = 0;
  virtual std::vector<MetricRecord> metrics(const MetricQuery& query) = 0;  ///< ascending by (batches, group)
  virtual std::optional<MetricRecord> latest_metrics(TrialId trial, const std::string& group) = 0;
  virtual std::vector<LogRecord> logs(const LogQuery& query) = 0;
  virtual std::optional<std::string> model_definition(const std::string& digest) = 0;
  virtual std::vector<UserRecord> users() = 0;
  virtual std::optional<SessionRecord> session(const std::string& token_hash) = 0;
  virtual std::vector<TemplateRecord> templates() = 0;
  virtual std::optional<std::string> setting(const std::string& key) = 0;
};

struct SqliteOptions {
  std::filesystem::path path;
  std::function<void(const std::string&)> on_stall;  ///< told once when the disk is full, and again when it is not
};

/// Opens or creates the database, holds a lock on it, and brings its schema up to date.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);

}  // namespace det::store
