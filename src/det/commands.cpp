#include "det/det/commands.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <sstream>
#include <thread>

#include "det/agent/agent.h"
#include "det/agent/pilot.h"
#include "det/agent/shim/shim.h"
#include "det/agent/slots.h"
#include "det/config/yaml/yaml.h"
#include "det/det/database.h"
#include "det/det/paths.h"
#include "det/det/slurm_up.h"
#include "det/det/upgrade.h"
#include "det/http/url.h"
#include "det/master/checkpoints/undo_settings.h"
#include "det/master/identity/security_settings.h"
#include "det/master/logs/log_ring.h"
#include "det/master/master.h"
#include "det/master/pools/pool_settings.h"
#include "det/version.h"

namespace det::commands {
namespace {

namespace asio = boost::asio;

/// The program's log goes to stderr and, where there is a master, to its ring.
void log_to_stderr(bool verbose, std::shared_ptr<master::LogRing> ring = nullptr) {
  auto logger = spdlog::stderr_color_mt("det");
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  if (ring) logger->sinks().push_back(std::move(ring));
  spdlog::set_default_logger(std::move(logger));
}

int failed(const Error& error) {
  std::fprintf(stderr, "det: %s\n", error.message().c_str());
  return 1;
}

struct MasterFlags {
  master::MasterOptions options{.directory = default_directory()};
  std::string config_file;
  std::string authz;
  std::optional<int> idle_seconds;
  bool verbose = false;

  void add_to(CLI::App& app) {
    app.add_option("--dir", options.directory, "Directory for the state of the master")
        ->capture_default_str();
    app.add_option("--db", options.database,
                   "PostgreSQL database for the state, as postgres://USER@HOST:PORT/NAME (default: the "
                   "configuration's, or SQLite in DIR)");
    app.add_option("--host", options.address, "Address to listen on")->capture_default_str();
    app.add_option("--port", options.port, "Port to listen on; 0: any free port")->capture_default_str();
    app.add_option("--advertise", options.advertised_url,
                   "URL where clients reach this master (default: from --host and --port)");
    app.add_option("--cluster-name", options.cluster_name, "Name shown to users")->capture_default_str();
    app.add_option(
        "--config-file", config_file,
        "Configuration file of the master (YAML), such as resource pools, webhooks, and defaults for "
        "experiments");
    app.add_option(
           "--authz", authz,
           "Authorization mode; basic: all users see everything, and only owners and administrators delete; "
           "rbac: roles decide (default: the configuration's, or basic)")
        ->check(CLI::IsMember({"basic", "rbac"}));
    app.add_option("--idle-seconds", idle_seconds,
                   "Seconds that an idle trial keeps its processes on slots that no other trial needs "
                   "(default: the configuration's, or 300)")
        ->check(CLI::Range(0, 1'000'000));
    app.add_option("--tls-cert", options.tls_certificate,
                   "TLS certificate with its chain (PEM), to serve HTTPS only; SIGHUP reloads it");
    app.add_option("--tls-key", options.tls_key, "Private key of the TLS certificate (PEM)");
    app.add_flag("--launch-error", options.launch_error, "Refuse experiments that no agent can run");
    app.add_flag("-v,--verbose", verbose, "Write debug messages to the log");
  }

  Result<void> finish() {
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
    if (idle_seconds) {
      if (options.pools.pools.empty()) options.pools.pools.push_back({.name = "default"});
      for (auto& pool : options.pools.pools) pool.idle_seconds = *idle_seconds;
    }
    if (!authz.empty()) options.authz = authz == "rbac" ? access::Mode::Rbac : access::Mode::Basic;
    return {};
  }

 private:
  Result<void> read_config_file() {
    if (config_file.empty()) return {};
    std::ifstream file(config_file);
    if (!file)
      return invalid_argument("cannot read the configuration file {}: {}", config_file, std::strerror(errno));
    std::stringstream text;
    text << file.rdbuf();
    auto document = config::parse_yaml(text.str());
    if (!document) return invalid_argument("{}: {}", config_file, document.error().front().text);
    if (!document->value.is_object())
      return invalid_argument("the configuration file {} must be a map of settings", config_file);
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
};

struct AgentFlags {
  agent::AgentOptions options;
  std::vector<std::string> attributes;
  bool no_isolation = false;
  bool no_warm_worker = false;

  /// What is wrong with it; empty: it was taken.
  std::string add_attribute(const std::string& text) {
    const auto at = text.find('=');
    const auto name = text.substr(0, at);
    if (at == std::string::npos || !api::is_name(name) || !api::is_name(text.substr(at + 1)))
      return fmt::format(
          "attribute '{}' must have the form NAME=VALUE, with letters, digits, '.', '-' and '_'", text);
    options.attributes[name] = text.substr(at + 1);
    return "";
  }

  AgentFlags() {
    options.python = default_python();
    options.python_path = default_python_path();
    options.cxx_program = default_cxx_program();
  }

  void add_to(CLI::App& app) {
    app.add_option("--agent-id", options.agent_id, "Name of this agent (default: the host name)");
    app.add_option("--slots", options.slots, "Number of slots (default: one per GPU, or one for the CPUs)");
    app.add_option("--resource-pool", options.resource_pool, "Resource pool to join")->capture_default_str();
    app.add_option("--label", options.label,
                   "Run only experiments with this resources.agent_label (default: those without a label)");
    app.add_option("--attribute", attributes,
                   "Attribute NAME=VALUE, matched against resources.agent_attributes; may be repeated")
        ->check([this](const std::string& text) { return add_attribute(text); });
    app.add_option("--python", options.python, "Python that runs trials")->capture_default_str();
    app.add_option("--python-path", options.python_path,
                   "Directory with the Python package determined, if it is not installed");
    app.add_option("--memory-per-slot", options.memory_per_slot,
                   "Memory limit per slot, such as 16GiB (default: no limit)")
        ->transform(CLI::AsSizeValue(false));
    app.add_option(
        "--pids-per-slot", options.pids_per_slot,
        "Maximum number of processes and threads per slot; 0: no limit (default: 16384, or less on a "
        "small machine)");
    app.add_option("--on-disconnect", options.on_disconnect,
                   "What trials do when the lease from the master expires: continue or stop")
        ->transform(CLI::CheckedTransformer(std::map<std::string, agent::OnDisconnect>{
            {"continue", agent::OnDisconnect::Continue}, {"stop", agent::OnDisconnect::Stop}}));
    app.add_flag("--no-isolation", no_isolation, "Run tasks without namespaces and control groups");
    app.add_flag("--no-warm-worker", no_warm_worker, "Start every trial in a fresh process");
  }

  void finish() {
    options.isolate = !no_isolation;
    if (no_warm_worker) options.warm_frameworks.clear();
  }
};

/// Of an agent inside a machine that an engine gives for a while.
struct PilotFlags {
  agent::Pilot pilot;
  std::optional<int> node;
  std::int64_t leave_after = 600;

  void add_to(CLI::App& app) {
    app.add_option("--pilot", pilot.allotment,
                   "Run for this allotment of a resource pool with a provider, with the token in "
                   "DET_PILOT_TOKEN, and leave when the machine goes back");
    app.add_option("--node", node,
                   "With --pilot: the number of this machine in the allotment (default: "
                   "SLURM_NODEID, or 0)");
    app.add_option("--leave-after", leave_after,
                   "With --pilot: leave when the master has not answered for this many seconds")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
  }

  Result<void> finish(agent::AgentOptions& options) {
    if (pilot.allotment.empty()) return {};
    const char* token = std::getenv("DET_PILOT_TOKEN");
    if (token == nullptr || *token == '\0')
      return invalid_argument(
          "--pilot needs the token of the allotment in the environment variable "
          "DET_PILOT_TOKEN");
    pilot.token = token;
    ::unsetenv("DET_PILOT_TOKEN");  // not for the tasks
    const char* slurm = std::getenv("SLURM_NODEID");
    pilot.node = node ? *node : slurm == nullptr ? 0 : std::atoi(slurm);
    options.token_file.clear();
    options.pilot = true;
    options.leave_after = std::chrono::seconds(leave_after);
    return {};
  }
};

asio::awaitable<Result<void>> run_pilot(agent::AgentOptions options, agent::Pilot pilot,
                                        agent::Machine machine) {
  auto claimed = co_await agent::claim(std::move(options), std::move(pilot));
  if (!claimed) co_return tl::unexpected(claimed.error());
  co_return co_await agent::run_agent(*std::move(claimed), std::move(machine));
}

/// Where the master is reached from this machine; with TLS by a name that its certificate is for.
std::string url_of(const master::Master& server, const std::string& address) {
  const bool any = address == "0.0.0.0" || address == "::";
  http::Url url;
  url.host = any ? "127.0.0.1" : address;
  url.port = server.port();
  const auto names = server.certificate_names();
  url.tls = !names.empty();
  if (url.tls && std::ranges::find(names, url.host) == names.end() && !names.front().starts_with('*'))
    url.host = names.front();
  return url.text();
}

/// On SIGHUP, again and again.
void reload_certificate_on(asio::signal_set& hangup, master::Master& server) {
  hangup.async_wait([&](boost::system::error_code cancelled, int) {
    if (cancelled) return;
    if (const auto loaded = server.reload_certificate(); !loaded)
      spdlog::error("cannot reload the TLS certificate, keeping the old one: {}", loaded.error().message());
    else
      spdlog::info("reloaded the TLS certificate; new connections use it");
    reload_certificate_on(hangup, server);
  });
}

/// Serves until SIGINT or SIGTERM. `ready` is called with the port.
int serve(master::MasterOptions options, const std::function<void(master::Master&)>& ready) {
  if (!options.database.empty()) {
    auto store = open_database(options);
    if (!store) return failed(store.error());
    if (*store == nullptr) return 0;  // stopped while another master led
    options.store = std::move(*store);
  } else if (const auto kept = back_up_before_upgrade(options.directory); !kept) {
    return failed(kept.error());
  }
  asio::io_context context(1);
  auto opened = master::Master::open(context.get_executor(), std::move(options));
  if (!opened) return failed(opened.error());
  auto& server = **opened;
  if (const auto listening = server.listen(); !listening) return failed(listening.error());
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code cancelled, int) {
    if (cancelled) return;
    spdlog::info("stopping; running trials continue and report again when the master is back");
    asio::co_spawn(context, server.stop(), [&](std::exception_ptr) { context.stop(); });
  });
  asio::signal_set hangup(context);
  if (!server.certificate_names().empty()) {
    hangup.add(SIGHUP);
    reload_certificate_on(hangup, server);
  }
  ready(server);
  context.run();
  opened->reset();
  return 0;
}

/// Runs an agent on a thread of its own until `stop`.
class AgentThread {
 public:
  AgentThread(agent::AgentOptions options, agent::Machine machine)
      : thread_([this, options = std::move(options), machine = std::move(machine)]() mutable {
          asio::co_spawn(context_, agent::run_agent(std::move(options), std::move(machine)),
                         asio::bind_cancellation_slot(
                             cancel_.slot(), [this](std::exception_ptr failure, Result<void> result) {
                               if (!failure && !result)
                                 spdlog::error("the agent stopped: {}", result.error().message());
                               context_.stop();
                             }));
          context_.run();
        }) {}
  ~AgentThread() {
    asio::post(context_, [this] { cancel_.emit(asio::cancellation_type::terminal); });
    thread_.join();
  }

 private:
  asio::io_context context_{1};
  asio::cancellation_signal cancel_;
  std::thread thread_;
};

}  // namespace

std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

int up(std::vector<std::string> arguments) {
  CLI::App app("Start a master and an agent on this machine. All state is in one directory.", "det up");
  MasterFlags master_flags;
  AgentFlags agent_flags;
  SlurmUp slurm;
  master_flags.add_to(app);
  agent_flags.add_to(app);
  slurm.add_to(app);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (const auto fine = master_flags.finish(); !fine) return failed(fine.error());
  if (slurm.wanted()) {
    const auto fine = slurm.prepare(master_flags.options, app.count("--port") > 0, app.count("--host") > 0);
    if (!fine) return failed(fine.error());
    log_to_stderr(master_flags.verbose, master_flags.options.log);
    return serve(std::move(master_flags.options), [&](master::Master& server) {
      std::fputs(slurm.announcement(server).c_str(), stdout);
      std::fflush(stdout);
    });
  }
  agent_flags.finish();
  log_to_stderr(master_flags.verbose, master_flags.options.log);
  const auto machine = agent::detect_machine(agent_flags.options);  // while there is one thread
  std::unique_ptr<AgentThread> agent;
  const auto directory = master_flags.options.directory;
  const auto certificate = master_flags.options.tls_certificate;
  const auto address = master_flags.options.address;
  const int code = serve(std::move(master_flags.options), [&](master::Master& server) {
    auto options = agent_flags.options;
    const auto url = url_of(server, address);
    // The agent inside and its tasks believe the certificate that they are started beside, and nothing else;
    // they stay on this machine, whatever name it is for.
    http::Url own;
    own.host = address == "0.0.0.0" ? "127.0.0.1" : address == "::" ? "::1" : address;
    own.port = server.port();
    if (const auto names = server.certificate_names(); !names.empty()) {
      own.tls = true;
      const auto& name = names.front();  // "*.example.com" is for det.example.com
      options.trust = http::Trust::from(certificate, name.starts_with('*') ? "det" + name.substr(1) : name);
    }
    options.master_url = own.text();
    options.token = server.agent_token();
    options.state_dir = directory / "agent";
    options.on_connected = [url] {
      std::printf("Determined " DET_VERSION
                  " is ready.\n  Watch:  %s/det/\n  Submit: det -m %s experiment create const.yaml .\n",
                  url.c_str(), url.c_str());
      std::fflush(stdout);
    };
    agent = std::make_unique<AgentThread>(std::move(options), machine);
  });
  agent.reset();
  return code;
}

int master(std::vector<std::string> arguments) {
  CLI::App app("Start a master. Agents join it with the token in DIR/agent.token.", "det master");
  MasterFlags flags;
  flags.add_to(app);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (const auto fine = flags.finish(); !fine) return failed(fine.error());
  log_to_stderr(flags.verbose, flags.options.log);
  const auto address = flags.options.address;
  const auto token_file = flags.options.directory / "agent.token";
  return serve(std::move(flags.options), [&](master::Master& server) {
    const auto url = url_of(server, address);
    std::printf("Determined master " DET_VERSION
                " is ready: %s/det/\n  Agents: det agent --master %s --token-file %s\n",
                url.c_str(), url.c_str(), token_file.c_str());
    std::fflush(stdout);
  });
}

int agent(std::vector<std::string> arguments) {
  CLI::App app("Start an agent, which offers the slots of this machine to a master and runs trials on them.",
               "det agent");
  AgentFlags flags;
  bool verbose = false;
  std::string certificate;
  flags.options.token_file = default_directory() / "agent.token";
  flags.options.state_dir = default_directory() / "agent";
  flags.add_to(app);
  app.add_option("--master", flags.options.master_url,
                 "URL of the master, or of several that share a database: URL,URL")
      ->capture_default_str();
  app.add_option("--master-cert-file", certificate,
                 "CA certificate, or the certificate of the master (PEM); noverify: trust any certificate "
                 "(default: DET_MASTER_CERT_FILE, or the system's CAs)");
  app.add_option("--master-cert-name", flags.options.trust.name,
                 "Name in the certificate of the master, if it is not the host of the URL (default: "
                 "DET_MASTER_CERT_NAME)");
  app.add_option("--token-file", flags.options.token_file, "File with the token for agents")
      ->capture_default_str();
  app.add_option("--dir", flags.options.state_dir, "Directory for the state of the agent")
      ->capture_default_str();
  app.add_option("--address", flags.options.advertised_address,
                 "Address where other machines reach this one");
  PilotFlags pilot_flags;
  pilot_flags.add_to(app);
  app.add_flag("-v,--verbose", verbose, "Write debug messages to the log");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  flags.finish();
  if (const auto fine = pilot_flags.finish(flags.options); !fine) return failed(fine.error());
  if (!certificate.empty()) flags.options.trust = http::Trust::from(certificate, flags.options.trust.name);
  log_to_stderr(verbose);
  const auto machine = agent::detect_machine(flags.options);
  std::fputs(agent::describe(machine).c_str(), stderr);
  const auto url = flags.options.master_url;
  flags.options.on_connected = [url] {
    std::printf("Determined agent " DET_VERSION " is connected to %s\n", url.c_str());
    std::fflush(stdout);
  };
  asio::io_context context(1);
  asio::cancellation_signal cancel;
  int code = 0;
  const auto leaving = flags.options.leaving;
  const auto directory = flags.options.state_dir;
  const bool is_pilot = flags.options.pilot;
  auto run = is_pilot ? run_pilot(std::move(flags.options), pilot_flags.pilot, machine)
                      : agent::run_agent(std::move(flags.options), machine);
  asio::co_spawn(
      context, std::move(run),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr failure, Result<void> result) {
        if (!failure && !result) code = failed(result.error());
        context.stop();
      }));
  asio::signal_set signals(context, SIGINT, SIGTERM);
  std::function<void()> wait = [&] {
    signals.async_wait([&](boost::system::error_code cancelled, int) {
      if (cancelled) return;
      if (!is_pilot || !leaving->empty()) return cancel.emit(asio::cancellation_type::terminal);
      *leaving = "its engine takes the machine back";
      wait();
    });
  };
  wait();
  asio::signal_set warning(context);
  if (is_pilot) {
    warning.add(SIGUSR1);
    warning.async_wait([&](boost::system::error_code cancelled, int) {
      if (!cancelled && leaving->empty()) *leaving = "its time limit is near";
    });
  }
  context.run();
  if (is_pilot) {  // nobody comes back to what it kept
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    std::filesystem::remove(directory.string() + ".pem", ignored);  // beside it, unseen by tasks
  }
  return code;
}

int shim(std::vector<std::string> arguments) {
  return arguments.size() == 1 ? agent::run_shim(arguments[0]) : 2;
}

}  // namespace det::commands
