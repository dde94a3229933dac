#include "det/store/rows/webhook_rows.h"

namespace det::store {

void put_webhook(Connection& connection, const WebhookRecord& r) {
  Query(connection, R"sql(
INSERT INTO webhooks (id, name, url, type, mode, workspace_id, triggers, owner, creation_time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, url = excluded.url, type = excluded.type, mode = excluded.mode,
    workspace_id = excluded.workspace_id, triggers = excluded.triggers, owner = excluded.owner,
    creation_time = excluded.creation_time
)sql")
      .bind(r.id, r.name, r.url, r.type, r.mode, r.workspace, Document{r.triggers}, r.owner, r.creation_time)
      .run();
}

void delete_webhook(Connection& connection, WebhookId id) {
  Query(connection, "DELETE FROM webhook_deliveries WHERE webhook_id = ?").bind(id).run();
  Query(connection, "DELETE FROM webhook_log_hits WHERE webhook_id = ?").bind(id).run();
  Query(connection, "DELETE FROM webhooks WHERE id = ?").bind(id).run();
}

// One that was deleted with its webhook in the meantime does not come back.
void put_delivery(Connection& connection, const DeliveryRecord& r) {
  Query(connection, R"sql(
INSERT INTO webhook_deliveries (event_id, webhook_id, body, creation_time, attempts, next_attempt)
SELECT ?, ?, ?, ?, ?, ?
WHERE EXISTS (SELECT 1 FROM webhooks WHERE id = ?)
ON CONFLICT (event_id) DO UPDATE
SET webhook_id = excluded.webhook_id, body = excluded.body, creation_time = excluded.creation_time,
    attempts = excluded.attempts, next_attempt = excluded.next_attempt
)sql")
      .bind(r.event_id, r.webhook, r.body, r.creation_time, r.attempts, r.next_attempt, r.webhook)
      .run();
}

void delete_delivery(Connection& connection, const std::string& event_id) {
  Query(connection, "DELETE FROM webhook_deliveries WHERE event_id = ?").bind(event_id).run();
}

void put_log_hit(Connection& connection, const LogHitRecord& r) {
  Query(connection, R"sql(
INSERT INTO webhook_log_hits (task_id, webhook_id, pattern)
VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
)sql")
      .bind(r.task_id, r.webhook, r.pattern)
      .run();
}

void delete_log_hits(Connection& connection, ExperimentId id) {
  Query(connection, R"sql(
DELETE FROM webhook_log_hits
WHERE task_id IN (SELECT task_id FROM trials WHERE experiment_id = ?)
)sql")
      .bind(id)
      .run();
}

std::vector<WebhookRecord> read_webhooks(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, name, url, type, mode, workspace_id, triggers, owner, creation_time
FROM webhooks
ORDER BY id
)sql");
  return collect<WebhookRecord>(query, [](Query& row) {
    WebhookRecord r;
    row.read(r.id, r.name, r.url, r.type, r.mode, r.workspace, Document{r.triggers}, r.owner,
             r.creation_time);
    return r;
  });
}

std::vector<DeliveryRecord> read_deliveries(Connection& connection) {
  Query query(connection, R"sql(
SELECT event_id, webhook_id, body, creation_time, attempts, next_attempt
FROM webhook_deliveries
ORDER BY creation_time, event_id
)sql");
  return collect<DeliveryRecord>(query, [](Query& row) {
    DeliveryRecord r;
    row.read(r.event_id, r.webhook, r.body, r.creation_time, r.attempts, r.next_attempt);
    return r;
  });
}

std::vector<LogHitRecord> read_log_hits(Connection& connection) {
  Query query(connection, "SELECT task_id, webhook_id, pattern FROM webhook_log_hits");
  return collect<LogHitRecord>(query, [](Query& row) {
    LogHitRecord r;
    row.read(r.task_id, r.webhook, r.pattern);
    return r;
  });
}

}  // namespace det::store
