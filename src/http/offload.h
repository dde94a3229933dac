#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace det::http {

/// Runs blocking work on a thread of the pool. The caller resumes on its own executor when the work is done,
/// with the exception that the work threw, if any. A cancelled caller also waits for the end, because the
/// work cannot be stopped.
boost::asio::awaitable<void> run_on(boost::asio::thread_pool& pool, std::function<void()> work);

/// The same for work with a result. Its captures live as long as the work, even if no one waits for it any
/// more.
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
