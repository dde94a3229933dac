#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// The event log and the snapshots that bound its replay.
namespace det::store {

void append_event(Connection& connection, const Event& event);
/// Keeps the snapshot before it as well.
void save_snapshot(Connection& connection, const Snapshot& snapshot);

std::optional<Snapshot> read_latest_snapshot(Connection& connection);
std::vector<Event> read_events_after(Connection& connection, std::int64_t sequence, std::int64_t limit);
/// 0 where there is none.
std::int64_t read_last_sequence(Connection& connection);

/// The older one is there in case the newer cannot be read.
constexpr std::int64_t kSnapshotsKept = 2;

/// Removes the events that no kept snapshot needs, on the writer's connection.
///
/// Paced by what is appended: `kRowsPerPrune` rows go for every `kAppendsPerPrune` that come, so that the log
/// never holds much more than lies between three snapshots, an old large one shrinks, and no commit pays for
/// more than its own events.
class EventPruner {
 public:
  static constexpr std::int64_t kAppendsPerPrune = 64;
  static constexpr std::int64_t kRowsPerPrune = 192;

  explicit EventPruner(Connection& connection);

  /// Call after each event.
  void appended();
  /// Looks again at what the database holds: after a snapshot, and after a rollback.
  void forget();

 private:
  Connection& connection_;
  std::int64_t needless_up_to_ = 0;  ///< sequence of the oldest snapshot kept; 0: all are needed
  std::int64_t appended_ = 0;        ///< since the last removal
  bool done_ = false;                ///< nothing is left to remove below it
};

}  // namespace det::store
