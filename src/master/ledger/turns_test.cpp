#include "det/master/ledger/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "det/master/testing.h"

namespace det::master {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;

struct Stage {
  asio::io_context context{1};
  Turns turns;
  std::vector<int> done;

  asio::awaitable<void> play(int number) {
    const auto turn = co_await turns.take();
    asio::steady_timer pause(context, std::chrono::milliseconds(1));
    co_await pause.async_wait(asio::use_awaitable);
    done.push_back(number);
  }
};

TEST(Turns, AreTakenInTheOrderOfAsking) {
  Stage stage;
  for (int i = 0; i < 5; ++i) asio::co_spawn(stage.context, stage.play(i), asio::detached);
  stage.context.run();
  EXPECT_THAT(stage.done, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(stage.turns.waiting(), 0u);
}

TEST(Turns, WhoIsCancelledHoldsNobodyUpWaitingOrNot) {
  Stage stage;
  std::vector<asio::cancellation_signal> signals(4);
  for (int i = 0; i < 4; ++i)
    asio::co_spawn(stage.context, stage.play(i),
                   asio::bind_cancellation_slot(signals[static_cast<std::size_t>(i)].slot(), asio::detached));
  asio::post(stage.context, [&] {
    signals[0].emit(asio::cancellation_type::terminal);  // has the turn
    signals[2].emit(asio::cancellation_type::terminal);  // waits for it
  });
  stage.context.run();
  EXPECT_THAT(stage.done, ElementsAre(1, 3));
}

class LoginsTest : public testing::MasterTest {};

TEST_F(LoginsTest, ManyGuessesAtOnceDoNotGetPastTheThrottle) {
  std::vector<std::thread> guessers;
  std::atomic<int> wrong = 0, refused = 0;
  for (int i = 0; i < 24; ++i)
    guessers.emplace_back([&] {
      const auto answer =
          call("", "POST", "/api/v1/auth/login", json::object{{"username", "admin"}, {"password", "guess"}});
      if (answer.status == 401) ++wrong;
      if (answer.status == 429) ++refused;
    });
  for (auto& guesser : guessers) guesser.join();
  EXPECT_EQ(wrong + refused, 24);
  EXPECT_LE(wrong, 6) << "as many as one after the other";
  EXPECT_GE(wrong, 1);
  EXPECT_EQ(call(user_, "GET", "/api/v1/me").status, 200);
}

}  // namespace
}  // namespace det::master
