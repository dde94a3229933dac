#include "det/http/client/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/http/routing/status.h"
#include "det/http/test_support.h"

namespace det::http {
namespace {

using namespace test;

asio::awaitable<void> write_lines(StreamWriter& writer) {
  // Lines that end within a chunk, and a last one without its newline.
  for (const std::string text : {"one\ntw", "o\r\n", "\nend"}) co_await writer.write(text);
}

asio::awaitable<void> write_for_ever(StreamWriter& writer) {
  for (;;) {
    const bool taken = co_await writer.write(std::string("line\n"));
    if (!taken) co_return;
    asio::steady_timer pause(co_await asio::this_coro::executor, 1ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<Response> site(Request request) {
  if (request.path == "/lines" || request.path == "/endless") {
    Response response;
    if (request.path == "/lines")
      response.stream = write_lines;
    else
      response.stream = write_for_ever;
    co_return response;
  }
  if (request.path == "/slow") {
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (request.path == "/missing") co_return error_response(Error(ErrorCode::NotFound, "trial 7 not found"));
  if (request.path == "/large") {
    Response response;
    response.body = std::string(3'000'000, 'x');
    co_return response;
  }
  co_return co_await echo(std::move(request));
}

TEST(Client, GetsPostsAndKeepsItsConnection) {
  RunningServer server(site);
  Client client(server.url());
  for (int i = 0; i < 5; ++i) {
    const auto got = client.get("/a");
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->body, "GET /a");
    const auto posted = client.post("/b", "{}");
    ASSERT_TRUE(posted) << posted.error().message();
    EXPECT_EQ(posted->body, "POST /b 2");
  }
  EXPECT_EQ(server.connections(), 1U);
}

TEST(Client, AnErrorStatusIsAReply) {
  RunningServer server(site);
  Client client(server.url());
  const auto reply = client.get("/missing");
  ASSERT_TRUE(reply);
  EXPECT_EQ(error_of(reply->status, reply->body), Error(ErrorCode::NotFound, "trial 7 not found"));
}

TEST(Client, LargeBodiesPassBothWays) {
  ServerOptions options;
  options.body_max = 10'000'000;
  RunningServer server(site, options);
  Client client(server.url());
  EXPECT_EQ(client.post("/a", std::string(5'000'000, 'x'))->body, "POST /a 5000000");
  EXPECT_EQ(client.get("/large")->body.size(), 3'000'000U);
}

TEST(Client, HandsOverLinesAsTheyAre) {
  RunningServer server(site);
  Client client(server.url());
  std::vector<std::string> lines;
  Call call;
  call.path = "/lines";
  call.on_line = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  const auto reply = client.request(call);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "end"}));
}

TEST(Client, AReaderMayStopAnEndlessStream) {
  RunningServer server(site);
  Client client(server.url());
  int lines = 0;
  Call call;
  call.path = "/endless";
  call.on_line = [&](std::string_view) { return ++lines < 3; };
  EXPECT_TRUE(client.request(call));
  EXPECT_EQ(lines, 3);
  EXPECT_EQ(client.get("/a")->body, "GET /a");
}

TEST(Client, AStreamThatFailsToBeginIsAnOrdinaryReply) {
  RunningServer server(site);
  Client client(server.url());
  Call call;
  call.path = "/missing";
  call.on_line = [](std::string_view) -> bool { throw std::logic_error("not a line"); };
  const auto reply = client.request(call);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 404);
  EXPECT_NE(reply->body.find("trial 7"), std::string::npos);
}

TEST(Client, NamesTheAddressThatDoesNotAnswer) {
  Url url;
  url.host = "127.0.0.1";
  {
    RunningServer server(site);
    url.port = server.port();
  }
  Client client(url);
  const auto reply = client.get("/");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(reply.error().message(), url.authority() + " refused the connection: nothing listens there");
}

TEST(Client, NoticesThatItsKeptConnectionWasClosed) {
  ServerOptions options;
  options.idle_timeout = 100ms;
  RunningServer server(site, options);
  Client client(server.url());
  EXPECT_TRUE(client.get("/a"));
  ASSERT_TRUE(eventually([&] { return server.connections() == 0; }));
  EXPECT_TRUE(client.post("/a", "{}")) << "a stale connection is not used, even for a POST";
}

TEST(Client, GivesUpWhenItsTimeIsOver) {
  RunningServer server(site);
  Client client(server.url());
  Call call;
  call.path = "/slow";
  call.timeout = 100ms;
  const auto begun = std::chrono::steady_clock::now();
  const auto reply = client.request(call);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(reply.error().message().find("did not answer within 0.1 s"), std::string::npos);
}

TEST(Client, CancelFromAnotherThreadEndsTheCallAndAllLaterOnes) {
  RunningServer server(site);
  Client client(server.url());
  std::thread canceller([&] {
    std::this_thread::sleep_for(50ms);
    client.cancel();
  });
  const auto reply = client.get("/slow");
  canceller.join();
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message().find("was cancelled"), std::string::npos);
  EXPECT_FALSE(client.get("/a"));
  client.resume();
  EXPECT_TRUE(client.get("/a"));
}

TEST(Client, RefusesToSendWhatWouldBeTwoRequests) {
  RunningServer server(site);
  Client client(server.url());
  EXPECT_FALSE(client.get("/a HTTP/1.1\r\nX: y"));
  EXPECT_FALSE(client.get("a"));
  Headers headers;
  headers.add("X-A", "1\r\nX-B: 2");
  EXPECT_FALSE(client.get("/a", headers));
}

TEST(Client, UnderstandsContinueAndAnEarlyRefusal) {
  RunningServer server(site);
  Client client(server.url());
  Call call;
  call.method = "POST";
  call.path = "/a";
  call.body = std::string(8'000'000, 'x');
  const auto refused = client.request(call);
  ASSERT_TRUE(refused) << refused.error().message();
  EXPECT_EQ(refused->status, 413);
  call.body = "abc";
  call.headers.add("Expect", "100-continue");
  const auto reply = client.request(call);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "POST /a 3");
}

// A server that says exactly these bytes to every client and closes.
class FixedServer {
 public:
  explicit FixedServer(std::string bytes);
  ~FixedServer() {
    context_.stop();
    thread_.join();
  }
  Url url() const {
    Url url;
    url.host = "127.0.0.1";
    url.port = acceptor_.local_endpoint().port();
    return url;
  }

 private:
  asio::awaitable<void> run();
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::string bytes_;
  std::thread thread_;
};

FixedServer::FixedServer(std::string bytes) : bytes_(std::move(bytes)) {
  asio::co_spawn(context_, run(), [](std::exception_ptr) {});
  thread_ = std::thread([this] { context_.run(); });
}

asio::awaitable<void> FixedServer::run() {
  while (true) {
    auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
    char request[4096];
    co_await socket.async_read_some(asio::buffer(request), asio::use_awaitable);
    co_await socket.async_send(asio::buffer(bytes_), asio::use_awaitable);
  }
}

TEST(Client, ReportsAnswersThatAreCutOrNotHttp) {
  const auto message = [](const char* bytes) {
    FixedServer server(bytes);
    Client client(server.url());
    const auto reply = client.get("/");
    return reply ? "reply: " + reply->body : reply.error().message();
  };
  EXPECT_NE(message("SSH-2.0-x\r\n").find("not HTTP"), std::string::npos);
  EXPECT_NE(
      message("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").find("before its answer was complete"),
      std::string::npos);
  EXPECT_NE(message("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
                .find("before its answer was complete"),
            std::string::npos);
  EXPECT_EQ(message("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "reply: until the end");
}

asio::awaitable<Result<Reply>> ask(AsyncClient& client, std::string path) {
  Call call;
  call.path = std::move(path);
  co_return co_await client.request(std::move(call));
}

TEST(AsyncClient, RunsManyCallsAtOnce) {
  RunningServer server(site);
  asio::io_context context;
  AsyncClient client(context.get_executor(), server.url());
  int good = 0;
  for (int i = 0; i < 50; ++i)
    asio::co_spawn(context, ask(client, "/a"), [&](std::exception_ptr failure, Result<Reply> reply) {
      if (!failure && reply && reply->body == "GET /a") ++good;
    });
  context.run();
  EXPECT_EQ(good, 50);
  EXPECT_TRUE(eventually([&] { return server.connections() <= 8; })) << "only a few connections are kept";
}

TEST(AsyncClient, CancellingTheCoroutineEndsTheCallAndDropsItsConnection) {
  RunningServer server(site);
  asio::io_context context;
  AsyncClient client(context.get_executor(), server.url());
  asio::cancellation_signal signal;
  bool ended = false;
  asio::co_spawn(
      context, ask(client, "/slow"),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr, Result<Reply>) { ended = true; }));
  asio::steady_timer later(context, 50ms);
  later.async_wait([&](boost::system::error_code) { signal.emit(asio::cancellation_type::terminal); });
  context.run_for(5s);
  EXPECT_TRUE(ended);
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(AsyncClient, CloseEndsEveryCall) {
  RunningServer server(site);
  asio::io_context context;
  AsyncClient client(context.get_executor(), server.url());
  int failed = 0;
  for (int i = 0; i < 3; ++i)
    asio::co_spawn(context, ask(client, "/slow"), [&](std::exception_ptr failure, Result<Reply> reply) {
      if (!failure && !reply && reply.error().code() == ErrorCode::Unavailable) ++failed;
    });
  asio::steady_timer later(context, 50ms);
  later.async_wait([&](boost::system::error_code) { client.close(); });
  context.run_for(5s);
  EXPECT_EQ(failed, 3);
}

}  // namespace
}  // namespace det::http
