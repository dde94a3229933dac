// What only an encrypted port does. That it does all the rest as well, see DET_TEST_TLS in test_support.h.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/http/test_support.h"
#include "det/http/tls/tls_files.h"

namespace det::http {
namespace {

using namespace test;
using ::testing::HasSubstr;

class TlsServer : public ::testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options;
    options.tls = files_.identity();
    return options;
  }
  ClientOptions trusting() {
    ClientOptions options;
    options.trust = Trust::from(files_.authority(), "");
    return options;
  }

  TlsFiles files_;
};

constexpr const char* kGet = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";

TEST_F(TlsServer, AnswersWhoTrustsItAndNobodyElse) {
  RunningServer server(echo, options());
  Client client(server.url(), trusting());
  const auto reply = client.get("/hello");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "GET /hello");

  files_.make("other", {.signed_by_authority = false});
  ClientOptions wrong;
  wrong.trust = Trust::from(files_.certificate("other"), "");
  const auto refused = Client(server.url(), wrong).get("/hello");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::FailedPrecondition);
  EXPECT_THAT(refused.error().message(), HasSubstr("127.0.0.1:"));
  EXPECT_THAT(refused.error().message(), HasSubstr("DET_MASTER_CERT_FILE"));
  ClientOptions of_the_system;
  of_the_system.trust = Trust();
  EXPECT_FALSE(Client(server.url(), of_the_system).get("/hello"));
}

TEST_F(TlsServer, LargeBodiesPassBothWaysUnchanged) {
  ServerOptions generous = options();
  generous.body_max = 64 << 20;
  const Handler give_back = [](Request request) -> asio::awaitable<Response> {
    Response response;
    response.body = std::move(request.body);
    co_return response;
  };
  RunningServer server(give_back, generous);
  Client client(server.url(), trusting());
  std::string body(20'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 + i / 997);
  const auto reply = client.post("/", body);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_TRUE(reply->body == body);
}

TEST_F(TlsServer, TellsAClientWithoutTlsWhatToDo) {
  RunningServer server(echo, options());
  RawSocket plain(server.port(), false);
  plain.send(kGet);
  const auto answer = plain.read_all();
  EXPECT_EQ(status_in(answer), 400) << answer;
  EXPECT_THAT(answer, HasSubstr("use https:// instead of http://"));

  RawSocket garbage(server.port(), false);
  garbage.send(std::string("\x16\x03\x01\x00\x05hello", 10));
  EXPECT_EQ(garbage.read_all(2s).find("HTTP"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; })) << "and its connection ends";
}

TEST_F(TlsServer, AClientOfHttpsLearnsThatAServerSpeaksPlainly) {
  ServerOptions options;
  RunningServer server(echo, options);
  if (over_tls()) return;
  auto url = server.url();
  url.tls = true;
  const auto reply = Client(url, trusting()).get("/");
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message(), HasSubstr("does not speak TLS; use http://"));
}

TEST_F(TlsServer, AHandshakeThatIsNotFinishedIsCutInTime) {
  auto hasty = options();
  hasty.header_timeout = 300ms;
  RunningServer server(echo, hasty);
  RawSocket silent(server.port(), false);
  RawSocket halfway(server.port(), false);
  halfway.send(std::string("\x16\x03\x01\x01\x00\x01\x00", 7));
  EXPECT_TRUE(eventually([&] { return server.connections() == 2; }));
  EXPECT_EQ(silent.read_all(3s), "");
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }, 3s));
}

TEST_F(TlsServer, AFloodOfUnfinishedHandshakesDoesNotKeepOthersOut) {
  auto small = options();
  small.handshakes_max = 8;
  RunningServer server(echo, small);
  Client before(server.url(), trusting());
  ASSERT_TRUE(before.get("/1"));
  std::vector<RawSocket> flood;
  for (int i = 0; i < 40; ++i) flood.emplace_back(server.port(), false);
  EXPECT_TRUE(eventually([&] { return server.connections() <= 9; }));
  Client after(server.url(), trusting());
  EXPECT_TRUE(after.get("/2"));
  EXPECT_TRUE(before.get("/3")) << "who is through is not counted";
}

TEST_F(TlsServer, AClientThatEndedItsSideIsAnsweredAndToldOfTheEnd) {
  RunningServer server(echo, options());
  RawSocket client(server.port(), true);
  client.send(kGet);
  client.close_sending();
  EXPECT_THAT(client.read_all(), HasSubstr("GET /x"));
  EXPECT_TRUE(client.ended_orderly());
}

TEST_F(TlsServer, AStreamThatBreaksOffIsNotTakenForAWholeOne) {
  const Handler breaks = [](Request) -> asio::awaitable<Response> {
    Response response;
    response.stream = [](StreamWriter& writer) -> asio::awaitable<void> {
      co_await writer.write("half of it");
      throw std::runtime_error("broken");
    };
    co_return response;
  };
  RunningServer server(breaks, options());
  RawSocket old(server.port(), true);
  old.send("GET / HTTP/1.0\r\nHost: h\r\n\r\n");
  EXPECT_THAT(old.read_all(), HasSubstr("half of it"));
  EXPECT_FALSE(old.ended_orderly());
  Client client(server.url(), trusting());
  EXPECT_FALSE(client.get("/"));
}

TEST_F(TlsServer, ANewCertificateIsForNewConnections) {
  RunningServer server(echo, options());
  Client old(server.url(), trusting());
  ASSERT_TRUE(old.get("/1"));
  files_.make("renewed", {.signed_by_authority = false});
  auto renewed = TlsIdentity::load(files_.certificate("renewed"), files_.key("renewed"));
  ASSERT_TRUE(renewed);
  server.use(*renewed);
  EXPECT_TRUE(old.get("/2")) << "its connection goes on";
  EXPECT_FALSE(Client(server.url(), trusting()).get("/3"));
  ClientOptions trusts_it;
  trusts_it.trust = Trust::from(files_.certificate("renewed"), "");
  EXPECT_TRUE(Client(server.url(), trusts_it).get("/4"));
}

TEST_F(TlsServer, AClientReadsItsCertificateFileAgainAfterARefusal) {
  RunningServer server(echo, options());
  files_.make("other", {.signed_by_authority = false});
  std::filesystem::copy_file(files_.certificate("other"), files_.file("trusted.crt"));
  ClientOptions mine;
  mine.trust = Trust::from(files_.file("trusted.crt"), "");
  Client client(server.url(), mine);
  EXPECT_FALSE(client.get("/1"));
  std::filesystem::copy_file(files_.authority(), files_.file("trusted.crt"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(client.get("/2"));
}

}  // namespace
}  // namespace det::http
