#include "det/cli/session/session.h"

#include <chrono>
#include <thread>

#include "det/base/text.h"
#include "det/cli/output/format.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"
#include "det/version.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kDefaultUser = "determined";
constexpr auto kRetryDelays = {100ms, 200ms, 400ms, 800ms};
constexpr auto kTakeOverPatience = 10s;  // while masters stand by and none leads
// A whole model definition may be in flight.
constexpr auto kTimeout = 10min;

http::ClientOptions client_options() {
  http::ClientOptions options;
  options.leader_patience = kTakeOverPatience;
  return options;
}

bool try_later(const Result<http::Reply>& reply) {
  return reply && !reply->headers.contains(http::kLeaderHeader) &&
         (reply->status == 502 || reply->status == 503 || reply->status == 504);
}

// 1 where a is newer than b, as "0.12.3" goes; text that is no version counts as equal.
int compare(const std::string& a, const std::string& b) {
  const auto parts_a = split(a, '.');
  const auto parts_b = split(b, '.');
  for (std::size_t i = 0; i < std::min(parts_a.size(), parts_b.size()); ++i) {
    const auto number_a = json::to_int64(json::value(parts_a[i]));
    const auto number_b = json::to_int64(json::value(parts_b[i]));
    if (!number_a || !number_b) return 0;
    if (*number_a != *number_b) return *number_a > *number_b ? 1 : -1;
  }
  return 0;
}

Error unauthenticated() {
  return Error(ErrorCode::Unauthenticated,
               "Unauthenticated: Please use 'det user login <username>' to log in");
}

bool wants_debug(const Variables& variables) {
  const auto word = to_lower(variable(variables, "DET_DEBUG").value_or(""));
  return word == "true" || word == "1" || word == "yes";
}

}  // namespace

std::string url_encode(std::string_view text) {
  return percent_encode(text);
}

std::string with_query(std::string path, const QueryItems& items) {
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : items) {
    path += separator + name + '=' + url_encode(value);
    separator = '&';
  }
  return path;
}

std::string master_address(const Variables& variables) {
  for (const auto* name : {"DET_MASTER", "DET_MASTER_ADDR", "DETERMINED_MASTER"}) {
    const auto address = variable(variables, name);
    if (!address) continue;
    const auto urls = http::parse_urls(*address, variable(variables, "DET_MASTERS").value_or(""));
    return urls && urls->size() > 1 ? http::text_of(*urls) : *address;
  }
  return "localhost:8080";
}

Session::Session(Console& console, Variables variables, Globals globals)
    : console_(console), variables_(std::move(variables)), globals_(std::move(globals)) {}
Session::~Session() = default;

Result<std::string> Session::master_url() {
  DET_TRY(const auto urls, http::parse_urls(globals_.master));
  if (urls.size() > 1 && !connect()) return urls.front().text();
  return client_ ? client_->url().text() : urls.front().text();
}

Result<AuthCache> Session::cache() {
  DET_TRY(const auto urls, http::parse_urls(globals_.master));  // tokens of one are good for all
  return AuthCache(config_directory(variables_), urls.front().text());
}

Result<void> Session::connect() {
  if (client_) return {};
  DET_TRY(const auto urls, http::parse_urls(globals_.master));
  client_ = std::make_unique<http::Client>(urls, client_options());
  http::Call info;
  info.path = "/info";
  const auto reply = request(info);
  if (!reply) {
    client_.reset();
    if (reply.error().code() != ErrorCode::Unavailable) return tl::unexpected(reply.error());
    console_.warn(fmt::format(
        "Master not found at {}. Hint: Remember to set the DET_MASTER environment variable to the "
        "correct Determined master IP or use the '-m' flag. To start one here: det up",
        http::text_of(urls)));
    return tl::unexpected(reply.error());
  }
  if (reply->status == 400) {  // a master says so to whom it does not understand: http to its https
    client_.reset();
    return tl::unexpected(http::error_of(reply->status, reply->body));
  }
  if (reply->ok())
    if (const auto information = json::parse(reply->body)) compare_versions(text_at(*information, "version"));
  return {};
}

void Session::compare_versions(const std::string& master_version) {
  const int order = compare(DET_VERSION, master_version);
  if (order < 0)
    console_.warn(fmt::format("CLI version {} is less than master version {}. Consider upgrading the CLI.",
                              DET_VERSION, master_version));
  if (order > 0)
    console_.warn(fmt::format("Master version {} is less than CLI version {}. Consider upgrading the master.",
                              master_version, DET_VERSION));
}

Result<std::string> Session::user() {
  if (globals_.user) return *globals_.user;
  if (const auto user = variable(variables_, "DET_USER")) return *user;
  DET_TRY(const auto cache, this->cache());
  DET_TRY(const auto active, cache.active_user());
  return active.value_or(kDefaultUser);
}

Result<std::string> Session::login(const std::string& user, const std::string& password) {
  json::object body;
  body["username"] = user;
  body["password"] = password_hash(password);
  body["isHashed"] = true;
  http::Call call;
  call.method = "POST";
  call.path = "/api/v1/auth/login";
  call.body = json::serialize(body);
  call.headers.add("Content-Type", "application/json");
  DET_TRY(const auto reply, exchange_anonymous(std::move(call)));
  if (reply.status == 401 || reply.status == 403)
    return fail(ErrorCode::PermissionDenied, "user '{}': {}", user,
                http::error_text(reply.status, reply.body));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  DET_TRY(const auto answer, json::parse(reply.body));
  auto token = text_at(answer, "token");
  if (token.empty()) return fail(ErrorCode::Unavailable, "the master accepted the login but sent no token");
  return token;
}

Result<std::string> Session::obtain_token() {
  if (const auto token = variable(variables_, "DET_USER_TOKEN"); token && !globals_.user) return *token;
  DET_TRY(auto cache, this->cache());
  DET_TRY(const auto user, this->user());
  const auto password = variables_.find("DET_PASS");  // an empty one is one, too
  if (password != variables_.end() && variable(variables_, "DET_USER") == user)
    return login(user, password->second);

  DET_TRY(const auto cached, cache.token(user));
  if (cached && !token_is_cached_) {
    token_is_cached_ = true;
    return *cached;
  }
  token_is_cached_ = false;
  Result<std::string> token = tl::unexpected(unauthenticated());
  // The users of a new master have no password; asking for it would be asking for nothing.
  if (user == kDefaultUser || user == "admin") token = login(user, "");
  const bool asks = !token && token.error().code() != ErrorCode::Unavailable;
  if (asks) {
    const auto typed = console_.ask_password(fmt::format("Password for user '{}': ", user));
    if (!typed) return tl::unexpected(unauthenticated());
    token = login(user, *typed);
  }
  if (!token) return token;
  // A cache that cannot be written costs a login a command, not the command.
  const bool once = globals_.user || variable(variables_, "DET_USER");
  const auto stored = once ? cache.remember(user, *token) : cache.store(user, *token);
  if (!stored) console_.warn(stored.error().message());
  return token;
}

Result<std::string> Session::token() {
  if (!token_) {
    DET_TRY(token_, obtain_token());
  }
  return *token_;
}

Result<http::Reply> Session::request(const http::Call& call) {
  if (!wants_debug(variables_)) return client_->request(call);
  const auto start = std::chrono::steady_clock::now();
  auto reply = client_->request(call);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  console_.warn(fmt::format("debug: {} {}{}: {} after {:.0f} ms", call.method, client_->url().text(),
                            call.path, reply ? std::to_string(reply->status) : reply.error().message(),
                            spent.count()));
  return reply;
}

Result<http::Reply> Session::exchange_anonymous(http::Call call) {
  if (auto connected = connect(); !connected) return tl::unexpected(std::move(connected).error());
  auto reply = request(call);
  for (const auto delay : kRetryDelays) {
    if (!try_later(reply)) break;
    std::this_thread::sleep_for(delay);
    reply = request(call);
  }
  return reply;
}

Result<http::Reply> Session::exchange(http::Call call) {
  if (auto connected = connect(); !connected) return tl::unexpected(std::move(connected).error());
  DET_TRY(const auto first, token());
  call.headers.set("Authorization", "Bearer " + first);
  auto reply = exchange_anonymous(call);
  if (reply && reply->status == 401 && token_is_cached_) {
    token_.reset();
    DET_TRY(const auto second, token());
    call.headers.set("Authorization", "Bearer " + second);
    reply = exchange_anonymous(std::move(call));
  }
  if (reply && reply->status == 401) return tl::unexpected(unauthenticated());
  return reply;
}

Result<json::value> Session::json_call(std::string method, const std::string& path, const json::value* body) {
  http::Call call;
  call.method = std::move(method);
  call.path = path;
  call.timeout = kTimeout;
  call.headers.add("Accept", "application/json");
  if (body != nullptr) {
    call.headers.add("Content-Type", "application/json");
    call.body = json::serialize(*body);
  }
  DET_TRY(const auto reply, exchange(std::move(call)));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  if (trim(reply.body).empty()) return json::value(json::object());
  auto answer = json::parse(reply.body);
  if (!answer)
    return fail(ErrorCode::Unavailable,
                "the server at {} is not a Determined master: its answer to {} is not JSON",
                client_->url().text(), path);
  return answer;
}

Result<json::value> Session::get(const std::string& path, const QueryItems& query) {
  return json_call("GET", with_query(path, query), nullptr);
}
Result<json::value> Session::post(const std::string& path, const json::value& body) {
  return json_call("POST", path, &body);
}
Result<json::value> Session::put(const std::string& path, const json::value& body) {
  return json_call("PUT", path, &body);
}
Result<json::value> Session::patch(const std::string& path, const json::value& body) {
  return json_call("PATCH", path, &body);
}
Result<json::value> Session::del(const std::string& path) {
  return json_call("DELETE", path, nullptr);
}
Result<json::value> Session::del(const std::string& path, const json::value& body) {
  return json_call("DELETE", path, &body);
}

Result<json::array> Session::pages(const std::string& path, QueryItems query, std::string_view member,
                                   std::int64_t limit, std::int64_t offset) {
  json::array items;
  while (true) {
    auto page_query = query;
    page_query.emplace_back("limit", std::to_string(limit));
    page_query.emplace_back("offset", std::to_string(offset));
    DET_TRY(const auto page, get(path, page_query));
    const auto& part = list_at(page, member);
    items.insert(items.end(), part.begin(), part.end());
    offset += static_cast<std::int64_t>(part.size());
    if (part.empty() || offset >= integer_at(page, "pagination.total")) return items;
  }
}

Result<void> Session::stream(const std::string& path, const QueryItems& query,
                             const std::function<bool(const json::value&)>& on_result) {
  std::optional<Error> failure;
  http::Call call;
  call.path = with_query(path, query);
  call.timeout = 2min;  // of silence; who follows a log asks again
  call.on_line = [&](std::string_view text) {
    if (trim(text).empty()) return true;
    const auto line = json::parse(text);
    if (!line) {
      failure = Error(ErrorCode::Unavailable, "the master sent a line that is not JSON");
      return false;
    }
    if (!at(*line, "error").is_null()) {
      const auto status = static_cast<int>(integer_at(*line, "error.httpCode"));
      failure = http::error_of(status >= 400 ? status : 500, text);
      return false;
    }
    return on_result(at(*line, "result"));
  };
  DET_TRY(const auto reply, exchange(std::move(call)));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  if (failure) return tl::unexpected(*std::move(failure));
  return {};
}

std::unique_ptr<Session> Session::twin() {
  auto quiet = variables_;
  quiet.erase("DET_DEBUG");  // another thread may not use the console
  auto other = std::make_unique<Session>(console_, std::move(quiet), globals_);
  if (client_) other->client_ = std::make_unique<http::Client>(client_->urls(), client_options());
  other->token_ = token_;
  return other;
}

void Session::cancel() {
  if (client_) client_->cancel();
}

}  // namespace det::cli
