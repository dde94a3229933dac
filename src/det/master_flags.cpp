#include "det/det/master_flags.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <fstream>
#include <sstream>

#include "det/config/yaml/yaml.h"
#include "det/det/database.h"
#include "det/http/url.h"
#include "det/master/checkpoints/undo_settings.h"
#include "det/master/identity/security_settings.h"
#include "det/master/logs/log_ring.h"
#include "det/master/pools/pool_settings.h"

namespace det::commands {

void MasterFlags::add_to(CLI::App& app) {
  app.add_option("--dir", options.directory, "Directory for the state of the master")->capture_default_str();
  app.add_option("--db", options.database,
                 "PostgreSQL database for the state, as postgres://USER@HOST:PORT/NAME (default: the "
                 "configuration's, or SQLite in DIR)");
  app.add_option("--host", options.address, "Address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "Port to listen on; 0: any free port")->capture_default_str();
  app.add_option("--advertise", options.advertised_url,
                 "URL where clients reach this master (default: from --host and --port)");
  app.add_option("--cluster-name", options.cluster_name, "Name shown to users")->capture_default_str();
  app.add_option(
      "--config-file", config_file_,
      "Configuration file of the master (YAML), such as resource pools, webhooks, and defaults for "
      "experiments");
  app.add_option(
         "--authz", authz_,
         "Authorization mode; basic: all users see everything, and only owners and administrators delete; "
         "rbac: roles decide (default: the configuration's, or basic)")
      ->check(CLI::IsMember({"basic", "rbac"}));
  app.add_option("--idle-seconds", idle_seconds_,
                 "Seconds that an idle trial keeps its processes on slots that no other trial needs "
                 "(default: the configuration's, or 300)")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--tls-cert", options.tls_certificate,
                 "TLS certificate with its chain (PEM), to serve HTTPS only; SIGHUP reloads it");
  app.add_option("--tls-key", options.tls_key, "Private key of the TLS certificate (PEM)");
  app.add_flag("--launch-error", options.launch_error, "Refuse experiments that no agent can run");
  app.add_flag("-v,--verbose", verbose, "Write debug messages to the log");
}

Result<void> MasterFlags::finish() {
  std::error_code ignored;
  options.directory = std::filesystem::absolute(options.directory, ignored);
  options.log = std::make_shared<master::LogRing>();
  const auto certificate = options.tls_certificate, key = options.tls_key, database = options.database;
  DET_TRY(options.advertised_url, check_advertised(options.advertised_url));
  if (!database.empty()) {
    DET_TRY([[maybe_unused]] const auto named, check_database(database).map([] { return true; }));
  }
  DET_TRY([[maybe_unused]] const auto read, read_config_file().map([] { return true; }));
  if (!database.empty()) options.database = database;
  if (!options.database.empty()) options.database = with_password(options.database);
  if (!certificate.empty() || !key.empty()) options.tls_certificate = certificate, options.tls_key = key;
  DET_TRY([[maybe_unused]] const auto whole,
          master::check_tls_files(options.tls_certificate, options.tls_key).map([] { return true; }));
  if (!options.tls_certificate.empty())  // tasks find it from their own directories
    options.tls_certificate = std::filesystem::absolute(options.tls_certificate, ignored).string();
  if (idle_seconds_) {
    if (options.pools.pools.empty()) options.pools.pools.push_back({.name = "default"});
    for (auto& pool : options.pools.pools) pool.idle_seconds = *idle_seconds_;
  }
  if (!authz_.empty()) options.authz = authz_ == "rbac" ? access::Mode::Rbac : access::Mode::Basic;
  return {};
}

Result<void> MasterFlags::read_config_file() {
  if (config_file_.empty()) return {};
  std::ifstream file(config_file_);
  if (!file)
    return invalid_argument("cannot read the configuration file {}: {}", config_file_, std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  auto document = config::parse_yaml(text.str());
  if (!document) return invalid_argument("{}: {}", config_file_, document.error().front().text);
  if (!document->value.is_object())
    return invalid_argument("the configuration file {} must be a map of settings", config_file_);
  options.defaults = document->value.as_object();
  options.configuration = options.defaults;
  mask_database(options.configuration);
  DET_TRY(options.database, take_database(options.defaults));
  DET_TRY(options.pools, master::take_pools(options.defaults, options.providers));
  DET_TRY(options.prometheus, master::take_prometheus(options.defaults));
  DET_TRY(options.webhooks, master::take_webhooks(options.defaults));
  DET_TRY(options.log_retention, master::take_log_retention(options.defaults));
  DET_TRY(options.checkpoint_undo_seconds, master::take_checkpoint_undo(options.defaults));
  DET_TRY(const auto security, master::take_security(options.defaults));
  options.authz = security.authz;
  options.audit_days = security.audit_days;
  options.tls_certificate = security.tls_certificate;
  options.tls_key = security.tls_key;
  options.rate_limit = security.rate_limit;
  return {};
}

}  // namespace det::commands
