#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Webhooks and what is on its way to them.
namespace det::store {

void put_webhook(Connection& connection, const WebhookRecord& record);
/// With what was to be delivered to it.
void delete_webhook(Connection& connection, WebhookId id);
void put_delivery(Connection& connection, const DeliveryRecord& record);
void delete_delivery(Connection& connection, const std::string& event_id);
void put_log_hit(Connection& connection, const LogHitRecord& record);
/// Of all tasks of the experiment.
void delete_log_hits(Connection& connection, ExperimentId id);

std::vector<WebhookRecord> read_webhooks(Connection& connection);
std::vector<DeliveryRecord> read_deliveries(Connection& connection);
std::vector<LogHitRecord> read_log_hits(Connection& connection);

}  // namespace det::store
