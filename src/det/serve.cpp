#include "det/det/serve.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>

#include "det/det/database.h"
#include "det/det/upgrade.h"
#include "det/http/url.h"

namespace det::commands {
namespace {

namespace asio = boost::asio;

/// On SIGHUP, again and again.
void reload_certificate_on(asio::signal_set& hangup, master::Master& server) {
  hangup.async_wait([&](boost::system::error_code cancelled, int) {
    if (cancelled) return;
    if (const auto loaded = server.reload_certificate(); !loaded)
      logging::error("cannot reload the TLS certificate, keeping the old one: {}", loaded.error().message());
    else
      logging::info("reloaded the TLS certificate; new connections use it");
    reload_certificate_on(hangup, server);
  });
}

}  // namespace

void log_to_stderr(bool verbose, std::shared_ptr<master::LogRing> ring) {
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
    logging::info("stopping; running trials continue and report again when the master is back");
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

}  // namespace det::commands
