#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <type_traits>
#include <utility>

#include "det/base/error.h"
#include "det/http/offload.h"

namespace det::agent {

namespace asio = boost::asio;

/// Runs `work` on a thread of the pool and continues here with what it
/// returns, a Result. What it throws becomes an error. Cannot be cancelled.
///
/// Name `work` before the call and move it in, as for http::offload.
template <typename F>
asio::awaitable<std::invoke_result_t<F&>> on_pool(asio::thread_pool& pool, F work) {
  auto guarded = [work = std::move(work)]() mutable -> std::invoke_result_t<F&> {
    try {
      return work();
    } catch (const std::exception& error) {
      return tl::unexpected(Error(ErrorCode::Unavailable, error.what()));
    }
  };
  return http::offload(pool, std::move(guarded));
}

/// Something happened: wakes whoever waits. Several happenings are one.
class Bell {
 public:
  explicit Bell(const asio::any_io_executor& executor) : timer_(executor) {}
  void ring() {
    rung_ = true;
    timer_.cancel();
  }
  /// Returns at once if it rang since the last wait; else when it rings or the time has passed.
  asio::awaitable<void> wait(std::chrono::steady_clock::duration longest = std::chrono::hours(24 * 365)) {
    if (!rung_) {
      timer_.expires_after(longest);
      boost::system::error_code cancelled;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    }
    rung_ = false;
  }

 private:
  asio::steady_timer timer_;
  bool rung_ = false;
};

/// Owns coroutines: none outlives `stop`. One thread.
class Coroutines {
 public:
  explicit Coroutines(asio::any_io_executor executor) : executor_(std::move(executor)), idle_(executor_) {}

  void spawn(asio::awaitable<void> task) {
    const auto signal = signals_.emplace(signals_.end());
    asio::co_spawn(executor_, std::move(task),
                   asio::bind_cancellation_slot(signal->slot(), [this, signal](std::exception_ptr failure) {
                     signals_.erase(signal);
                     if (failure && !stopping_) failure_ = failure;
                     idle_.ring();
                   }));
  }
  /// What a task threw, if one did: a bug or a machine that cannot go on.
  std::exception_ptr failure() const { return failure_; }
  Bell& changed() { return idle_; }

  /// Cancels all and waits for their ends.
  asio::awaitable<void> stop() {
    stopping_ = true;
    while (!signals_.empty()) {
      for (auto at = signals_.begin(); at != signals_.end();) (at++)->emit(asio::cancellation_type::terminal);
      if (!signals_.empty()) co_await idle_.wait(std::chrono::milliseconds(20));
    }
  }

 private:
  asio::any_io_executor executor_;
  Bell idle_;
  std::list<asio::cancellation_signal> signals_;
  std::exception_ptr failure_;
  bool stopping_ = false;
};

}  // namespace det::agent
