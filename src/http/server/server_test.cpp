#include "det/http/server/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/http/test_support.h"

namespace det::http {
namespace {

using namespace test;

std::string get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n";
}

TEST(Server, AnswersAndKeepsTheConnection) {
  RunningServer server(echo);
  RawSocket socket(server.port());
  for (int i = 0; i < 3; ++i) {
    socket.send(get("/a"));
    const auto answer = socket.read_until("GET /a");
    EXPECT_EQ(status_in(answer), 200);
    EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos);
    EXPECT_EQ(answer.find("Connection: close"), std::string::npos);
  }
}

TEST(Server, ClosesWhenAsked) {
  RunningServer server(echo);
  const auto answer = talk(server.port(), get("/a", "Connection: close\r\n"));
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  RunningServer server(echo);
  const auto answer =
      talk(server.port(), get("/1") + "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" +
                              get("/3") + get("/4", "Connection: close\r\n"));
  const auto first = answer.find("GET /1");
  const auto second = answer.find("POST /2 3");
  const auto third = answer.find("GET /3");
  const auto fourth = answer.find("GET /4");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, fourth);
  EXPECT_NE(fourth, std::string::npos);
}

TEST(Server, AnswersAClientThatClosedItsSendingSide) {
  RunningServer server(echo);
  RawSocket socket(server.port());
  socket.send(get("/a"));
  socket.close_sending();
  EXPECT_NE(socket.read_all().find("GET /a"), std::string::npos);
}

TEST(Server, HeadHasTheLengthAndNoBody) {
  RunningServer server(echo);
  const auto answer = talk(server.port(), "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, Http10IsAnsweredAndClosed) {
  RunningServer server(echo);
  EXPECT_NE(talk(server.port(), "GET /a HTTP/1.0\r\n\r\n").find("GET /a"), std::string::npos);
}

TEST(Server, SendsContinueOnlyBeforeABodyThatItWillRead) {
  RunningServer server(echo);
  RawSocket socket(server.port());
  socket.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("abc");
  EXPECT_NE(socket.read_until("POST /a 3").find("POST /a 3"), std::string::npos);

  RawSocket large(server.port());
  large.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(status_in(large.read_until("\r\n\r\n")), 413);
  EXPECT_EQ(status_in(talk(server.port(),
                           "POST /a HTTP/1.1\r\nHost: h\r\nExpect: tea\r\nContent-Length: 3\r\n\r\n")),
            417);
}

TEST(Server, TheBodyLimitIsExactAndMayBeRaisedByPath) {
  ServerOptions options;
  options.body_max = 1000;
  options.body_limit = [](const Request& head) -> std::size_t {
    return head.path == "/large" ? 2'000'000 : 0;
  };
  RunningServer server(echo, options);
  const auto post = [&](const std::string& path, std::size_t bytes) {
    return status_in(talk(server.port(), "POST " + path +
                                             " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: " +
                                             std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x')));
  };
  EXPECT_EQ(post("/a", 1000), 200);
  EXPECT_EQ(post("/a", 1001), 413);
  EXPECT_EQ(post("/large", 2'000'000), 200);
  EXPECT_EQ(post("/large", 2'000'001), 413);
  const auto chunked = [&](std::size_t bytes) {
    return status_in(
        talk(server.port(), fmt::format("POST /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                                        "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                                        bytes, std::string(bytes, 'x'))));
  };
  EXPECT_EQ(chunked(1000), 200);
  EXPECT_EQ(chunked(1001), 413);
}

asio::awaitable<void> write_three(StreamWriter& writer) {
  for (const std::string text : {"one\n", "two\n", "three\n"}) co_await writer.write(text);
}

asio::awaitable<Response> three_lines(Request) {
  Response response;
  response.stream = write_three;
  co_return response;
}

TEST(Server, StreamsInChunksAndKeepsTheConnection) {
  RunningServer server(three_lines);
  const auto answer = talk(server.port(), get("/") + get("/", "Connection: close\r\n"));
  EXPECT_NE(answer.find("Transfer-Encoding: chunked"), std::string::npos);
  const std::string body = "4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n";
  EXPECT_TRUE(answer.ends_with(body));
  EXPECT_LT(answer.find(body), answer.size() - body.size());
  EXPECT_TRUE(talk(server.port(), "GET / HTTP/1.0\r\n\r\n").ends_with("\r\n\r\none\ntwo\nthree\n"));
}

asio::awaitable<void> break_off(StreamWriter& writer) {
  co_await writer.write(std::string("half"));
  throw std::runtime_error("the disk is gone");
}

asio::awaitable<Response> broken(Request request) {
  if (request.path == "/throws") throw std::runtime_error("the disk is gone");
  Response response;
  response.stream = break_off;
  co_return response;
}

TEST(Server, AnExceptionIs500OrACutStreamAndNothingElseSuffers) {
  RunningServer server(broken);
  EXPECT_EQ(status_in(talk(server.port(), get("/throws", "Connection: close\r\n"))), 500);
  const auto cut = talk(server.port(), get("/stream"));
  EXPECT_TRUE(cut.ends_with("4\r\nhalf\r\n")) << cut;
  EXPECT_EQ(status_in(talk(server.port(), get("/throws", "Connection: close\r\n"))), 500);
}

// A long poll that says when it began and when it was cancelled.
struct LongPoll {
  std::atomic<int> begun = 0;
  std::atomic<int> cancelled = 0;

  asio::awaitable<Response> wait(Request request) {
    ++begun;
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    bool stopped = false;
    try {
      co_await timer.async_wait(asio::use_awaitable);
    } catch (const boost::system::system_error&) {
      stopped = true;
    }
    if (stopped) ++cancelled;
    co_return co_await echo(std::move(request));
  }
  Handler handler() {
    return [this](Request request) { return wait(std::move(request)); };
  }
};

TEST(Server, CancelsALongPollWhoseClientLeft) {
  LongPoll poll;
  RunningServer server(poll.handler());
  {
    RawSocket closes(server.port());
    RawSocket resets(server.port());
    closes.send(get("/"));
    resets.send(get("/"));
    ASSERT_TRUE(eventually([&] { return poll.begun == 2; }));
    resets.reset();
    EXPECT_TRUE(eventually([&] { return poll.cancelled == 1; }, 500ms)) << "a reset is noticed at once";
  }
  EXPECT_TRUE(eventually([&] { return poll.cancelled == 2; }));
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(Server, NoticesThatAPipeliningClientLeft) {
  LongPoll poll;
  RunningServer server(poll.handler());
  {
    RawSocket socket(server.port());
    socket.send(get("/") + get("/next"));
    ASSERT_TRUE(eventually([&] { return poll.begun == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return poll.cancelled == 1; }));
}

TEST(Server, StopLetsRequestsFinishWithinItsGrace) {
  const Handler handler = [](Request request) -> asio::awaitable<Response> {
    asio::steady_timer timer(co_await asio::this_coro::executor, 100ms);
    co_await timer.async_wait(asio::use_awaitable);
    co_return co_await echo(std::move(request));
  };
  RunningServer server(handler);
  RawSocket idle(server.port());
  RawSocket busy(server.port());
  busy.send(get("/a"));
  ASSERT_TRUE(eventually([&] { return server.connections() == 2; }));
  std::this_thread::sleep_for(20ms);
  const auto begun = std::chrono::steady_clock::now();
  server.stop(5s);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  const auto answer = busy.read_all();
  EXPECT_EQ(status_in(answer), 200);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_EQ(idle.read_all(), "");
}

TEST(Server, StopCancelsWhatOutlivesItsGrace) {
  // Cancelled by the server, not by its client: so the handler's exception counts.
  const Handler handler = [](Request) -> asio::awaitable<Response> {
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
    co_return Response{};
  };
  RunningServer server(handler);
  RawSocket socket(server.port());
  socket.send(get("/"));
  ASSERT_TRUE(eventually([&] { return server.connections() == 1; }));
  std::this_thread::sleep_for(20ms);
  server.stop(50ms);
  EXPECT_EQ(status_in(socket.read_all()), 503);
}

TEST(Server, SaysWhyItCannotListen) {
  RunningServer server(echo);
  asio::io_context context;
  Server second(context.get_executor(), echo);
  const auto taken = second.listen("127.0.0.1", server.port());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message(),
            fmt::format("port {} on 127.0.0.1 is in use by another program; choose another with --port",
                        server.port()));
  const auto name = second.listen("no such host", 0);
  ASSERT_FALSE(name);
  EXPECT_NE(name.error().message().find("\"no such host\" is not an address"), std::string::npos);
  const auto foreign = second.listen("192.0.2.1", 0);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message().find("this machine has no address 192.0.2.1"), std::string::npos);
}

TEST(Server, ServesAThousandConnectionsAtOnce) {
  RunningServer server(echo);
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 1000; ++i) sockets.emplace_back(server.port());
  for (auto& socket : sockets) ASSERT_TRUE(socket.send(get("/a")));
  for (auto& socket : sockets) ASSERT_EQ(status_in(socket.read_until("GET /a")), 200);
  EXPECT_EQ(server.connections(), 1000U);
  sockets.clear();
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(Server, AcceptsNoMoreThanItsLimitAndGoesOnWhenOneLeaves) {
  ServerOptions options;
  options.connections_max = 2;
  RunningServer server(echo, options);
  RawSocket first(server.port());
  {
    RawSocket second(server.port());
    ASSERT_TRUE(eventually([&] { return server.connections() == 2; }));
    RawSocket third(server.port());
    third.send(get("/a"));
    EXPECT_EQ(third.read_until("GET /a", 100ms), "");
    second.reset();
    EXPECT_EQ(status_in(third.read_until("GET /a")), 200);
  }
}

TEST(Server, HeadersOfAHandlerCannotEndEarly) {
  const Handler handler = [](Request) -> asio::awaitable<Response> {
    Response response;
    response.headers.add("X-A", "1\r\nX-Evil: 1");
    co_return response;
  };
  RunningServer server(handler);
  EXPECT_EQ(talk(server.port(), get("/", "Connection: close\r\n")).find("\r\nX-Evil"), std::string::npos);
}

}  // namespace
}  // namespace det::http
