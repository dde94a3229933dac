// What of a request reaches the service of a task, and what of its answer comes back.

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>

#include "det/master/proxies.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

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
  void start_service(const std::string& extra = "", const std::string& secret = "") {
    service_.extra = extra;
    with_proxies([&](Proxies& proxies) { proxies.set("t1", "127.0.0.1", service_.port(), secret); });
  }

  Service service_;
};

TEST_F(ProxyTest, OnlyThoseWhoAreLoggedInReachAService) {
  start_service();
  EXPECT_EQ(ask("/proxy/t1/", {}).status, 401);
  EXPECT_EQ(ask("/proxy/t1/", headers("det_user_made_up")).status, 401);
  EXPECT_EQ(ask("/proxy/t1/", headers(agent_token())).status, 403);
  EXPECT_EQ(ask("/proxy/t1/", headers(user_)).status, 200);
  http::Headers cookie;
  cookie.add("Cookie", "auth=" + user_);
  EXPECT_EQ(ask("/proxy/t1/", cookie).status, 200);
}

TEST_F(ProxyTest, APageOfAnotherSiteCannotUseTheCookie) {
  start_service();
  http::Headers other;
  other.add("Cookie", "auth=" + user_);
  other.add("Origin", "http://elsewhere.example");
  EXPECT_EQ(ask("/proxy/t1/", other).status, 200) << "a link from elsewhere may be followed";
  EXPECT_EQ(ask("/proxy/t1/", other, "POST").status, 403);
  other.add("Connection", "Upgrade");
  other.add("Upgrade", "websocket");
  EXPECT_EQ(ask("/proxy/t1/", other).status, 403) << "WebSockets know no same-origin rule";
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
  const auto seen = ask("/proxy/t1/deep/%2e?q=1", headers, "PROPFIND").body;
  EXPECT_TRUE(seen.starts_with("PROPFIND /proxy/t1/deep/%2e?q=1 HTTP/1.1\r\n")) << seen;
  EXPECT_EQ(seen.find(user_), std::string::npos) << seen;
  EXPECT_EQ(seen.find("10.0.0."), std::string::npos) << seen;
  for (const auto* field :
       {"Cookie: a=1; b=2\r\n", "Authorization: Bearer its own\r\n", "X-Forwarded-For: 127.0.0.1\r\n",
        "X-Forwarded-Proto: http\r\n", "X-Forwarded-Prefix: /proxy/t1/\r\n"})
    EXPECT_NE(seen.find(field), std::string::npos) << field << " in " << seen;
}

TEST_F(ProxyTest, TheServiceSpeaksForItsOwnPathOnly) {
  start_service(
      "Set-Cookie: auth=stolen; Path=/\r\nSet-Cookie: x=1; Path=/; Domain=h; HttpOnly\r\n"
      "Set-Cookie: y=2; Path=/proxy/t1/sub\r\nService-Worker-Allowed: /\r\nClear-Site-Data: \"*\"\r\n");
  const auto reply = ask("/proxy/t1/", headers(user_));
  std::vector<std::string> cookies;
  for (const auto& [name, value] : reply.headers)
    if (name == "Set-Cookie") cookies.push_back(value);
  EXPECT_EQ(cookies, (std::vector<std::string>{"x=1; HttpOnly; Path=/proxy/t1/", "y=2; Path=/proxy/t1/sub"}));
  EXPECT_FALSE(reply.headers.contains("Service-Worker-Allowed"));
  EXPECT_FALSE(reply.headers.contains("Clear-Site-Data"));
}

TEST_F(ProxyTest, OnlyAddressesOfTasksAreReached) {
  start_service();
  for (const auto* path : {"/proxy/127.0.0.1:22/", "/proxy/http:%2f%2f127.0.0.1/", "/proxy/t1%2f../", "/proxy//",
                           "/proxy/%00/", "/proxy/t1:22/", "/proxy/%zz/"})
    EXPECT_EQ(ask(path, headers(user_)).status, 404) << path;
  const auto bare = ask("/proxy/t1?x=1", headers(user_));
  EXPECT_EQ(bare.status, 307);
  ASSERT_NE(bare.headers.find("Location"), nullptr);
  EXPECT_EQ(*bare.headers.find("Location"), "/proxy/t1/?x=1");
}

TEST_F(ProxyTest, WithoutAServiceThereIsAPageThatSaysWhy) {
  with_proxies([](Proxies& proxies) {
    proxies.on_absent([](const std::string& task) {
      return task == "soon"   ? Proxies::State::NotReady
             : task == "over" ? Proxies::State::Ended
                              : Proxies::State::Unknown;
    });
    proxies.set("dead", "127.0.0.1", 1);
  });
  auto browser = headers(user_);
  browser.add("Accept", "text/html,*/*");
  const auto soon = ask("/proxy/soon/", browser);
  EXPECT_EQ(soon.status, 503);
  EXPECT_TRUE(soon.headers.contains("Refresh"));
  EXPECT_NE(soon.body.find("not ready yet"), std::string::npos);
  EXPECT_EQ(ask("/proxy/over/", browser).status, 410);
  EXPECT_EQ(ask("/proxy/dead/", browser).status, 502);
  const auto strange = ask("/proxy/%3Cscript%3E/", browser);
  EXPECT_EQ(strange.status, 404);
  EXPECT_EQ(strange.body.find("<script>"), std::string::npos);
  EXPECT_EQ(ask("/proxy/over/", headers(user_)).body.front(), '{') << "programs read JSON";
  http::Headers nobody;
  nobody.add("Accept", "text/html");
  EXPECT_NE(ask("/proxy/soon/", nobody).body.find("/det/"), std::string::npos) << "a link to log in";
  with_proxies([](Proxies& proxies) { proxies.remove("dead"); });
  EXPECT_EQ(ask("/proxy/dead/", browser).status, 404);
}

}  // namespace
}  // namespace det::master
