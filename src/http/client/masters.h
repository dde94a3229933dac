#pragma once

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "det/http/client/client_pool.h"

namespace det::http {

/// Several masters on one database, of which one leads: each call goes to the one that does.
///
/// A call is sent on to the next address where an address gives no answer and the call cannot have been
/// received, or may be made twice; and where a master says that it stands by. What standing-by masters say
/// of the leader is believed, except that it never leads from https to http, or from another machine to a
/// loopback address. While a call waits for long, the others are asked whether one of them leads now: then
/// the call's master was suspended or cut off, and is no longer waited for.
class Masters : public std::enable_shared_from_this<Masters> {
 public:
  /// `urls` is not empty.
  Masters(asio::any_io_executor executor, const std::vector<Url>& urls, ClientOptions options);

  /// Where the next call goes first.
  const Url& url() const { return pools_[current_]->url(); }
  std::vector<Url> urls() const;
  asio::awaitable<Result<Reply>> request(Call call);
  void close();

 private:
  // What all addresses came to: the reply to the call, or why none of them has taken it.
  struct Round {
    Result<Reply> reply;
    bool final = false;
    bool standby = false;
  };
  asio::awaitable<Round> ask_all(const Call& call);
  asio::awaitable<Attempt> attempt(std::size_t at, const Call& call);
  asio::awaitable<std::size_t> another_leader(std::size_t than);
  asio::awaitable<Result<Reply>> health(std::size_t at);
  /// The place of the leader that a master at `by` names, which may be a new one.
  std::optional<std::size_t> named_leader(const Reply& reply, const Url& by);
  bool several() const { return pools_.size() > 1; }

  asio::any_io_executor executor_;
  ClientOptions options_;
  std::deque<std::shared_ptr<ClientPool>> pools_;
  std::size_t given_;  // the first ones were given; others were named
  std::size_t current_ = 0;
  // Whose connection broke under a call: they are asked before they get another.
  std::set<std::size_t> broken_;
  std::uint64_t closes_ = 0;
};

}  // namespace det::http
