#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "det/access/decision.h"
#include "det/access/rate.h"
#include "det/base/error.h"
#include "det/base/json.h"
#include "det/cluster/pools.h"
#include "det/master/elastic/provider_settings.h"
#include "det/master/logs/log_retention.h"
#include "det/master/webhooks/webhook_settings.h"

namespace det::store {
class Store;
}

namespace det::master {

class LogRing;
class Proxies;

struct MasterOptions {
  std::filesystem::path directory;  ///< everything that the master keeps
  /// A PostgreSQL database instead of a file there; then `store` is open on it.
  std::string database{};
  std::shared_ptr<store::Store> store{};
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0: any free one
  std::string cluster_name = "determined";
  /// Under every experiment's configuration. Without checkpoint_storage there, checkpoints
  /// go to `<directory>/checkpoints`.
  json::object defaults;
  /// What the configuration file says, whole, to be shown; the members here count.
  json::object configuration{};
  /// What `GET /api/v1/master/logs` shows: a sink of the process's logger. None: nothing.
  std::shared_ptr<LogRing> log;
  bool launch_error = false;  ///< refuse experiments that no agent could ever run
  /// Whether roles are enforced; see docs/guide/teams.md.
  access::Mode authz = access::Mode::Basic;
  int audit_days = 90;                                  ///< how long the audit log remembers
  cluster::Pools pools{};                               ///< what take_pools finds in the configuration
  std::map<std::string, ProviderSettings> providers{};  ///< … of pools whose machines an engine gives
  bool prometheus = true;                               ///< whether /metrics and /prom/… are there
  WebhookSettings webhooks{};                           ///< the same of take_webhooks
  LogRetention log_retention{};                         ///< the same of take_log_retention
  std::int64_t checkpoint_undo_seconds = 0;             ///< how long deleted checkpoints can be brought back
  access::RateLimit::Limits rate_limit{};               ///< of each user's requests
  /// Of the users that the first start creates.
  std::string first_password{};
  /// Files in PEM form, both or neither: with them the port speaks HTTPS only.
  std::string tls_certificate, tls_key;
};

/// The server: the API, and everything behind it.
///
/// Order of calls: `open`, `listen`, then let the executor run; `co_await stop()` once.
/// Threads: `strand` must be an executor on which one thread runs, or a strand.
class Master {
 public:
  /// Opens the store, restores the cluster and begins a new epoch. Blocks.
  static Result<std::unique_ptr<Master>> open(boost::asio::any_io_executor strand, MasterOptions options);
  virtual ~Master() = default;

  /// Starts to serve. Refuses an address that others can reach while a user has no password.
  virtual Result<void> listen() = 0;
  virtual std::uint16_t port() const = 0;
  /// Reads the certificate's files again, for connections to come. An error leaves all as it is.
  virtual Result<void> reload_certificate() = 0;
  /// Whom the certificate is for; empty: the port speaks plain HTTP.
  virtual std::vector<std::string> certificate_names() const = 0;
  /// What agents show; also in `<directory>/agent.token`.
  virtual const std::string& agent_token() const = 0;
  /// Ends open calls, makes everything durable, and saves a snapshot.
  virtual boost::asio::awaitable<void> stop() = 0;
  /// Where the services of tasks answer. On the strand.
  virtual Proxies& proxies() = 0;
  /// The API as the server describes it.
  virtual json::object openapi() const = 0;
  /// The calls for which one has to log in, as "GET /api/v1/me", also those that are not in the document.
  virtual std::vector<std::string> closed_operations() const = 0;
};

}  // namespace det::master
