#include "det/master/identity/basic_logins.h"

#include "det/base/text.h"
#include "det/master/identity/login_rules.h"
#include "det/master/identity/secret.h"

namespace det::master {
namespace {

constexpr std::string_view kScheme = "Basic ";
constexpr std::size_t kRememberedLogins = 1000;

}  // namespace

asio::awaitable<Result<std::any>> BasicLogins::authenticate(const http::Request& request) {
  const auto* header = request.headers.find("Authorization");
  if (header == nullptr || !header->starts_with(kScheme) || !request.path.starts_with("/api/2.0/mlflow"))
    co_return co_await s_.auth.authenticate(request);
  const auto key = digest(*header);
  for (const bool again : {false, true}) {
    if (again || !tokens_.contains(key)) {
      auto token = co_await log_in(*header, request.remote);
      if (!token) co_return tl::unexpected(token.error());
      if (tokens_.size() >= kRememberedLogins) tokens_.clear();
      tokens_[key] = *std::move(token);
    }
    http::Request as_session{.method = request.method, .target = request.target, .path = request.path};
    as_session.headers = request.headers;
    as_session.headers.set("Authorization", "Bearer " + tokens_[key]);
    auto who = co_await s_.auth.authenticate(as_session);
    if (who || who.error().code() != ErrorCode::Unauthenticated) co_return who;
    tokens_.erase(key);  // the session has ended, for example with a new password
  }
  co_return fail(ErrorCode::Unauthenticated, "invalid credentials");
}

asio::awaitable<Result<std::string>> BasicLogins::log_in(std::string header, std::string remote) {
  const auto decoded = base64_decode(trim(std::string_view(header).substr(kScheme.size())));
  const auto colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos)
    co_return fail(ErrorCode::Unauthenticated, "the header Authorization is broken; send name and password");
  const auto name = decoded->substr(0, colon);
  const auto address = login_address(remote);
  const auto throttled = [&] {
    return refuse_when_throttled(name, address, s_.throttle.wait(name, address, s_.ledger.now()));
  };
  auto refused = refuse_when_crowded(s_.logins.waiting());
  if (!refused) refused = throttled();
  if (refused) co_return tl::unexpected(refused->error);
  const auto turn = co_await s_.logins.take();
  if (refused = throttled(); refused) co_return tl::unexpected(refused->error);
  const auto login = co_await s_.auth.login(s_.pool, name, decoded->substr(colon + 1), false);
  if (!login) {
    s_.throttle.failed(name, address, s_.ledger.now());
    co_return tl::unexpected(login.error());
  }
  s_.throttle.succeeded(name, address);
  co_return login->token;
}

}  // namespace det::master
