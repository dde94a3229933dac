#include "det/store/event_rows.h"

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
WHERE sequence NOT IN (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT 2)
)sql")
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
  query.bind(sequence, limit > 0 ? limit : std::int64_t{-1});
  return collect<Event>(query, [](Query& row) {
    Event event;
    row.read(event.sequence, event.time, Document{event.body});
    return event;
  });
}

std::int64_t read_last_sequence(Connection& connection) {
  Query query(connection, "SELECT COALESCE(MAX(sequence), 0) FROM events");
  query.next();
  return query.get<std::int64_t>();
}

}  // namespace det::store
