#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "det/base/json.h"
#include "det/cli/output/console.h"
#include "det/cli/session/auth.h"

namespace det::http {
class Client;
struct Call;
struct Reply;
}  // namespace det::http

namespace det::cli {

/// Text as one segment of a path or one value of a query.
std::string url_encode(std::string_view text);

/// "/api/v1/x" and {{"limit", "5"}} as "/api/v1/x?limit=5".
using QueryItems = std::vector<std::pair<std::string, std::string>>;
std::string with_query(std::string path, const QueryItems& items);

/// What the flags before the sub-command say.
struct Globals {
  std::string master;  ///< -m, else the environment, else localhost:8080; several: "a:8080,b:8080".
  std::optional<std::string> user;  ///< -u
};

/// The master that the environment names: "localhost:8080", or several: "a:8080,b:8080".
std::string master_address(const Variables& variables);

/// The master, as one command sees it: calls with the user's token.
///
/// Nothing is connected before the first call, so that commands that need no
/// master work without one. The first call also compares versions, and logs in
/// where no token is cached: silently as `determined` with an empty password
/// or with DET_USER and DET_PASS, else with a password that it asks for. A
/// cached token that the master no longer knows is replaced once in the same way.
///
/// Answers 502 to 504 are tried again for a few seconds, those of masters that stand by for ten. With
/// DET_DEBUG each call and how it went is a line on standard error.
class Session {
 public:
  Session(Console& console, Variables variables, Globals globals);
  ~Session();

  Console& console() { return console_; }
  const Variables& variables() const { return variables_; }

  Result<json::value> get(const std::string& path, const QueryItems& query = {});
  Result<json::value> post(const std::string& path, const json::value& body = json::object());
  Result<json::value> put(const std::string& path, const json::value& body = json::object());
  Result<json::value> patch(const std::string& path, const json::value& body);
  Result<json::value> del(const std::string& path);
  Result<json::value> del(const std::string& path, const json::value& body);

  /// All pages of a list: `path` asked with offset and limit, from `offset` on
  /// until its pagination ends. Returns the items of `member`.
  Result<json::array> pages(const std::string& path, QueryItems query, std::string_view member,
                            std::int64_t limit = 500, std::int64_t offset = 0);

  /// Reads a stream of {"result": …} lines; `on_result` returns false to end
  /// it. An error line ends it with that error.
  Result<void> stream(const std::string& path, const QueryItems& query,
                      const std::function<bool(const json::value&)>& on_result);

  /// Any exchange, with the token. Statuses of 400 and more are replies here.
  Result<http::Reply> exchange(http::Call call);

  /// The same without a token.
  Result<http::Reply> exchange_anonymous(http::Call call);

  /// A second connection with the same token, for another thread, which may
  /// use `stream` and `get` and never the console.
  std::unique_ptr<Session> twin();
  /// Ends the call in progress, from another thread.
  void cancel();

  /// -u, DET_USER, the user active in the cache, else `determined`.
  Result<std::string> user();
  Result<std::string> login(const std::string& user, const std::string& password);
  Result<AuthCache> cache();
  Result<std::string> master_url();  ///< Of several, the one that leads.
  Result<std::string> token();

 private:
  Result<void> connect();
  Result<http::Reply> request(const http::Call& call);
  void compare_versions(const std::string& master_version);
  Result<std::string> obtain_token();
  Result<json::value> json_call(std::string method, const std::string& path, const json::value* body);

  Console& console_;
  Variables variables_;
  Globals globals_;
  std::unique_ptr<http::Client> client_;
  std::optional<std::string> token_;
  bool token_is_cached_ = false;
};

}  // namespace det::cli
