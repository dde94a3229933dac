// Requests handed on to a service, which each test plays by hand.

#include "det/http/server/forward.h"

#include <gtest/gtest.h>

#include "det/http/test_support.h"

namespace det::http {
namespace {

using namespace test;

asio::awaitable<bool> run_forward(std::shared_ptr<Exchange> exchange, Forward how) {
  co_return co_await forward(std::move(exchange), std::move(how));
}

class ForwardTest : public ::testing::Test {
 protected:
  // A server that hands everything but /own on to the service.
  std::unique_ptr<RunningServer> serve(ServerOptions options = {}) {
    options.hands_over = [](const Request& head) { return head.path != "/own"; };
    const Handler handler = [this](Request request) -> asio::awaitable<Response> {
      Response response;
      response.body = "our own";
      if (request.path == "/own" || request.path == "/refused") co_return response;
      auto how = how_;
      how.headers = request.headers;
      how.headers.set("X-Added", "by us");
      response.take = [how](std::shared_ptr<Exchange> exchange) { return run_forward(exchange, how); };
      co_return response;
    };
    return std::make_unique<RunningServer>(handler, std::move(options));
  }

  ForwardTest() {
    how_.host = "127.0.0.1";
    how_.port = service_.port();
    how_.failure = [](int status, const std::string& why) {
      Response response;
      response.status = status;
      response.body = "the service " + why;
      return response;
    };
  }

  Listener service_;
  Forward how_;
};

std::string get_of(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}
const std::string kUpgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
const std::string kSwitch = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";

TEST_F(ForwardTest, RequestAndAnswerArriveAndTheConnectionIsKept) {
  const auto server = serve();
  RawSocket client(server->port());
  for (int round = 0; round < 2; ++round) {
    client.send("PUT /a%2fb?x=1&y HTTP/1.1\r\nHost: h:1\r\nX-Own: 1\r\nContent-Length: 5\r\n\r\nhello");
    auto service = service_.accept();
    const auto seen = service.read_until("hello");
    EXPECT_TRUE(seen.starts_with("PUT /a%2fb?x=1&y HTTP/1.1\r\n")) << seen;
    for (const auto* field : {"Host: h:1\r\n", "X-Own: 1\r\n", "X-Added: by us\r\n", "Content-Length: 5\r\n",
                              "Connection: close\r\n\r\nhello"})
      EXPECT_NE(seen.find(field), std::string::npos) << field << " in " << seen;
    service.send("HTTP/1.1 201 Made it\r\nX-Back: 2\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n\r\nyes");
    const auto answer = client.read_until("yes");
    EXPECT_EQ(answer, "HTTP/1.1 201 Made it\r\nX-Back: 2\r\nContent-Length: 3\r\n\r\nyes");
  }
}

TEST_F(ForwardTest, WhatConcernsOneConnectionIsNotHandedOn) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send(get_of("/",
                     "Connection: keep-alive, X-Named\r\nX-Named: 1\r\nKeep-Alive: 3\r\nTE: gzip\r\n"
                     "Proxy-Authorization: x\r\nX_Added: false\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"));
  auto service = service_.accept();
  const auto seen = service.read_until("\r\n\r\n");
  for (const auto* name : {"X-Named", "Keep-Alive", "TE:", "Proxy-", "X_Added", "Upgrade", "HTTP2"})
    EXPECT_EQ(seen.find(name), std::string::npos) << name << " in " << seen;
}

TEST_F(ForwardTest, ChunksArriveAtOnceBothWays) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  auto service = service_.accept();
  EXPECT_TRUE(service.read_until("3\r\none\r\n").ends_with("3\r\none\r\n"));
  service.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nev\r\n");
  EXPECT_TRUE(client.read_until("ev\r\n").ends_with("\r\n\r\n2\r\nev\r\n"));
  client.send("3\r\ntwo\r\n0\r\nX-Trailer: 1\r\n\r\n");
  EXPECT_EQ(service.read_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
  service.send("0\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  client.send(get_of("/own"));
  EXPECT_TRUE(client.read_until("our own").ends_with("our own")) << "the connection is kept";
}

TEST_F(ForwardTest, AnAnswerThatEndsWithItsConnectionIsChunked) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send(get_of("/"));
  auto service = service_.accept();
  service.read_until("\r\n\r\n");
  service.send("HTTP/1.0 200 OK\r\n\r\nall of it");
  service.close();
  const auto answer = client.read_until("0\r\n\r\n");
  EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n\r\n9\r\nall of it\r\n0\r\n\r\n"), std::string::npos)
      << answer;
}

TEST_F(ForwardTest, ABodyThatNobodyTakesStaysWithItsSender) {
  const auto server = serve();
  constexpr std::size_t kMuch = 256 << 20;
  RawSocket client(server->port());
  client.send(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kMuch));
  auto service = service_.accept();
  EXPECT_LT(client.send_until_stuck(kMuch), kMuch / 4) << "of the request";

  RawSocket reader(server->port());
  reader.send(get_of("/"));
  auto writer = service_.accept();
  writer.read_until("\r\n\r\n");
  writer.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kMuch));
  EXPECT_LT(writer.send_until_stuck(kMuch), kMuch / 4) << "of the answer";
  EXPECT_EQ(status_in(talk(server->port(), get_of("/own", "Connection: close\r\n"))), 200);
}

TEST_F(ForwardTest, AHundredMegabytesArriveWhole) {
  const auto server = serve();
  constexpr std::size_t kMuch = 100 << 20;
  RawSocket client(server->port());
  std::thread sender([&] {
    client.send(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kMuch));
    const std::string piece(1 << 20, 'Q');
    for (std::size_t sent = 0; sent < kMuch; sent += piece.size()) client.send(piece);
  });
  auto service = service_.accept();
  std::size_t got = 0;
  while (got < kMuch) {
    const auto part = service.read_until("Q");
    if (part.empty()) break;
    got += static_cast<std::size_t>(std::count(part.begin(), part.end(), 'Q'));
  }
  sender.join();
  EXPECT_EQ(got, kMuch);
}

TEST_F(ForwardTest, AServiceMayRefuseABodyEarly) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\nbegin");
  auto service = service_.accept();
  service.read_until("begin");
  service.send("HTTP/1.1 413 Too large\r\nContent-Length: 2\r\n\r\nno");
  service.close();
  const auto answer = client.read_all();
  EXPECT_EQ(status_in(answer), 413);
  EXPECT_TRUE(answer.ends_with("no"));
}

TEST_F(ForwardTest, AnAnswerCutShortIsSeenToBeCut) {
  const auto server = serve();
  for (const auto* head : {"Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"}) {
    RawSocket client(server->port());
    client.send(get_of("/"));
    auto service = service_.accept();
    service.read_until("\r\n\r\n");
    service.send(fmt::format("HTTP/1.1 200 OK\r\n{}\r\n5\r\nbegin", head));
    client.read_until("begin");
    service.close();
    EXPECT_EQ(client.read_all(), "") << "no last chunk, and the end of the connection";
  }
}

TEST_F(ForwardTest, WithoutAnAnswerTheClientReadsWhy) {
  ServerOptions options;
  how_.head_timeout = 300ms;
  const auto server = serve(options);
  const auto ask = get_of("/", "Connection: close\r\n");
  {
    RawSocket client(server->port());
    client.send(ask);
    auto service = service_.accept();
    EXPECT_EQ(status_in(client.read_all()), 504);
  }
  for (const auto* bytes : {"", "no HTTP at all\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    RawSocket client(server->port());
    client.send(ask);
    auto service = service_.accept();
    service.read_until("\r\n\r\n");
    service.send(bytes);
    service.close();
    EXPECT_EQ(status_in(client.read_all()), 502) << bytes;
  }
  how_.port = 1;
  EXPECT_EQ(status_in(talk(server->port(), ask)), 502);
  how_.host = "metadata.internal";
  EXPECT_EQ(status_in(talk(server->port(), ask)), 502) << "names are not looked up";
}

TEST_F(ForwardTest, TheServiceLearnsThatTheClientLeft) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send(get_of("/"));
  auto service = service_.accept();
  service.read_until("\r\n\r\n");
  client.reset();
  EXPECT_EQ(service.read_all(3s), "");
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(ForwardTest, ATunnelCarriesBytesAndEitherHalfMayClose) {
  const auto server = serve();
  for (const bool client_first : {true, false}) {
    RawSocket client(server->port());
    client.send(get_of("/ws", kUpgrade));
    auto service = service_.accept();
    const auto seen = service.read_until("\r\n\r\n");
    EXPECT_NE(seen.find("Connection: Upgrade\r\nUpgrade: websocket\r\n"), std::string::npos) << seen;
    service.send(kSwitch + "early");
    const auto answer = client.read_until("early");
    EXPECT_EQ(status_in(answer), 101);
    EXPECT_TRUE(answer.ends_with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly")) << answer;
    client.send(std::string("\0GET / HTTP/1.1\r\n\r\n", 19));
    EXPECT_EQ(service.read_until("\r\n\r\n").size(), 19U);
    auto& first = client_first ? client : service;
    auto& second = client_first ? service : client;
    first.close_sending();
    EXPECT_EQ(second.read_all(2s), "") << "sees the end";
    second.send("still");
    EXPECT_EQ(first.read_until("still"), "still") << "and may go on";
    second.close();
    EXPECT_EQ(first.read_all(2s), "");
    EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
  }
}

TEST_F(ForwardTest, ATunnelHalfClosedAndSilentEnds) {
  how_.half_closed_timeout = 300ms;
  const auto server = serve();
  RawSocket client(server->port());
  client.send(get_of("/ws", kUpgrade));
  auto service = service_.accept();
  service.send(kSwitch);
  client.read_until("\r\n\r\n");
  client.close_sending();
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(ForwardTest, AnUpgradeThatIsRefusedIsAnAnswerAsAnyOther) {
  const auto server = serve();
  RawSocket client(server->port());
  client.send(get_of("/ws", kUpgrade));
  auto service = service_.accept();
  service.read_until("\r\n\r\n");
  service.send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(status_in(client.read_until("no")), 403);
  client.send(get_of("/own"));
  EXPECT_EQ(status_in(client.read_until("our own")), 200);
}

TEST_F(ForwardTest, TwoReadingsOfOneRequestAreRefusedBeforeTheService) {
  const auto server = serve();
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const auto* fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length: 0\r\nContent-Length: 30\r\n", "Transfer-Encoding:\r\n chunked\r\n",
        "Content-Length : 4\r\n", "Content-Length: +4\r\n", "Transfer-Encoding: xchunked\r\n"}) {
    const auto answer = talk(
        server->port(), std::string("POST / HTTP/1.1\r\nHost: h\r\n") + fields + "\r\n0\r\n\r\n" + smuggled);
    EXPECT_GE(status_in(answer), 400) << fields;
  }
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdefg\r\n0\r\n\r\n");
  auto service = service_.accept();
  EXPECT_EQ(service.read_all().find("HTTP/1.1\r\n", 16), std::string::npos);
  EXPECT_EQ(status_in(client.read_all()), 400) << "a chunk longer than it says";
}

TEST_F(ForwardTest, AnAnswerOfOurOwnDoesNotWaitForTheBody) {
  const auto server = serve();
  const auto answer =
      talk(server->port(), "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\nx");
  EXPECT_EQ(status_in(answer), 200);
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
}

TEST_F(ForwardTest, ManyOpenTunnelsHoldUpNothing) {
  const auto server = serve();
  std::vector<RawSocket> ends;
  for (int i = 0; i < 200; ++i) {
    ends.emplace_back(server->port());
    ends.back().send(get_of("/ws", kUpgrade));
    auto service = service_.accept();
    service.send(kSwitch);
    ends.push_back(std::move(service));
  }
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(status_in(talk(server->port(), get_of("/own", "Connection: close\r\n"))), 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s);
  server->stop(100ms);
  EXPECT_EQ(ends[1].read_until("nothing", 2s).find("nothing"), std::string::npos)
      << "and end with the server";
}

}  // namespace
}  // namespace det::http
