#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "det/base/error.h"
#include "det/http/client/client.h"

namespace det::trial {

/// How a call to the master is repeated: delays grow from `delay_min` to
/// `delay_max`, each shortened by chance so that a thousand trials do not come back at once.
struct Retry {
  std::chrono::milliseconds delay_min{20};
  std::chrono::milliseconds delay_max{10'000};
};

/// One connection to the master for one thread, which gets every call answered.
///
/// No answer, 429 and 502–504 are tried again for ever, 500 a few times. What
/// cannot be mended by waiting is an error: 410 and 409 are Gone (this
/// allocation is over), others are what the master says.
class Line {
 public:
  /// `notice` gets a sentence when an outage begins and when it ends.
  Line(const std::vector<http::Url>& urls, std::string token, Retry retry,
       std::function<void(const std::string&)> notice);

  /// `poll` is called now and then while the call waits for its next attempt; it may throw.
  Result<http::Reply> call(const http::Call& call, const std::function<void()>& poll = {});

  /// Ends the call in progress and all later ones at once, with Unavailable. From any thread.
  void hang_up();
  /// Calls are made again after `hang_up`.
  void pick_up();

 private:
  bool wait(std::chrono::milliseconds delay, const std::function<void()>& poll);
  void note_outage(const std::string& why);
  void note_end_of_outage();

  http::Client client_;
  std::string token_;
  Retry retry_;
  std::function<void(const std::string&)> notice_;
  std::chrono::steady_clock::time_point outage_since_{};
  bool outage_told_ = false;

  std::mutex mutex_;
  std::condition_variable woken_;
  bool hung_up_ = false;
};

}  // namespace det::trial
