#include "det/store/rows/event_rows.h"

#include <algorithm>

namespace det::store {

void append_event(Connection& connection, const Event& event) {
  Query(connection, "INSERT INTO events (sequence, time, body) VALUES (?, ?, ?)")
      .bind(event.sequence, event.time, Document{event.body})
      .run();
}

void save_snapshot(Connection& connection, const Snapshot& snapshot) {
  Query(connection, R"sql(
INSERT INTO snapshots (sequence, body)
VALUES (?, ?)
ON CONFLICT (sequence) DO UPDATE SET body = excluded.body
)sql")
      .bind(snapshot.sequence, Document{snapshot.body})
      .run();
  Query(connection, R"sql(
DELETE FROM snapshots
WHERE sequence NOT IN (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT ?)
)sql")
      .bind(kSnapshotsKept)
      .run();
}

std::optional<Snapshot> read_latest_snapshot(Connection& connection) {
  Query query(connection, "SELECT sequence, body FROM snapshots ORDER BY sequence DESC LIMIT 1");
  return first<Snapshot>(query, [](Query& row) {
    Snapshot snapshot;
    row.read(snapshot.sequence, Document{snapshot.body});
    return snapshot;
  });
}

std::vector<Event> read_events_after(Connection& connection, std::int64_t sequence, std::int64_t limit) {
  Query query(connection,
              "SELECT sequence, time, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?");
  query.bind(sequence, limit_or_all(limit));
  return collect<Event>(query, [](Query& row) {
    Event event;
    row.read(event.sequence, event.time, Document{event.body});
    return event;
  });
}

std::int64_t read_last_sequence(Connection& connection) {
  std::int64_t last = 0;
  for (const char* sql : {"SELECT COALESCE(MAX(sequence), 0) FROM events",
                          "SELECT COALESCE(MAX(sequence), 0) FROM snapshots"}) {
    Query query(connection, sql);
    query.next();
    last = std::max(last, query.get<std::int64_t>());
  }
  return last;
}

EventPruner::EventPruner(Connection& connection) : connection_(connection) {
  forget();
}

void EventPruner::forget() {
  Query query(connection_, "SELECT COUNT(*), COALESCE(MIN(sequence), 0) FROM snapshots");
  query.next();
  std::int64_t snapshots = 0, oldest = 0;
  query.read(snapshots, oldest);
  needless_up_to_ = snapshots >= kSnapshotsKept ? oldest : 0;
  done_ = false;
}

void EventPruner::appended() {
  if (++appended_ < kAppendsPerPrune) return;
  appended_ = 0;
  if (done_ || needless_up_to_ == 0) return;
  // Rows lie in the order of their sequence: this reads and removes only the first ones.
  Query(connection_,
        "DELETE FROM events WHERE sequence IN (SELECT sequence FROM events WHERE sequence <= ? ORDER BY "
        "sequence "
        "LIMIT ?)")
      .bind(needless_up_to_, kRowsPerPrune)
      .run();
  done_ = connection_.changes() < kRowsPerPrune;
}

}  // namespace det::store
