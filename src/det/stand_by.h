#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "det/http/server/server.h"
#include "det/master/master.h"

namespace det::commands {

/// Answers every call while another master leads: with 503, a sentence, and where the leader is
/// (http::kLeaderHeader); pages are redirected there. It reads nothing: what a master answers comes from its
/// memory as much as from the database, and would be older here than what a client has seen already.
class StandBy {
 public:
  StandBy(boost::asio::any_io_executor executor, const master::MasterOptions& options)
      : options_(options), executor_(std::move(executor)) {}

  void start(const std::string& why);
  /// Where the leader is reached; empty: it did not say.
  void leader(const std::string& address) { leader_ = address; }
  /// Ends open calls, and then the context.
  void stop(boost::asio::io_context& context);

 private:
  boost::asio::awaitable<http::Response> answer(http::Request request) const;
  /// The leader's URL where a client that calls this master by `host` can reach it.
  std::string reachable_leader(const http::Request& request) const;

  const master::MasterOptions& options_;
  boost::asio::any_io_executor executor_;
  std::unique_ptr<http::Server> server_;
  std::string why_, leader_;
};

}  // namespace det::commands
