#include "det/http/offload.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

namespace asio = boost::asio;

namespace det::http {

// Not by co_spawn: there, Boost 1.81 sends a cancellation to a thread of the pool by a pointer into the
// waiting call, which may be gone by then.
asio::awaitable<void> run_on(asio::thread_pool& pool, std::function<void()> work) {
  auto initiate = [&pool](auto handler, std::function<void()> job) {
    auto strand = asio::make_work_guard(asio::get_associated_executor(handler));
    auto task = [handler = std::move(handler), job = std::move(job), strand = std::move(strand)]() mutable {
      std::exception_ptr failure;
      try {
        job();
      } catch (...) {
        failure = std::current_exception();
      }
      job = nullptr;  // what it holds ends with who waits, not here
      auto go_on = [handler = std::move(handler), failure]() mutable { std::move(handler)(failure); };
      asio::post(strand.get_executor(), std::move(go_on));
    };
    asio::post(pool, std::move(task));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      std::move(initiate), asio::use_awaitable, std::move(work));
}

}  // namespace det::http
