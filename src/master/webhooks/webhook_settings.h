#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/master/webhooks/outside_address.h"

namespace det::master {

/// `webhooks` of the master's configuration.
struct WebhookSettings {
  std::string signing_key{};       ///< empty: the one in DIR/webhook.key, made at the first start
  std::string base_url{};          ///< where users reach the master, without a final "/"
  std::vector<Network> allowed{};  ///< addresses that webhooks may have besides those of the Internet
};

/// Takes what is about webhooks out of the master's configuration.
///
///     webhooks:
///       base_url: https://det.example.com
///       signing_key: a secret
///       allowed_networks: [10.1.0.0/16]
///
/// InvalidArgument says every problem at once.
Result<WebhookSettings> take_webhooks(json::object& configuration);
/// The same of `observability: {enable_prometheus: true}`: whether the master shows its measurements.
Result<bool> take_prometheus(json::object& configuration);

}  // namespace det::master
