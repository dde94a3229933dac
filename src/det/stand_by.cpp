#include "det/det/stand_by.h"

#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>

#include "det/http/routing/status.h"
#include "det/http/tls/tls.h"
#include "det/http/url.h"

namespace det::commands {
namespace {

/// For a browser that cannot be sent to the leader: it asks again.
constexpr const char* kPage = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Determined: standby master</title></head>
<body><h1>This master stands by</h1>
<p>Another master leads this cluster. This page leads to the cluster as soon as this master takes over; or open
the address of the master that leads.</p></body></html>
)html";

bool asks_for_page(const http::Request& request) {
  const auto* accepted = request.headers.find("Accept");
  return request.method == "GET" && !request.path.starts_with("/api/") && accepted != nullptr &&
         accepted->find("text/html") != std::string::npos;
}

}  // namespace

void StandBy::start(const std::string& why) {
  logging::info("{}", why);
  why_ = why;
  http::ServerOptions settings;
  if (!options_.tls_certificate.empty()) {
    auto identity = http::TlsIdentity::load(options_.tls_certificate, options_.tls_key);
    if (!identity) return logging::warn("calls are not answered meanwhile: {}", identity.error().message());
    settings.tls = *std::move(identity);
  }
  server_ = std::make_unique<http::Server>(
      executor_, [this](http::Request request) { return answer(std::move(request)); }, std::move(settings));
  if (const auto listening = server_->listen(options_.address, options_.port); !listening)
    logging::warn("calls are not answered meanwhile: {}", listening.error().message());
}

std::string StandBy::reachable_leader(const http::Request& request) const {
  const auto leader = http::parse_url(leader_);
  if (leader_.empty() || !leader) return "";
  const auto* host = request.headers.find("Host");
  const auto own = http::parse_url(host == nullptr ? "" : *host);
  return leader->is_loopback() && !(own && own->is_loopback()) ? "" : leader->text();
}

boost::asio::awaitable<http::Response> StandBy::answer(http::Request request) const {
  const auto leader = reachable_leader(request);
  if (asks_for_page(request)) {
    http::Response page;
    page.status = leader.empty() ? 503 : 307;
    page.headers.add("Cache-Control", "no-store");
    page.headers.add("Content-Type", "text/html; charset=utf-8");
    if (!leader.empty()) page.headers.add("Location", leader + request.target);
    page.body = kPage;
    co_return page;
  }
  auto response = http::error_response(Error(
      ErrorCode::Unavailable, fmt::format("this master does not lead: {}. Ask the one that leads{}, or retry",
                                          why_, leader.empty() ? "" : " at " + leader)));
  response.headers.add("Retry-After", "1");
  response.headers.add(std::string(http::kLeaderHeader), leader.empty() ? "unknown" : leader);
  co_return response;
}

void StandBy::stop(boost::asio::io_context& context) {
  if (!server_) return context.stop();
  boost::asio::co_spawn(executor_, server_->stop(std::chrono::milliseconds(100)),
                        [&context](std::exception_ptr) { context.stop(); });
}

}  // namespace det::commands
