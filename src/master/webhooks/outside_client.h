#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "det/master/webhooks/outside_address.h"

namespace det::master {

/// What is posted to a server that a user named.
struct OutsideCall {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body;
  std::chrono::milliseconds timeout{10'000};  ///< of the whole exchange, looking up the name included
};

/// How a call ended without an answer.
struct OutsideFailure {
  std::string why;
  bool refused = false;  ///< by us, for its address: trying again does not help
};

/// Posts to servers that users name, over HTTP and HTTPS (certificates are checked).
///
/// Addresses are checked as they are connected to, so neither an odd spelling of an address nor a name server
/// that changes its mind leads past `refusal`. No redirect is followed, no proxy asked, no cookie kept, and
/// of an answer only the status is looked at: at most 64 KiB of the rest are read, and thrown away.
///
/// Threads: one of its own does the work, so that no name server and no slow peer keeps the caller's
/// executor. `post` may be called from any thread and completes on `executor`. The destructor gives up open
/// calls, whose coroutines are then destroyed, not resumed.
class OutsideClient {
 public:
  OutsideClient(boost::asio::any_io_executor executor, std::vector<Network> allowed);
  ~OutsideClient();
  OutsideClient(const OutsideClient&) = delete;
  OutsideClient& operator=(const OutsideClient&) = delete;

  /// The status of the answer.
  boost::asio::awaitable<tl::expected<int, OutsideFailure>> post(OutsideCall call);
  /// Ends open calls, and all later ones, with a failure.
  void cancel();

 private:
  class Worker;
  boost::asio::any_io_executor executor_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace det::master
