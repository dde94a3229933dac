// Work on the pool outlives whoever asked for it to stop waiting.

#include "det/http/offload.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

namespace det::http {
namespace {

namespace asio = boost::asio;

asio::awaitable<int> ask(asio::thread_pool& pool) {
  auto work = [] { return 7; };
  co_return co_await offload(pool, std::move(work));
}

/// Returns when the only thread of the pool has done what it had to do.
void drain(asio::thread_pool& pool) {
  std::promise<void> drained;
  asio::post(pool, [&] { drained.set_value(); });
  drained.get_future().wait();
}

TEST(Offload, ACallThatIsCancelledWhenItsWorkIsDoneStillEndsWithItsAnswer) {
  asio::io_context context;
  asio::thread_pool pool(1);
  asio::cancellation_signal hang_up;
  int answer = 0;
  asio::co_spawn(
      context, ask(pool),
      asio::bind_cancellation_slot(hang_up.slot(), [&](std::exception_ptr, int value) { answer = value; }));
  context.poll();
  drain(pool);
  drain(pool);  // the work is done, and its result on the way
  std::promise<void> go_on;
  asio::post(pool, [held = go_on.get_future().share()] { held.wait(); });
  hang_up.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_EQ(answer, 7);
  go_on.set_value();
  pool.join();  // nothing there points into the call, which is gone
}

}  // namespace
}  // namespace det::http
