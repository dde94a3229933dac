#include "det/http/client/masters.h"

#include <gtest/gtest.h>

#include <atomic>

#include "det/http/routing/status.h"
#include "det/http/test_support.h"

namespace det::http {
namespace {

using namespace test;

/// A master that leads, or stands by and names one that does.
struct FakeMaster {
  explicit FakeMaster(bool leading = false, std::uint16_t port = 0)
      : leads(leading), server([this](Request request) { return answer(std::move(request)); }, {}, port) {}

  asio::awaitable<Response> answer(Request request) {
    ++calls;
    if (leads) co_return co_await echo(std::move(request));
    auto response = error_response(Error(ErrorCode::Unavailable, "this master does not lead"));
    response.headers.add(std::string(kLeaderHeader), leader);
    co_return response;
  }

  std::atomic<bool> leads;
  std::string leader = "unknown";
  std::atomic<int> calls = 0;
  RunningServer server;
};

Url nowhere() {
  const Listener closed;  // its port is free once it is gone
  Url url;
  url.host = "127.0.0.1";
  url.port = closed.port();
  url.tls = over_tls();
  return url;
}

TEST(Client, GoesToTheMasterThatLeadsAndStaysThere) {
  FakeMaster first, second(true);
  Client client({first.server.url(), second.server.url()});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.post("/b", "{}")->body, "POST /b 2");
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(client.url().port, second.server.port());
}

TEST(Client, GoesOnWhereNothingListens) {
  FakeMaster second(true);
  Client client({nowhere(), second.server.url()});
  EXPECT_EQ(client.post("/b", "{}")->body, "POST /b 2");
}

TEST(Client, GoesToTheLeaderThatAStandbyNamesAndThatNobodyGave) {
  FakeMaster first, second(true);
  first.leader = second.server.url().text();
  Client client(first.server.url());
  EXPECT_EQ(client.post("/b", "{}")->body, "POST /b 2");
  EXPECT_EQ(client.urls().size(), 1U);
}

TEST(Client, DoesNotLeaveHttpsForALeader) {
  if (!over_tls()) return;
  FakeMaster first, second(true);
  auto plain = second.server.url();
  plain.tls = false;
  first.leader = plain.text();
  EXPECT_EQ(Client(first.server.url()).get("/a")->status, 503);
  EXPECT_EQ(second.calls, 0);
}

TEST(Client, SaysWhatTheStandbySaysWhereNobodyLeads) {
  FakeMaster standby;
  standby.leader = nowhere().text();
  Client client({nowhere(), standby.server.url()});
  const auto reply = client.get("/a");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->status, 503);
}

TEST(Client, WaitsUntilOneLeads) {
  FakeMaster standby;
  ClientOptions options;
  options.leader_patience = 5s;
  Client client({nowhere(), standby.server.url()}, options);
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] { return standby.calls >= 2; }));
    standby.leads = true;
  });
  EXPECT_EQ(client.post("/b", "{}")->body, "POST /b 2");
  later.join();
}

TEST(Client, WaitsForAStandbyThatAnswersNothingWhileItTakesOver) {
  auto standby = std::make_unique<FakeMaster>();
  const auto url = standby->server.url();
  ClientOptions options;
  options.leader_patience = 2s;  // a fifth of it where no standby was seen
  Client client({nowhere(), url}, options);
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] { return standby->calls >= 2; }));
    standby.reset();
    std::this_thread::sleep_for(600ms);
    standby = std::make_unique<FakeMaster>(true, url.port);
  });
  const auto reply = client.get("/a");
  later.join();
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "GET /a");
}

TEST(Client, LeavesAMasterThatIsFrozenForTheOneThatLeads) {
  if (over_tls()) return;  // nobody shakes hands there
  const Listener frozen;   // takes connections, and never answers
  Url url;
  url.host = "127.0.0.1";
  url.port = frozen.port();
  FakeMaster second(true);
  ClientOptions options;
  options.leader_check = 50ms;
  Client client({url, second.server.url()}, options);
  EXPECT_EQ(client.get("/a")->body, "GET /a");

  Client posts({url, second.server.url()}, options);
  const auto uncertain = posts.post("/b", "{}");  // the frozen one may have done it
  ASSERT_FALSE(uncertain);
  EXPECT_NE(uncertain.error().message().find("leads now"), std::string::npos) << uncertain.error().message();
  EXPECT_EQ(posts.post("/b", "{}")->body, "POST /b 2");
}

TEST(Client, GivesAMasterWhoseConnectionBrokeNoSecondCallBeforeItAnswers) {
  if (over_tls()) return;  // nobody shakes hands there
  Listener dying;          // takes connections, and breaks each once a call was sent
  Url url;
  url.host = "127.0.0.1";
  url.port = dying.port();
  FakeMaster standby;
  standby.leader = url.text();
  std::string methods;
  std::thread dies([&] {
    for (int i = 0; i < 3; ++i) {
      auto taken = dying.accept();
      methods += taken.read_until("\r\n\r\n").substr(0, 4);
      standby.leads = i == 2;
    }
  });
  ClientOptions options;
  options.leader_patience = 5s;
  Client client({url, standby.server.url()}, options);
  EXPECT_FALSE(client.post("/b", "{}"));  // the dying one may have done it
  EXPECT_EQ(client.post("/b", "{}")->body, "POST /b 2");
  dies.join();
  EXPECT_EQ(methods, "POSTGET GET ");
}

TEST(Client, ReadsSeveralAddresses) {
  EXPECT_EQ(text_of(*parse_urls("a, https://b:1/p,a:8080,")), "http://a:8080,https://b:1/p");
  EXPECT_FALSE(parse_urls(""));
  EXPECT_FALSE(parse_urls(","));
  EXPECT_FALSE(parse_urls("a,b:x"));
  EXPECT_EQ(text_of(*parse_urls("http://b:8080", "http://a:8080,http://b:8080")),
            "http://b:8080,http://a:8080");
  EXPECT_EQ(text_of(*parse_urls("http://c:8080", "http://a:8080,http://b:8080")), "http://c:8080");
}

}  // namespace
}  // namespace det::http
