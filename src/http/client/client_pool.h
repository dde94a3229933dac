#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "det/http/client/client.h"

namespace det::http {

class Wire;

/// What one try came to: a reply, or an error that may be worth another try.
struct Attempt {
  Result<Reply> reply;
  bool sent = false;      ///< the server may have got the call
  bool answered = false;  ///< at least one byte came back
};

/// Whether a call with this method may be made twice.
bool idempotent(std::string_view method);

/// The idle connections to one server, and the calls in progress.
class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(asio::any_io_executor executor, Url url, ClientOptions options)
      : executor_(std::move(executor)), url_(std::move(url)), options_(std::move(options)) {}

  const Url& url() const { return url_; }
  asio::awaitable<Attempt> request(Call call);
  void close();

 private:
  class InUse;

  asio::awaitable<Result<std::shared_ptr<Wire>>> connect();
  asio::awaitable<std::optional<Error>> shake_hands(Wire& wire);
  asio::awaitable<Attempt> exchange(std::shared_ptr<Wire> wire, const Call& call);
  std::shared_ptr<Wire> take_idle();
  Error unreachable(std::string_view why) const;

  asio::any_io_executor executor_;
  Url url_;
  ClientOptions options_;
  std::vector<std::shared_ptr<Wire>> idle_;
  std::set<std::shared_ptr<Wire>> busy_;
  std::uint64_t closes_ = 0;
  std::shared_ptr<const TlsTrust> trust_;
};

}  // namespace det::http
