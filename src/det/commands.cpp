#include "det/det/commands.h"

#include "det/logging/log.h"

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <iostream>
#include <thread>

#include "det/agent/agent.h"
#include "det/agent/pilot.h"
#include "det/agent/shim/shim.h"
#include "det/agent/slots.h"
#include "det/det/agent_flags.h"
#include "det/det/master_flags.h"
#include "det/det/paths.h"
#include "det/det/serve.h"
#include "det/det/slurm_up.h"
#include "det/http/url.h"
#include "det/version.h"

namespace det::commands {
namespace {

namespace asio = boost::asio;

asio::awaitable<Result<void>> run_pilot(agent::AgentOptions options, agent::Pilot pilot,
                                        agent::Machine machine) {
  auto claimed = co_await agent::claim(std::move(options), std::move(pilot));
  if (!claimed) co_return tl::unexpected(claimed.error());
  co_return co_await agent::run_agent(*std::move(claimed), std::move(machine));
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
                                 logging::error("the agent stopped: {}", result.error().message());
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
