#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace det::master {

/// Runs blocking work on the pool, and continues on the strand. Name `work` before the call: g++ 12
/// destroys a temporary closure in a co_await expression twice.
///
/// Who waits goes on when the work is done, also when it was cancelled meanwhile: nobody could stop the work.
/// Not by co_spawn: there, Boost 1.81 sends a cancellation to a thread of the pool by a pointer into the
/// waiting call, which may be gone by then.
template <class F>
boost::asio::awaitable<std::invoke_result_t<F>> blocking(boost::asio::thread_pool& pool, F work) {
  namespace asio = boost::asio;
  using Answer = std::optional<std::invoke_result_t<F>>;
  auto initiate = [&pool](auto handler, F job) {
    auto strand = asio::make_work_guard(asio::get_associated_executor(handler));
    auto task = [handler = std::move(handler), job = std::move(job), strand = std::move(strand)]() mutable {
      std::exception_ptr failure;
      Answer answer;
      try {
        answer.emplace(job());
      } catch (...) {
        failure = std::current_exception();
      }
      auto go_on = [handler = std::move(handler), failure, answer = std::move(answer)]() mutable {
        std::move(handler)(failure, std::move(answer));
      };
      asio::post(strand.get_executor(), std::move(go_on));
    };
    asio::post(pool, std::move(task));
  };
  auto answer =
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, Answer)>(
          initiate, asio::use_awaitable, std::move(work));
  co_return *std::move(answer);
}

}  // namespace det::master
