#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace det::http {

/// Runs blocking work on a thread of the pool; who waits goes on where it was, with what the work threw if it
/// threw. It goes on when the work is done, also when it was cancelled meanwhile: nobody could stop the work.
boost::asio::awaitable<void> run_on(boost::asio::thread_pool& pool, std::function<void()> work);

/// The same for work that has an answer. What it captures lives on with it, also where nobody waits any more.
/// Name `work` before the call: g++ 12 destroys a temporary closure in a co_await expression twice.
template <class F>
boost::asio::awaitable<std::invoke_result_t<F&>> offload(boost::asio::thread_pool& pool, F work) {
  struct Call {
    F work;
    std::optional<std::invoke_result_t<F&>> answer;
  };
  auto call = std::make_shared<Call>(Call{std::move(work), std::nullopt});
  std::function<void()> todo = [call] { call->answer.emplace(call->work()); };
  co_await run_on(pool, std::move(todo));
  co_return *std::move(call->answer);
}

}  // namespace det::http
