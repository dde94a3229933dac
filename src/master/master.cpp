#include "det/master/master.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>
#include "det/logging/log.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <fstream>

#include "det/checkpoint/storage.h"
#include "det/http/server/server.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/elastic/add_providers.h"
#include "det/master/elastic/provisioner.h"
#include "det/master/experiments/experiment_actions.h"
#include "det/master/identity/basic_logins.h"
#include "det/master/identity/request_limits.h"
#include "det/master/identity/secret.h"
#include "det/master/identity/secret_files.h"
#include "det/master/ledger/even_clock.h"
#include "det/master/logs/log_ring.h"
#include "det/master/models/registry.h"
#include "det/master/monitoring/measurements.h"
#include "det/master/parameters.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/access_rules.h"
#include "det/master/rights/audit.h"
#include "det/master/rights/rights.h"
#include "det/master/rights/role_book.h"
#include "det/master/routes.h"
#include "det/master/services.h"
#include "det/master/tasks/proxy_ports.h"
#include "det/master/tasks/proxy_routes.h"
#include "det/master/unmanaged/unmanaged.h"
#include "det/master/webhooks/webhooks.h"
#include "det/master/workspaces/place_deletion.h"
#include "det/master/workspaces/workspaces.h"
#include "det/version.h"

namespace det::master {
namespace {

/// The storage that there is without a word in the configuration. Where root runs the cluster, trials of
/// users that are linked to accounts write there too: as in /tmp, everybody may add checkpoints, and delete
/// their own.
void make_own_checkpoint_storage(const std::filesystem::path& place, const std::string& cluster_id) {
  if (::geteuid() != 0) return;
  const auto events = place / cluster_id / "tensorboard" / "experiment";  // that trials share
  std::error_code error;
  for (const auto& directory : {place, events}) {
    if (!std::filesystem::create_directories(directory, error)) continue;
    std::filesystem::permissions(directory, std::filesystem::perms::all | std::filesystem::perms::sticky_bit,
                                 error);
  }
}

Time wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

/// A setting of the store, made at the first start.
std::string setting(store::Store& store, const std::string& key, std::string (*make)()) {
  if (auto known = store.setting(key)) return *std::move(known);
  auto value = make();
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{key, value});
  store.commit(std::move(changes), [] {});
  store.flush();
  return value;
}

class Server final : public Master {
 public:
  Server(asio::any_io_executor strand, MasterOptions options, std::shared_ptr<store::Store> store,
         std::string token, std::shared_ptr<const http::TlsIdentity> identity)
      : strand_(strand),
        options_(std::move(options)),
        store_(std::move(store)),
        agent_token_(std::move(token)),
        identity_(std::move(identity)),
        pool_(4),
        ledger_(strand, *store_, EvenClock(wall_clock, steady_time)),
        auth_(ledger_, *store_,
              {.task_key = setting(*store_, "task_key", random_secret),
               .agent_token = agent_token_,
               .first_password = options_.first_password}),
        registry_(*store_),
        workspaces_(*store_),
        roles_(*store_, options_.authz),
        policies_(*store_),
        bindings_(*store_),
        unmanaged_(ledger_, *store_, pool_),
        webhooks_(strand, ledger_, *store_, workspaces_, unmanaged_, options_.webhooks),
        collector_(strand, ledger_, *store_, registry_, pool_),
        services_{ledger_,   *store_,   auth_,      collector_, registry_,     workspaces_, roles_,
                  policies_, bindings_, unmanaged_, webhooks_,  measurements_, liveness_,   pool_},
        limits_(options_.rate_limit),
        router_("Determined", DET_VERSION, &parameter_text),
        server_(
            strand,
            [this](http::Request request) {
              return is_proxied(request) ? proxy(services_, std::move(request)) : answer(std::move(request));
            },
            server_options(identity_)) {}

  ~Server() override {
    if (options_.log) options_.log->on_line(nullptr);
    pool_.join();
  }

  Result<void> restore() {
    DET_TRY([[maybe_unused]] const auto restored, ledger_.restore(options_.pools).map([] { return true; }));
    liveness_->was_deaf_until(steady_time());
    auth_.load();
    auth_.administrators([this](const store::UserRecord& user) {
      const access::Caller caller{
          .user = user.id, .name = user.username, .admin = user.admin, .grants = roles_.grants(user.id)};
      return access::is_administrator(roles_.mode(), caller);
    });
    if (auto first = roles_.begin(auth_.users()); !first.empty()) {
      store_->commit(std::move(first), [] {});
      store_->flush();
    }
    unmanaged_.load(ledger_.now());
    collector_.also_needed([this](const std::string& uuid) -> std::optional<std::string> {
      const auto trial = unmanaged_.needs(uuid);
      if (!trial) return std::nullopt;
      return fmt::format("the latest checkpoint of trial {}, which is not finished and will resume from it",
                         *trial);
    });
    services_.defaults = options_.defaults;
    services_.cluster_id = setting(*store_, "cluster_id", checkpoint::new_uuid);
    if (!services_.defaults.contains("checkpoint_storage")) {
      const auto place = options_.directory / "checkpoints";
      services_.defaults["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", place.string()}};
      make_own_checkpoint_storage(place, services_.cluster_id);
    }
    services_.cluster_name = options_.cluster_name;
    services_.master_id = checkpoint::new_uuid();
    services_.version = DET_VERSION;
    services_.launch_error = options_.launch_error;
    services_.log = options_.log;
    ledger_.on_allocation_over([this](const std::string& id) { services_.newest_report.erase(id); });
    ledger_.on_allocation_over(
        [this](const std::string& id) { services_.proxies.remove(id.substr(0, id.rfind('.'))); });
    for (const auto& [id, task] : ledger_.cluster().tasks())
      if (const auto& address = task.record().address)
        services_.proxies.set(id, address->host, static_cast<std::uint16_t>(address->port), address->secret,
                              address->ssh_port);
    measurements_.watch(ledger_, router_);
    ledger_.on_collect([this](ExperimentId id) { collector_.collect(id); });
    collector_.keep_deleted(options_.checkpoint_undo_seconds);
    if (options_.log) ring_for_own_log();
    services_.https = identity_ != nullptr;
    services_.log_retention = options_.log_retention;
    add_routes();
    return {};
  }

  Result<void> reload_certificate() override {
    if (!identity_)
      return failed_precondition(
          "the master was started without a TLS certificate; there is nothing to reload");
    DET_TRY(const auto renewed, http::TlsIdentity::load(options_.tls_certificate, options_.tls_key));
    for (const auto& name : identity_->names())
      if (std::ranges::find(renewed->names(), name) == renewed->names().end())
        return failed_precondition(
            "certificate {} does not cover {}, which the certificate in use covers; clients that use that "
            "name would no longer trust the master. Restart the master to change the names",
            options_.tls_certificate, name);
    identity_ = renewed;
    server_.use(identity_);
    return {};
  }
  std::vector<std::string> certificate_names() const override {
    return identity_ ? identity_->names() : std::vector<std::string>();
  }

  Result<void> listen() override {
    boost::system::error_code not_an_address;
    const auto address = asio::ip::make_address(options_.address, not_an_address);
    if (not_an_address)
      return invalid_argument(
          "'{}' is not an address to listen on; use an IP address such as 127.0.0.1 or 0.0.0.0",
          options_.address);
    if (const auto open = auth_.users_without_password(); !address.is_loopback() && !open.empty())
      return failed_precondition(
          "the master refuses to listen on {}, which other machines can reach, while these users have no "
          "password: {}. Start it on 127.0.0.1, set their passwords with 'det -u admin user change-password "
          "NAME' or deactivate them, then start it again",
          options_.address, fmt::join(open, ", "));
    if (!address.is_loopback() && !identity_)
      logging::warn(
          "the master listens on {} without TLS: passwords, tokens and data can be read on the network; set "
          "a certificate with --tls-cert and --tls-key",
          options_.address);
    DET_TRY([[maybe_unused]] const auto listening,
            server_.listen(options_.address, options_.port).map([] { return true; }));
    for (const auto id : ledger_.awaiting_collection()) collector_.collect(id);
    resume_deletions(services_, strand_);
    webhooks_.start();
    DET_TRY([[maybe_unused]] const auto started, start_providers().map([] { return true; }));
    asio::co_spawn(strand_, tick(), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    return {};
  }

  std::uint16_t port() const override { return server_.port(); }
  const std::string& agent_token() const override { return agent_token_; }
  Proxies& proxies() override { return services_.proxies; }
  json::object openapi() const override { return router_.openapi(); }
  std::vector<std::string> closed_operations() const override { return router_.closed_operations(); }

  asio::awaitable<void> stop() override {
    stopping_ = true;
    ledger_.ring(Ledger::provider_key(""));
    webhooks_.stop();
    if (provisioner_) provisioner_->stop();
    co_await server_.stop(std::chrono::milliseconds(1'000));
    ledger_.save_snapshot();
    co_await ledger_.durable();
  }

 private:
  static http::ServerOptions server_options(std::shared_ptr<const http::TlsIdentity> identity) {
    http::ServerOptions options;
    options.tls = std::move(identity);
    options.connections_per_address_max = 2'000;
    options.body_limit = body_limit;
    options.hands_over = is_proxied;
    return options;
  }

  /// What the file says, and what counts where it says nothing or a flag was given.
  json::object shown_configuration() const {
    auto shown = options_.configuration;
    for (const auto& member : services_.defaults) shown.insert_or_assign(member.key(), member.value());
    shown["host"] = options_.address;
    shown["port"] = options_.port;
    shown["cluster_name"] = options_.cluster_name;
    shown["launch_error"] = options_.launch_error;
    auto& security = shown["security"];
    if (!security.is_object()) security = json::object();
    security.get_object()["authz"] = {{"type", options_.authz == access::Mode::Rbac ? "rbac" : "basic"}};
    security.get_object()["audit_days"] = options_.audit_days;
    if (!options_.tls_certificate.empty())
      security.get_object()["tls"] = {{"cert", options_.tls_certificate}, {"key", options_.tls_key}};
    return shown;
  }

  Result<void> start_providers() {
    if (options_.providers.empty() && ledger_.cluster().allotments().empty()) return {};
    provisioner_ = std::make_unique<Provisioner>(strand_, ledger_, auth_, services_.cluster_id);
    services_.provisioner = provisioner_.get();
    const auto certificate = identity_ ? options_.tls_certificate : "";
    const MasterAddress address{options_.address, port(), certificate, certificate_names(),
                                options_.directory};
    DET_TRY([[maybe_unused]] const auto added,
            add_providers(*provisioner_, options_.providers, address).map([] { return true; }));
    provisioner_->start();
    return {};
  }

  asio::awaitable<Result<std::string>> admit(const std::string& operation, const http::Request& request,
                                             const std::any& principal) {
    if (const auto admitted = limits_.admit(principal, operation, ledger_.now()); !admitted)
      co_return tl::unexpected(admitted.error());
    // Reports wait; whoever looks at a terminal is told.
    if (store_->disk_full() && changes_something(operation))
      co_return fail(ErrorCode::Unavailable,
                     "the disk of the master is full; nothing was changed. Free some space and retry");
    if (store_->unreachable() && changes_something(operation))
      co_return fail(ErrorCode::Unavailable,
                     "the database server cannot be reached; nothing was changed. Retry in a moment");
    co_return co_await check_rights(services_, operation, request, principal);
  }

  asio::awaitable<http::Response> answer(http::Request request) {
    auto response = co_await router_.handle(std::move(request));
    if (response.status == 429 && !response.headers.contains("Retry-After"))
      response.headers.add("Retry-After", "1");
    co_return response;
  }

  void add_routes() {
    router_.authenticate([this](const http::Request& request) { return logins_.authenticate(request); });
    router_.authorize([this](const std::string& operation, const http::Request& request,
                             const std::any& principal) { return admit(operation, request, principal); });
    router_.observe([this](const http::Router::Call& call) { return audit(services_, call); });
    add_all_routes(router_, services_);
    add_master_config_routes(router_, shown_configuration());
    if (options_.prometheus) add_prometheus_routes(router_, services_);
  }

  /// Wakes those who follow the master's own log; many lines at once ring once.
  void ring_for_own_log() {
    const auto posted = std::make_shared<std::atomic<bool>>(false);
    options_.log->on_line([this, posted, strand = strand_, alive = std::weak_ptr(alive_)] {
      if (posted->exchange(true)) return;
      asio::post(strand, [this, posted, alive] {
        posted->store(false);
        if (!alive.expired()) ledger_.ring(Ledger::own_log_key());
      });
    });
  }

  /// What time brings about: lost agents, preemptions that took too long.
  asio::awaitable<void> tick() {
    Watch due(ledger_, Ledger::provider_key(""));
    while (!stopping_) {
      const auto now = ledger_.now();
      services_.proxies.look_at_uses(
          now, [this](const std::string& task) { return ledger_.cluster().task(task) != nullptr; });
      std::vector<cluster::Event> events = ledger_.cluster().due(now);
      for (auto& event : events)
        if (auto instead = used_meanwhile(services_, event)) event = *std::move(instead);
      // A master that was held up has calls before it that it has not heard yet.
      const auto steady = steady_time();
      if (steady - ticked_ > 3 * kSecond) liveness_->was_deaf_until(steady);
      ticked_ = steady;
      for (const auto& agent : liveness_->silent(ledger_.cluster().agents(), steady)) {
        logging::warn("agent {} has not called for {} s; no new tasks are placed on it", agent,
                      cluster::kSilentSeconds);
        events.push_back(cluster::AgentSilent{agent});
      }
      for (const auto& agent : liveness_->lost(ledger_.cluster().agents(), steady)) {
        logging::warn("agent {} has not called for {} s and is considered lost", agent,
                      cluster::kLostSeconds);
        events.push_back(cluster::AgentLost{agent});
      }
      liveness_->forget_strangers(ledger_.cluster().agents());
      for (auto& event : events) co_await ledger_.handle(std::move(event));
      co_await unmanaged_.tick(now);
      if (now - pruned_ > 3600 * kSecond) {
        pruned_ = now;
        std::vector<store::Change> old;
        old.push_back(store::PruneAudit{now + -std::int64_t{options_.audit_days} * 24 * 3600 * kSecond});
        co_await ledger_.write(std::move(old));
      }
      if (now - swept_ > 10 * kSecond) {
        swept_ = now;
        collector_.finish_deletions();
      }
      if (now - cleaned_ > options_.log_retention.every_seconds * kSecond) {
        cleaned_ = now;
        co_await clean_logs(services_);
      }
      co_await due.wait(std::chrono::seconds(1));
    }
  }

  asio::any_io_executor strand_;
  MasterOptions options_;
  std::shared_ptr<store::Store> store_;
  std::string agent_token_;
  std::shared_ptr<const http::TlsIdentity> identity_;  // null: plain HTTP
  asio::thread_pool pool_;
  Ledger ledger_;
  Auth auth_;
  Registry registry_;
  Workspaces workspaces_;
  RoleBook roles_;
  PolicyBook policies_;
  PoolBindings bindings_;
  Unmanaged unmanaged_;
  Webhooks webhooks_;
  Measurements measurements_;
  Collector collector_;
  std::shared_ptr<cluster::Liveness> liveness_ = std::make_shared<cluster::Liveness>(steady_time());
  std::unique_ptr<Provisioner> provisioner_;
  Services services_;
  BasicLogins logins_{services_};
  RequestLimits limits_;
  http::Router router_;
  http::Server server_;
  bool stopping_ = false;
  Time pruned_{};
  Time cleaned_{};
  Time swept_{};
  Time ticked_ = steady_time();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // for what is posted and may come after the end
};

}  // namespace

Result<std::unique_ptr<Master>> Master::open(asio::any_io_executor strand, MasterOptions options) {
  if (sodium_init() < 0) return fail(ErrorCode::Internal, "libsodium cannot be initialized");
  std::shared_ptr<const http::TlsIdentity> identity;
  if (!options.tls_certificate.empty()) {
    DET_TRY(identity, http::TlsIdentity::load(options.tls_certificate, options.tls_key));
  }
  std::error_code failed;
  std::filesystem::create_directories(options.directory, failed);
  if (failed)
    return fail(ErrorCode::Unavailable, "cannot create the directory {}: {}", options.directory.string(),
                failed.message());
  auto store = std::move(options.store);
  if (store) {
    if (std::filesystem::exists(options.directory / "determined.db", failed))
      logging::warn("{} is not used: the state is in PostgreSQL. 'det migrate' copies it there",
                    (options.directory / "determined.db").string());
    DET_TRY([[maybe_unused]] const auto shared,
            share_secrets(*store, options.directory).map([] { return true; }));
  } else {
    store::SqliteOptions where{.path = options.directory / "determined.db",
                               .on_stall = [](const std::string& what) { logging::error("{}", what); }};
    DET_TRY(store, store::open_sqlite(std::move(where)));
  }
  DET_TRY(auto token, secret_in(options.directory / "agent.token", "the agents' token", "det_agent_"));
  if (options.webhooks.signing_key.empty()) {
    DET_TRY(options.webhooks.signing_key,
            secret_in(options.directory / "webhook.key", "the key that signs what webhooks get", ""));
  }
  auto server = std::make_unique<Server>(strand, std::move(options), std::move(store), std::move(token),
                                         std::move(identity));
  DET_TRY([[maybe_unused]] const auto restored, server->restore().map([] { return true; }));
  return server;
}

}  // namespace det::master
