#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace det::master {

template <class F>
boost::asio::awaitable<std::invoke_result_t<F>> call(F work) {
  co_return work();
}

/// Runs blocking work on the pool, and continues on the strand. Name `work` before the call: g++ 12
/// destroys a temporary closure in a co_await expression twice.
template <class F>
boost::asio::awaitable<std::invoke_result_t<F>> blocking(boost::asio::thread_pool& pool, F work) {
  co_return co_await boost::asio::co_spawn(pool, call(std::move(work)), boost::asio::use_awaitable);
}

}  // namespace det::master
