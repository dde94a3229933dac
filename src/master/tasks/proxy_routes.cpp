#include "det/master/tasks/proxy_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>

#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/server/forward.h"
#include "det/http/server/tcp_tunnel.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/tasks/proxy_ports.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

constexpr std::string_view kPrefix = "/proxy/";
constexpr std::string_view kOldPage = "/det/interactive/";
constexpr std::string_view kOwnCookie = "auth";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

bool is_for_people(const http::Request& request) {
  const auto* accept = request.headers.find("Accept");
  return accept != nullptr && accept->find("text/html") != std::string::npos;
}

/// One sentence, as a page for people and as an error for programs.
http::Response say(bool page, int status, const Error& error, std::string_view link = "") {
  if (!page) {
    auto response = http::error_response(error);
    response.status = status;
    return response;
  }
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/html; charset=utf-8");
  response.headers.add("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
  response.headers.add("Cache-Control", "no-store");
  response.body = fmt::format(
      "<!doctype html><meta name=viewport content=\"width=device-width\"><title>Determined</title>"
      "<style>body{{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:40rem;padding:0 "
      "1rem}}</style>"
      "<p>{}</p>{}",
      escape(error.message()), link);
  return response;
}

/// Whether nobody answers there any more, or for now, whatever the address that was reported.
bool has_left(const task::TaskRecord& task) {
  return task.state >= task::State::Terminating;
}

http::Response without_address(const task::TaskRecord& task, bool page) {
  const auto nothing = [&](std::string why) {
    return say(page, 404, Error(ErrorCode::NotFound, std::move(why)));
  };
  const auto name = fmt::format("{} {}", task::type_word(task.type), task.id);
  if (task.state == task::State::Terminated)
    return nothing(fmt::format("{} has ended: {}", name, task.exit_status));
  if (task.state == task::State::Terminating) return nothing(fmt::format("{} is ending", name));
  if (task.state == task::State::Pausing || task.state == task::State::Paused)
    return nothing(fmt::format("{} is paused; to resume it, run: det task unpause {}", name, task.id));
  const auto why = fmt::format("task {} is not ready yet; this page reloads until it is", task.id);
  auto response = say(page, 503, Error(ErrorCode::Unavailable, why));
  response.headers.add(page ? "Refresh" : "Retry-After", "2");
  return response;
}

/// Who opens a shell or a notebook acts as its owner; what a TensorBoard shows who sees it in lists may see.
Result<void> check_right(const task::TaskRecord& task, const UserPrincipal& user) {
  if (task.type == task::Type::Tensorboard || task.owner == user.id || user.admin) return {};
  return fail(ErrorCode::PermissionDenied,
              "{} {} belongs to another user; only its owner and administrators can use it",
              task::type_word(task.type), task.id);
}

/// The request's cookies without ours: what is left of a Cookie header; empty: nothing.
std::string others_cookies(std::string_view header) {
  std::string out;
  for (const auto& pair : split(header, ';')) {
    const auto text = trim(pair);
    if (text.empty() || trim(text.substr(0, text.find('='))) == kOwnCookie) continue;
    out += (out.empty() ? "" : "; ") + std::string(text);
  }
  return out;
}

/// What the service gets of the request's headers: nothing that could act as the user.
http::Headers handed_on(const http::Request& request, const std::string& base, const std::string& secret,
                        bool encrypted) {
  http::Headers headers;
  std::string cookies;
  for (const auto& [name, value] : request.headers) {
    const auto lower = to_lower(name);
    if (lower == "cookie") {
      const auto others = others_cookies(value);
      if (!others.empty()) cookies += (cookies.empty() ? "" : "; ") + others;
    } else if (lower != "authorization" && lower != "forwarded" && lower != "x-real-ip" &&
               !lower.starts_with("x-forwarded-") && !lower.starts_with("grpc-metadata-")) {
      headers.add(name, value);
    }
  }
  if (!cookies.empty()) headers.add("Cookie", cookies);
  if (!secret.empty()) headers.add("Authorization", "Bearer " + secret);
  headers.add("X-Forwarded-For", request.remote.substr(0, request.remote.rfind(':')));
  headers.add("X-Forwarded-Proto", encrypted ? "https" : "http");
  if (const auto* host = request.headers.find("Host")) headers.add("X-Forwarded-Host", *host);
  headers.add("X-Forwarded-Prefix", base);
  return headers;
}

/// A cookie of a service, which may neither be ours nor reach another service; nothing: it is dropped.
std::optional<std::string> own_cookie(std::string_view value, const std::string& base) {
  const auto parts = split(value, ';');
  if (trim(parts.front().substr(0, parts.front().find('='))) == kOwnCookie) return std::nullopt;
  std::string out(trim(parts.front()));
  std::string path = base;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto attribute = trim(parts[i]);
    const auto name = to_lower(trim(attribute.substr(0, attribute.find('='))));
    if (name == "domain") continue;
    if (name != "path") {
      out += "; " + std::string(attribute);
    } else if (const auto equals = attribute.find('='); equals != std::string_view::npos) {
      const auto wanted = trim(attribute.substr(equals + 1));
      if (wanted.starts_with(base)) path = wanted;
    }
  }
  return out + "; Path=" + path;
}

/// Removes from a service's answer what would speak for the whole of the master's address.
void confine(http::Headers& headers, const std::string& base) {
  std::vector<std::string> cookies;
  for (const auto& [name, value] : headers)
    if (to_lower(name) == "set-cookie")
      if (auto kept = own_cookie(value, base)) cookies.push_back(*std::move(kept));
  for (const auto* name : {"Set-Cookie", "Service-Worker-Allowed", "Clear-Site-Data", "Alt-Svc",
                           "Strict-Transport-Security", "Public-Key-Pins", "Report-To", "NEL"})
    headers.erase(name);
  for (auto& cookie : cookies) headers.add("Set-Cookie", std::move(cookie));
}

/// Counts one request or connection as use of the task while it lasts.
class InUse {
 public:
  explicit InUse(std::shared_ptr<ProxyUse> use) : use_(std::move(use)) { use_->begin(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() { use_->end(); }

 private:
  std::shared_ptr<ProxyUse> use_;
};

asio::awaitable<bool> tunnel(std::shared_ptr<http::Exchange> exchange, http::TcpTunnel how,
                             std::shared_ptr<ProxyUse> use) {
  const InUse in_use(std::move(use));
  co_return co_await http::tunnel_tcp(std::move(exchange), std::move(how));
}

/// A WebSocket that carries the bytes of a TCP connection to that port.
http::Response tunnel_to(const std::string& host, int port, std::string service,
                         std::shared_ptr<ProxyUse> use) {
  http::TcpTunnel how;
  how.host = host;
  how.port = static_cast<std::uint16_t>(port);
  how.failure = [service = std::move(service)](int status, const std::string& why) {
    return say(false, status, Error(ErrorCode::Unavailable, fmt::format("{} {}", service, why)));
  };
  http::Response response;
  response.take = [how = std::move(how), use = std::move(use)](std::shared_ptr<http::Exchange> exchange) {
    return tunnel(std::move(exchange), how, use);
  };
  return response;
}

/// What of the path is after "/proxy/": the task, which may name one of its ports, and the rest from the "/"
/// on, which may be missing.
struct Place {
  std::string task;
  std::optional<int> port;
  std::string_view rest;
  std::string base;  ///< what pages of this place begin with
};
std::optional<Place> place_of(std::string_view path) {
  const auto segment = path.substr(kPrefix.size());
  const auto slash = std::min(segment.find('/'), segment.size());
  const auto name = http::percent_decode(segment.substr(0, slash));
  if (!name) return std::nullopt;
  Place place{.task = *name,
              .port = std::nullopt,
              .rest = segment.substr(slash),
              .base = std::string(kPrefix) + std::string(segment.substr(0, slash)) + "/"};
  if (const auto colon = name->find(':'); colon != std::string::npos) {
    place.task = name->substr(0, colon);
    int port = 0;
    for (const char c : std::string_view(*name).substr(colon + 1))
      port = c >= '0' && c <= '9' && port < 65536 ? port * 10 + (c - '0') : 65536;
    place.port = port;
  }
  if (place.task.empty()) return std::nullopt;
  return place;
}

/// The task of "/det/interactive/TASK_ID/…", to which clients of the original send browsers; with a second
/// slash before it, as they write it.
std::optional<std::string_view> old_page(std::string_view path) {
  if (path.starts_with("//")) path.remove_prefix(1);
  if (!path.starts_with(kOldPage)) return std::nullopt;
  const auto rest = path.substr(kOldPage.size());
  return rest.substr(0, rest.find('/'));
}

http::Response to_base(const http::Request& request, const std::string& base) {
  http::Response response;
  response.status = 307;
  const auto mark = request.target.find('?');
  response.headers.add("Location",
                       base + (mark == std::string::npos ? std::string() : request.target.substr(mark)));
  return response;
}

asio::awaitable<bool> hand_on(std::shared_ptr<http::Exchange> exchange, http::Forward how) {
  co_return co_await http::forward(std::move(exchange), std::move(how));
}

asio::awaitable<bool> use_port(std::shared_ptr<http::Exchange> exchange, http::Forward how,
                               std::shared_ptr<ProxyUse> use) {
  const InUse in_use(std::move(use));
  co_return co_await http::forward(std::move(exchange), std::move(how));
}

}  // namespace

bool is_proxied(const http::Request& head) {
  return head.path.starts_with(kPrefix) || old_page(head.path);
}

namespace {

/// Who asks, or what a request without a user who is logged in is answered with.
struct Caller {
  std::any principal;
  UserPrincipal user;
};
asio::awaitable<tl::expected<Caller, http::Response>> caller_of(Services& s, const http::Request& request,
                                                                bool page) {
  const auto refuse = [](http::Response response) { return tl::unexpected(std::move(response)); };
  auto principal = co_await s.auth.authenticate(request);
  if (!principal) {
    const bool unknown = principal.error().code() == ErrorCode::Unauthenticated;
    if (!page || !unknown)
      co_return refuse(
          say(page, unknown ? 401 : 403, principal.error(), "<p><a href=\"/det/\">Log in</a></p>"));
    // The pages ask who it is and lead back here: webui/src/app/session.ts.
    const auto there = "/det/?then=" + percent_encode(request.target);
    auto response =
        say(page, 401, Error(ErrorCode::Unauthenticated, "log in first; you will then return to this page"),
            fmt::format("<p><a href=\"{}\">Log in</a></p>", there));
    response.headers.add("Refresh", "0; url=" + there);
    co_return refuse(std::move(response));
  }
  const auto user = require_user(*principal);
  if (!user) co_return refuse(say(page, 403, user.error()));
  co_return Caller{*std::move(principal), *user};
}

/// A port of the task's proxy_ports: its pages without the prefix of the path, or a TCP connection.
asio::awaitable<http::Response> to_port(Services& s, http::Request request, Place place, OpenPort port,
                                        bool page) {
  if (!port.unauthenticated) {
    const auto caller = co_await caller_of(s, request, page);
    if (!caller) co_return caller.error();
    const auto needed =
        port.of_trial ? access::Permission::ViewExperimentArtifacts : access::Permission::ViewNsc;
    const auto seen = co_await may(s, caller->principal, needed, Kind::Task, json::value(place.task));
    if (!seen) co_return say(page, http::status_of(seen.error().code()).http, seen.error());
    if (port.owner != caller->user.id && !caller->user.admin)
      co_return say(
          page, 403,
          Error(ErrorCode::PermissionDenied,
                fmt::format("task {} belongs to another user; only its owner and administrators can "
                            "use port {}",
                            place.task, port.port)));
  }
  const auto service = fmt::format("port {} of task {}", port.port, place.task);
  if (port.tcp) {
    if (http::wants_websocket(request))
      co_return tunnel_to(port.host, port.port, service, s.proxies.use_of(place.task));
    co_return say(page, 426,
                  Error(ErrorCode::FailedPrecondition,
                        fmt::format("{} carries TCP; connect to it with: det tunnel {}:{} --listener {}",
                                    service, place.task, port.port, port.port)));
  }
  if (place.rest.empty()) co_return to_base(request, place.base);
  http::Forward how;
  how.host = port.host;
  how.port = static_cast<std::uint16_t>(port.port);
  const auto in_target = request.target.find(place.base);
  how.target = in_target == std::string::npos ? std::string(place.rest)
                                              : request.target.substr(in_target + place.base.size() - 1);
  how.headers = handed_on(request, place.base, "", is_encrypted(s, request));
  how.on_reply = [base = place.base](http::Headers& reply) { confine(reply, base); };
  how.failure = [page, service](int status, const std::string& why) {
    return say(page, status, Error(ErrorCode::Unavailable, fmt::format("{} {}", service, why)));
  };
  http::Response response;
  response.take = [how = std::move(how),
                   use = s.proxies.use_of(place.task)](std::shared_ptr<http::Exchange> exchange) {
    return use_port(std::move(exchange), how, use);
  };
  co_return response;
}

}  // namespace

asio::awaitable<http::Response> proxy(Services& s, http::Request request) {
  if (const auto task = old_page(request.path)) {
    http::Response response;
    response.status = 307;
    response.headers.add("Location", fmt::format("{}{}/", kPrefix, *task));
    co_return response;
  }
  const auto place = place_of(request.path);
  // The SSH server of a shell asks for the shell's key itself, and SSH clients know no token.
  if (place && place->rest == "/" && http::wants_websocket(request))
    if (const auto address = s.proxies.find(place->task); address && !place->port) {
      if (address->ssh_port != 0)
        co_return tunnel_to(address->host, address->ssh_port,
                            fmt::format("the SSH server of shell {}", place->task),
                            s.proxies.use_of(place->task));
      const auto* live = s.ledger.cluster().task(place->task);
      if (live != nullptr && live->record().type == task::Type::Shell)
        co_return say(false, 503,
                      Error(ErrorCode::Unavailable,
                            fmt::format("shell {} has no SSH server; to see why, run: det shell logs {}",
                                        place->task, place->task)));
    }
  const bool page = is_for_people(request);
  const auto* running = place ? s.ledger.cluster().task(place->task) : nullptr;
  if (place && (place->port || !s.proxies.find(place->task)) &&
      (running == nullptr || !has_left(running->record())))
    if (auto port = find_open_port(s, place->task, place->port)) {
      auto where = *place;
      co_return co_await to_port(s, std::move(request), std::move(where), *std::move(port), page);
    }
  const auto caller = co_await caller_of(s, request, page);
  if (!caller) co_return caller.error();

  if (!place) co_return say(page, 404, Error(ErrorCode::NotFound, "the address names no task"));
  const auto& task = place->task;
  const auto record = co_await find_task(s, task);
  if (!record) co_return say(page, 404, Error(ErrorCode::NotFound, fmt::format("task '{}' not found", task)));
  const auto seen =
      co_await may(s, caller->principal, access::Permission::ViewNsc, Kind::Task, json::value(task));
  if (!seen) co_return say(page, http::status_of(seen.error().code()).http, seen.error());
  if (place->port)
    co_return say(page, 404,
                  Error(ErrorCode::NotFound,
                        fmt::format("task {} does not run with port {} among its environment.proxy_ports",
                                    task, *place->port)));
  if (const auto allowed = check_right(*record, caller->user); !allowed)
    co_return say(page, 403, allowed.error());
  const auto address = s.proxies.find(task);
  if (!address || has_left(*record)) co_return without_address(*record, page);

  const auto base = std::string(kPrefix) + percent_encode(task) + "/";
  if (place->rest.empty()) co_return to_base(request, base);  // pages name what is beside them
  http::Forward how;
  how.host = address->host;
  how.port = address->port;
  how.headers = handed_on(request, base, address->secret, is_encrypted(s, request));
  how.on_reply = [base](http::Headers& reply) { confine(reply, base); };
  how.failure = [&s, page, task](int status, const std::string& why) {
    // It may have been told to end while it was asked.
    const auto* live = s.ledger.cluster().task(task);
    if (live == nullptr)
      return say(page, 404, Error(ErrorCode::NotFound, fmt::format("task {} has ended", task)));
    if (has_left(live->record())) return without_address(live->record(), page);
    return say(page, status,
               Error(ErrorCode::Unavailable, fmt::format("the service of task {} {}", task, why)));
  };
  http::Response response;
  response.take = [how = std::move(how)](std::shared_ptr<http::Exchange> exchange) {
    return hand_on(std::move(exchange), how);
  };
  co_return response;
}

}  // namespace det::master
