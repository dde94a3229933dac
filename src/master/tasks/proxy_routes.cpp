#include "det/master/tasks/proxy_routes.h"

#include <fmt/format.h>

#include <boost/asio/use_awaitable.hpp>

#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/server/forward.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

constexpr std::string_view kPrefix = "/proxy/";
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

http::Response without_address(const task::TaskRecord& task, bool page) {
  if (task.state == task::State::Terminated)
    return say(page, 410,
               Error(ErrorCode::Gone, fmt::format("task {} has ended: {}", task.id, task.exit_status)));
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

asio::awaitable<bool> hand_on(std::shared_ptr<http::Exchange> exchange, http::Forward how) {
  co_return co_await http::forward(std::move(exchange), std::move(how));
}

}  // namespace

bool is_proxied(const http::Request& head) {
  return head.path.starts_with(kPrefix);
}

asio::awaitable<http::Response> proxy(Services& s, http::Request request) {
  const bool page = is_for_people(request);
  const auto principal = co_await s.auth.authenticate(request);
  if (!principal) {
    const bool unknown = principal.error().code() == ErrorCode::Unauthenticated;
    if (!page || !unknown)
      co_return say(page, unknown ? 401 : 403, principal.error(), "<p><a href=\"/det/\">Log in</a></p>");
    // The pages ask who it is and lead back here: webui/src/app/session.ts.
    const auto there = "/det/?then=" + percent_encode(request.target);
    auto response =
        say(page, 401, Error(ErrorCode::Unauthenticated, "log in first; you will then return to this page"),
            fmt::format("<p><a href=\"{}\">Log in</a></p>", there));
    response.headers.add("Refresh", "0; url=" + there);
    co_return response;
  }
  const auto user = require_user(*principal);
  if (!user) co_return say(page, 403, user.error());

  const auto segment = std::string_view(request.path).substr(kPrefix.size());
  const auto slash = segment.find('/');
  const auto task = http::percent_decode(segment.substr(0, slash));
  if (!task || task->empty())
    co_return say(page, 404, Error(ErrorCode::NotFound, "the address names no task"));
  const auto record = co_await find_task(s, *task);
  if (!record)
    co_return say(page, 404, Error(ErrorCode::NotFound, fmt::format("task '{}' not found", *task)));
  const auto seen = co_await may(s, *principal, access::Permission::ViewNsc, Kind::Task, json::value(*task));
  if (!seen) co_return say(page, http::status_of(seen.error().code()).http, seen.error());
  if (const auto allowed = check_right(*record, *user); !allowed) co_return say(page, 403, allowed.error());
  const auto address = s.proxies.find(*task);
  if (!address) co_return without_address(*record, page);

  const auto base = std::string(kPrefix) + percent_encode(*task) + "/";
  if (slash == std::string_view::npos) {  // pages name what is beside them: the base ends in a slash
    http::Response response;
    response.status = 307;
    const auto mark = request.target.find('?');
    response.headers.add("Location",
                         base + (mark == std::string::npos ? std::string() : request.target.substr(mark)));
    co_return response;
  }
  http::Forward how;
  how.host = address->host;
  how.port = address->port;
  how.headers = handed_on(request, base, address->secret, is_encrypted(s, request));
  how.on_reply = [base](http::Headers& reply) { confine(reply, base); };
  how.failure = [page, task = *task](int status, const std::string& why) {
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
