#pragma once

#include "det/store/sqlite.h"
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

}  // namespace det::store
