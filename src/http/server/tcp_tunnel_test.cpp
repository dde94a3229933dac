// A TCP service behind a WebSocket; each test plays client and service by hand.

#include "det/http/server/tcp_tunnel.h"

#include <gtest/gtest.h>

#include "det/http/test_support.h"
#include "det/http/websocket/websocket.h"

namespace det::http {
namespace {

using namespace test;
using websocket::Kind;
using websocket::Message;

asio::awaitable<bool> run_tunnel_tcp(std::shared_ptr<Exchange> exchange, TcpTunnel how) {
  co_return co_await tunnel_tcp(std::move(exchange), std::move(how));
}

const std::string kAsk =
    "GET /t HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

class TcpTunnelTest : public ::testing::Test {
 protected:
  TcpTunnelTest() {
    how_.host = "127.0.0.1";
    how_.port = service_.port();
    how_.failure = [](int status, const std::string& why) {
      Response response;
      response.status = status;
      response.body = "the service " + why;
      return response;
    };
  }

  std::unique_ptr<RunningServer> serve() {
    ServerOptions options;
    options.hands_over = [](const Request&) { return true; };
    const Handler handler = [this](Request request) -> asio::awaitable<Response> {
      Response response;
      response.status = 400;
      if (!wants_websocket(request)) co_return response;
      response.take = [how = how_](std::shared_ptr<Exchange> exchange) {
        return run_tunnel_tcp(exchange, how);
      };
      co_return response;
    };
    return std::make_unique<RunningServer>(handler, std::move(options));
  }

  static std::string open(RawSocket& client) {
    client.send(kAsk);
    return client.read_until("\r\n\r\n");
  }
  static std::vector<Message> messages(std::string_view bytes) {
    websocket::Reader reader;
    reader.put(bytes);
    std::vector<Message> out;
    while (true) {
      auto message = reader.next();
      EXPECT_TRUE(message) << message.error().message();
      if (!message || !*message) return out;
      out.push_back(**std::move(message));
    }
  }

  Listener service_;
  TcpTunnel how_;
};

TEST_F(TcpTunnelTest, BytesGoBothWaysAndTheServiceEndsIt) {
  const auto server = serve();
  RawSocket client(server->port());
  const auto head = open(client);
  EXPECT_EQ(status_in(head), 101) << head;
  EXPECT_NE(head.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos) << head;
  auto service = service_.accept();
  client.send(websocket::frame(Kind::Binary, "to the ") + websocket::frame(Kind::Binary, "service"));
  EXPECT_EQ(service.read_until("service"), "to the service");
  service.send("and back");
  service.close();
  client.send(websocket::frame(Kind::Close, "\x03\xE8"));
  const auto heard = messages(client.read_all());
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].kind, Kind::Binary);
  EXPECT_EQ(heard[0].payload, "and back");
  EXPECT_EQ(heard[1].kind, Kind::Close);
}

TEST_F(TcpTunnelTest, TheServiceMayAnswerAfterTheClientsLastWord) {
  const auto server = serve();
  RawSocket client(server->port());
  open(client);
  auto service = service_.accept();
  client.send(websocket::frame(Kind::Binary, "question") + websocket::frame(Kind::Close, "\x03\xE8"));
  EXPECT_EQ(service.read_all(), "question") << "the service sees the end";
  service.send("answer");
  service.close();
  const auto heard = messages(client.read_all());
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].payload, "answer");
}

TEST_F(TcpTunnelTest, APingIsAnswered) {
  const auto server = serve();
  RawSocket client(server->port());
  open(client);
  auto service = service_.accept();
  client.send(websocket::frame(Kind::Ping, "are you there"));
  const auto heard = messages(client.read_until("are you there"));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].kind, Kind::Pong);
}

TEST_F(TcpTunnelTest, AFrameWithoutAMaskEndsTheConnection) {
  const auto server = serve();
  RawSocket client(server->port());
  open(client);
  auto service = service_.accept();
  client.send(websocket::frame(Kind::Binary, "bare", websocket::Side::Server));
  EXPECT_EQ(service.read_all(), "");
  const auto heard = messages(client.read_all(2s));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].kind, Kind::Close);
}

TEST_F(TcpTunnelTest, AClientThatGoesAwayTakesTheConnectionAlong) {
  const auto server = serve();
  RawSocket client(server->port());
  open(client);
  auto service = service_.accept();
  client.reset();
  EXPECT_EQ(service.read_all(), "");
}

TEST_F(TcpTunnelTest, AServiceThatIsNotThereIsSaid) {
  how_.port = 1;
  const auto server = serve();
  RawSocket client(server->port());
  client.send(kAsk);
  const auto answer = client.read_until("refused");
  EXPECT_EQ(status_in(answer), 502);
  EXPECT_NE(answer.find("the service cannot be reached: Connection refused"), std::string::npos) << answer;
}

}  // namespace
}  // namespace det::http
