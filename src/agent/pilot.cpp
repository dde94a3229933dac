#include "det/agent/pilot.h"

#include <unistd.h>
#include "det/logging/log.h"

#include "det/base/text.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"
#include "det/http/wire/wire.h"

namespace det::agent {
namespace {

struct ClaimRequest {
  int node = 0;
  std::string secret, hostname;
};
BOOST_DESCRIBE_STRUCT(ClaimRequest, (), (node, secret, hostname))
struct ClaimReply {
  std::string agent_id, token, resource_pool;
};
BOOST_DESCRIBE_STRUCT(ClaimReply, (), (agent_id, token, resource_pool))

Result<std::string> new_secret() {
  unsigned char bytes[16];
  if (::getentropy(bytes, sizeof bytes) != 0)
    return fail(ErrorCode::Unavailable, "the system has no random numbers: {}", std::strerror(errno));
  return hexadecimal({reinterpret_cast<const char*>(bytes), sizeof bytes});
}

}  // namespace

asio::awaitable<Result<AgentOptions>> claim(AgentOptions options, Pilot pilot) {
  const auto executor = co_await asio::this_coro::executor;
  const auto urls = http::parse_urls(options.master_url);
  if (!urls) co_return tl::unexpected(urls.error());
  auto secret = new_secret();
  if (!secret) co_return tl::unexpected(secret.error());
  http::ClientOptions client_options;
  client_options.trust = options.trust;
  http::AsyncClient client(executor, *urls, client_options);
  char hostname[256] = {};
  ::gethostname(hostname, sizeof hostname - 1);
  const ClaimRequest request{.node = pilot.node, .secret = *secret, .hostname = hostname};
  const auto deadline = std::chrono::steady_clock::now() + pilot.patience;
  for (auto pause = std::chrono::milliseconds(200);;
       pause = std::min(pause * 2, std::chrono::milliseconds(5'000))) {
    http::Call call;
    call.method = "POST";
    call.path = fmt::format("/api/v1/allotments/{}/claim", percent_encode(pilot.allotment));
    call.headers.set("Content-Type", "application/json");
    call.headers.set("Authorization", "Bearer " + pilot.token);
    call.timeout = std::chrono::milliseconds(10'000);
    call.body = http::to_wire_text(request);
    const auto reply = co_await client.request(std::move(call));
    if (reply && reply->ok()) {
      auto answer = http::from_wire_text<ClaimReply>(reply->body);
      if (!answer) co_return tl::unexpected(answer.error());
      options.agent_id = answer->agent_id;
      options.token = answer->token;
      options.resource_pool = answer->resource_pool;
      co_return options;
    }
    // 429 and 503 pass by, as silence does.
    if (reply && reply->status < 500 && reply->status != 429)
      co_return tl::unexpected(http::error_of(reply->status, reply->body));
    const auto trouble =
        reply ? http::error_of(reply->status, reply->body).message() : reply.error().message();
    if (std::chrono::steady_clock::now() + pause > deadline)
      co_return fail(ErrorCode::Unavailable, "the master at {} cannot be reached from this machine: {}",
                     options.master_url, trouble);
    logging::warn("cannot reach the master at {}: {}; retrying", options.master_url, trouble);
    asio::steady_timer timer(executor, pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace det::agent
