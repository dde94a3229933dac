// What of a request reaches the service of a task, and what of its answer comes back.

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>

#include "det/master/tasks/proxies.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

using namespace std::string_literals;

/// A service that answers every request with what it saw, until the test ends.
class Service {
 public:
  Service() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Service() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::uint16_t port() const { return port_; }
  std::string extra;  ///< headers of its answers; set before the first request

 private:
  void serve() {
    while (true) {
      const int client = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      std::string seen;
      char bytes[4096];
      while (seen.find("\r\n\r\n") == std::string::npos) {
        const auto count = ::recv(client, bytes, sizeof bytes, 0);
        if (count <= 0) break;
        seen.append(bytes, static_cast<std::size_t>(count));
      }
      const auto answer = "HTTP/1.1 200 OK\r\n" + extra + "\r\n" + seen;
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }

  int fd_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class ProxyTest : public testing::MasterTest {
 protected:
  template <class F>
  void with_proxies(F change) {
    std::promise<void> done;
    boost::asio::post(*context_, [&] {
      change(master_->proxies());
      done.set_value();
    });
    done.get_future().wait();
  }
  http::Reply ask(const std::string& path, http::Headers headers, const std::string& method = "GET") {
    http::Client client(url_);
    http::Call call{.method = method, .path = path, .headers = std::move(headers)};
    const auto reply = client.request(std::move(call));
    EXPECT_TRUE(reply) << reply.error().message();
    return reply ? *reply : http::Reply{};
  }
  std::string start_task(const std::string& kind) {
    const auto answer =
        call(user_, "POST", fmt::format("/api/v1/{}s", kind), json::object{{"config", json::object()}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return std::string(answer.body.at(kind).at("id").get_string());
  }
  void start_service(const std::string& extra = "", const std::string& secret = "") {
    service_.extra = extra;
    task_ = start_task("shell");
    base_ = fmt::format("/proxy/{}/", task_);
    with_proxies([&](Proxies& proxies) { proxies.set(task_, "127.0.0.1", service_.port(), secret); });
  }

  Service service_;
  std::string task_, base_;
};

TEST_F(ProxyTest, OnlyThoseWhoAreLoggedInReachAService) {
  start_service();
  EXPECT_EQ(ask(base_, {}).status, 401);
  EXPECT_EQ(ask(base_, headers("det_user_made_up")).status, 401);
  EXPECT_EQ(ask(base_, headers(agent_token())).status, 403);
  EXPECT_EQ(ask(base_, headers(user_)).status, 200);
  http::Headers cookie;
  cookie.add("Cookie", "auth=" + user_);
  EXPECT_EQ(ask(base_, cookie).status, 200);
}

TEST_F(ProxyTest, PeopleWhoAreNotLoggedInAreLedToTheLogInAndBack) {
  start_service();
  http::Headers people;
  people.add("Accept", "text/html,*/*");
  const auto reply = ask(base_ + "lab?x=1&y=2", people);
  EXPECT_EQ(reply.status, 401);
  const auto there = fmt::format("/det/?then=%2Fproxy%2F{}%2Flab%3Fx%3D1%26y%3D2", task_);
  const auto* refresh = reply.headers.find("Refresh");
  ASSERT_NE(refresh, nullptr);
  EXPECT_EQ(*refresh, "0; url=" + there);
  EXPECT_NE(reply.body.find("href=\"" + there + "\""), std::string::npos) << reply.body;
  EXPECT_EQ(ask(base_, {}).headers.find("Refresh"), nullptr) << "programs are told, and led nowhere";
}

TEST_F(ProxyTest, APageOfAnotherSiteCannotUseTheCookie) {
  start_service();
  http::Headers other;
  other.add("Cookie", "auth=" + user_);
  other.add("Origin", "http://elsewhere.example");
  EXPECT_EQ(ask(base_, other).status, 200) << "a link from elsewhere may be followed";
  EXPECT_EQ(ask(base_, other, "POST").status, 403);
  other.add("Connection", "Upgrade");
  other.add("Upgrade", "websocket");
  EXPECT_EQ(ask(base_, other).status, 403) << "WebSockets know no same-origin rule";
}

TEST_F(ProxyTest, TheServiceCannotActAsTheUser) {
  start_service("", "its own");
  http::Headers headers;
  headers.add("Authorization", "Bearer " + user_);
  headers.add("Cookie", "a=1; auth=" + user_ + "; b=2");
  headers.add("Cookie", "auth=" + user_);
  headers.add("Grpc-Metadata-X-User-Token", "Bearer " + user_);
  headers.add("X-Forwarded-For", "10.0.0.1");
  headers.add("X_Forwarded_For", "10.0.0.2");
  headers.add("Forwarded", "for=10.0.0.3");
  const auto seen = ask(base_ + "deep/%2e?q=1", headers, "PROPFIND").body;
  EXPECT_TRUE(seen.starts_with(fmt::format("PROPFIND {}deep/%2e?q=1 HTTP/1.1\r\n", base_))) << seen;
  EXPECT_EQ(seen.find(user_), std::string::npos) << seen;
  EXPECT_EQ(seen.find("10.0.0."), std::string::npos) << seen;
  for (const auto& field :
       {"Cookie: a=1; b=2\r\n"s, "Authorization: Bearer its own\r\n"s, "X-Forwarded-For: 127.0.0.1\r\n"s,
        "X-Forwarded-Proto: http\r\n"s, fmt::format("X-Forwarded-Prefix: {}\r\n", base_)})
    EXPECT_NE(seen.find(field), std::string::npos) << field << " in " << seen;
}

TEST_F(ProxyTest, TheServiceSpeaksForItsOwnPathOnly) {
  start_service(
      "Set-Cookie: auth=stolen; Path=/\r\nSet-Cookie: x=1; Path=/; Domain=h; HttpOnly\r\n"
      "Set-Cookie: y=2; Path=/proxy/other/sub\r\nService-Worker-Allowed: /\r\nClear-Site-Data: \"*\"\r\n");
  const auto reply = ask(base_, headers(user_));
  std::vector<std::string> cookies;
  for (const auto& [name, value] : reply.headers)
    if (name == "Set-Cookie") cookies.push_back(value);
  EXPECT_EQ(cookies, (std::vector<std::string>{"x=1; HttpOnly; Path=" + base_, "y=2; Path=" + base_}));
  EXPECT_FALSE(reply.headers.contains("Service-Worker-Allowed"));
  EXPECT_FALSE(reply.headers.contains("Clear-Site-Data"));
}

TEST_F(ProxyTest, OnlyAddressesOfTasksAreReached) {
  start_service();
  with_proxies([](Proxies& proxies) { proxies.set("stray", "127.0.0.1", 1); });
  for (const auto& path :
       {"/proxy/127.0.0.1:22/"s, "/proxy/http:%2f%2f127.0.0.1/"s, fmt::format("/proxy/{}%2f../", task_),
        "/proxy//"s, "/proxy/%00/"s, fmt::format("/proxy/{}:22/", task_), "/proxy/%zz/"s, "/proxy/stray/"s})
    EXPECT_EQ(ask(path, headers(user_)).status, 404) << path;
  const auto bare = ask(fmt::format("/proxy/{}?x=1", task_), headers(user_));
  EXPECT_EQ(bare.status, 307);
  ASSERT_NE(bare.headers.find("Location"), nullptr);
  EXPECT_EQ(*bare.headers.find("Location"), base_ + "?x=1");
}

TEST_F(ProxyTest, AddressesOfOlderClientsLeadToTheTask) {
  for (const auto* path : {"/det/interactive/5f/jupyter-lab/a/b", "//det/interactive/5f/tensorboard/x?y=z"}) {
    const auto reply = ask(path, {});
    EXPECT_EQ(reply.status, 307) << path;
    const auto* location = reply.headers.find("Location");
    ASSERT_NE(location, nullptr);
    EXPECT_EQ(*location, "/proxy/5f/");
  }
}

TEST_F(ProxyTest, AnotherUsersShellIsNotToBeUsed) {
  start_service();
  EXPECT_EQ(call(admin_, "POST", "/api/v1/users", {{"user", {{"username", "eve"}, {"active", true}}}}).status,
            200);
  const auto eve = log_in("eve");
  const auto refused = ask(base_, headers(eve));
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("belongs to another user"), std::string::npos) << refused.body;
  EXPECT_EQ(ask(base_, headers(admin_)).status, 200);
}

TEST_F(ProxyTest, WithoutAServiceThereIsAPageThatSaysWhy) {
  const auto soon_task = start_task("notebook"), dead_task = start_task("notebook"),
             over_task = start_task("shell");
  with_proxies([&](Proxies& proxies) { proxies.set(dead_task, "127.0.0.1", 1); });
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/shells/{}/kill", over_task), json::object()).status,
            200);
  auto browser = headers(user_);
  browser.add("Accept", "text/html,*/*");
  const auto path = [](const std::string& task) { return fmt::format("/proxy/{}/", task); };
  const auto soon = ask(path(soon_task), browser);
  EXPECT_EQ(soon.status, 503);
  EXPECT_TRUE(soon.headers.contains("Refresh"));
  EXPECT_NE(soon.body.find("not ready yet"), std::string::npos);
  const auto over = ask(path(over_task), browser);
  EXPECT_EQ(over.status, 404);
  EXPECT_NE(over.body.find("has ended: killed by user"), std::string::npos) << over.body;
  EXPECT_EQ(ask(path(dead_task), browser).status, 502);
  sync("a", 3);  // it has slots now, and so it ends only when its agent says so
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/notebooks/{}/kill", dead_task), json::object()).status,
            200);
  const auto ending = ask(path(dead_task), browser);
  EXPECT_EQ(ending.status, 404);
  EXPECT_NE(ending.body.find("is ending"), std::string::npos) << ending.body;
  const auto strange = ask("/proxy/%3Cscript%3E/", browser);
  EXPECT_EQ(strange.status, 404);
  EXPECT_EQ(strange.body.find("<script>"), std::string::npos);
  EXPECT_EQ(ask(path(over_task), headers(user_)).body.front(), '{') << "programs read JSON";
  http::Headers nobody;
  nobody.add("Accept", "text/html");
  EXPECT_NE(ask(path(soon_task), nobody).body.find("/det/"), std::string::npos) << "a link to log in";
}

}  // namespace
}  // namespace det::master
