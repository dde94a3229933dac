// Clients that send what HTTP forbids, or nothing, or for ever.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fstream>

#include "det/base/random.h"
#include "det/http/test_support.h"

namespace det::http {
namespace {

using namespace test;

struct RawCase {
  const char* name;
  int status;
  std::string bytes;
};

class RawBytes : public ::testing::TestWithParam<RawCase> {};

TEST_P(RawBytes, GetTheirStatusAndTheServerGoesOn) {
  RunningServer server(echo);
  const auto& c = GetParam();
  const auto answer = talk(server.port(), c.bytes);
  EXPECT_EQ(status_in(answer), c.status) << answer;
  if (c.status >= 400) {
    EXPECT_EQ(answer.find("}HTTP/1.1"), std::string::npos) << "a refused request ends the connection";
  }
  EXPECT_EQ(status_in(talk(server.port(), "GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")),
            200);
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + fields + "\r\n" + body;
}
std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}
const std::string kSmuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

// clang-format off
INSTANTIATE_TEST_SUITE_P(, RawBytes, ::testing::Values(
    RawCase{"not_http",                    400, "\x16\x03\x01\x02\r\n\r\n"},
    RawCase{"empty_line_first",            200, "\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
    RawCase{"bare_lf_head",                400, "GET / HTTP/1.1\nHost: h\n\n"},
    RawCase{"bare_lf_within",              400, "GET / HTTP/1.1\r\nX: a\nHost: h\r\n\r\n"},
    RawCase{"length_and_chunked",          400, post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + kSmuggled)},
    RawCase{"duplicate_length",            400, post("Content-Length: 0\r\nContent-Length: 36\r\n", kSmuggled)},
    RawCase{"folded_coding",               400, post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n" + kSmuggled)},
    RawCase{"vertical_tab_coding",         400, post("Transfer-Encoding: \x0b" "chunked\r\n", "0\r\n\r\n")},
    RawCase{"path_too_long",               414, "GET /" + std::string(100'000, 'x')},
    RawCase{"headers_too_long",            431, "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x')},
    RawCase{"broken_query_escape",         400, "GET /?a=%zz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
    RawCase{"chunks",                      200, chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")},
    RawCase{"chunk_extension",             200, chunked("3;a=b\r\nabc\r\n0\r\n\r\n")},
    RawCase{"trailer",                     200, chunked("3\r\nabc\r\n0\r\nX-A: 1\r\n\r\n")},
    RawCase{"chunk_size_with_bare_lf",     400, chunked("3\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_data_with_bare_lf",     400, chunked("3\r\nabc\n0\r\n\r\n")},
    RawCase{"extension_with_bare_lf",      400, chunked("3;a\nb\r\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_longer_than_said",      400, chunked("3\r\nabcd\r\n0\r\n\r\n")},
    RawCase{"chunk_size_not_a_number",     400, chunked("x\r\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_size_negative",         400, chunked("-3\r\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_size_0x",               400, chunked("0x3\r\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_size_overflows",        400, chunked("FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n")},
    RawCase{"chunk_size_empty",            400, chunked("\r\nabc\r\n0\r\n\r\n")},
    RawCase{"trailer_with_length",         200, chunked("3\r\nabc\r\n0\r\nX: y\r\n\r\n" + kSmuggled)},
    RawCase{"endless_extension",           400, chunked("3;" + std::string(200'000, 'a'))}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(Hostile, TrailersDoNotBecomeHeaders) {
  const Handler handler = [](Request request) -> asio::awaitable<Response> {
    Response response;
    response.body = request.headers.contains("authorization") ? "let in" : "kept out";
    co_return response;
  };
  RunningServer server(handler);
  const auto answer = talk(server.port(), chunked("1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n"));
  EXPECT_EQ(answer.find("let in"), std::string::npos);
}

TEST(Hostile, SlowHeadersAreRefusedInTime) {
  ServerOptions options;
  options.header_timeout = 300ms;
  RunningServer server(echo, options);
  RawSocket socket(server.port());
  socket.send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(status_in(socket.read_all()), 408);
}

TEST(Hostile, SlowBodiesAreRefusedInTime) {
  ServerOptions options;
  options.header_timeout = 300ms;
  RunningServer server(echo, options);
  RawSocket socket(server.port());
  socket.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    socket.send("x");
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(status_in(socket.read_all()), 408);
}

TEST(Hostile, IdleConnectionsAreClosedInTime) {
  ServerOptions options;
  options.idle_timeout = 200ms;
  RunningServer server(echo, options);
  RawSocket socket(server.port());
  EXPECT_EQ(socket.read_all(2s), "");
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

asio::awaitable<void> flood(std::shared_ptr<std::atomic<bool>> ended, StreamWriter& writer) {
  const std::string block(64 * 1024, 'x');
  bool taken = true;
  while (taken) taken = co_await writer.write(block);
  *ended = true;
}

TEST(Hostile, AStreamToAClientThatDoesNotReadEnds) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const Handler handler = [ended](Request) -> asio::awaitable<Response> {
    Response response;
    response.stream = [ended](StreamWriter& writer) { return flood(ended, writer); };
    co_return response;
  };
  ServerOptions options;
  options.write_timeout = 300ms;
  RunningServer server(handler, options);
  RawSocket socket(server.port());
  socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return ended->load(); }));
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(Hostile, AStreamWhoseClientLeftIsToldSo) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const Handler handler = [ended](Request) -> asio::awaitable<Response> {
    Response response;
    response.stream = [ended](StreamWriter& writer) { return flood(ended, writer); };
    co_return response;
  };
  RunningServer server(handler);
  {
    RawSocket socket(server.port());
    socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    socket.read_until("xxxx");
  }
  EXPECT_TRUE(eventually([&] { return ended->load(); }));
}

TEST(Hostile, AnEarlyRefusalReachesAClientThatStillSends) {
  RunningServer server(echo);
  RawSocket socket(server.port());
  socket.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n");
  for (int i = 0; i < 40; ++i) socket.send(std::string(100'000, 'x'));
  EXPECT_EQ(status_in(socket.read_all()), 413);
}

TEST(Hostile, OneAddressCannotTakeAllConnections) {
  ServerOptions options;
  options.connections_per_address_max = 3;
  RunningServer server(echo, options);
  const std::string get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<RawSocket> greedy;
  for (int i = 0; i < 3; ++i) {
    greedy.emplace_back(server.port(), over_tls(), "127.0.0.2");
    greedy.back().send(get);
    EXPECT_EQ(status_in(greedy.back().read_until("GET /x")), 200);
  }
  RawSocket fourth(server.port(), over_tls(), "127.0.0.2");
  fourth.send(get);
  EXPECT_EQ(fourth.read_all(), "");
  RawSocket other(server.port(), over_tls(), "127.0.0.3");
  other.send(get);
  EXPECT_EQ(status_in(other.read_until("GET /x")), 200);
  greedy.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawSocket again(server.port(), over_tls(), "127.0.0.2");
    again.send(get);
    return status_in(again.read_until("GET /x")) == 200;
  })) << "when one has gone, another may come";
  std::vector<RawSocket> local;
  for (int i = 0; i < 5; ++i) {
    local.emplace_back(server.port());
    local.back().send(get);
    EXPECT_EQ(status_in(local.back().read_until("GET /x")), 200) << "a proxy on this machine speaks for many";
  }
}

TEST(Hostile, AnyRequestCutOrSplitAnywhereIsAnsweredOrDropped) {
  RunningServer server(echo);
  const std::string whole =
      "POST /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t at = 1; at < whole.size(); at += 3) {
    RawSocket split(server.port());
    split.send(whole.substr(0, at));
    std::this_thread::sleep_for(200us);
    split.send(whole.substr(at));
    EXPECT_EQ(status_in(split.read_all()), 200) << "split at " << at;

    RawSocket cut(server.port());
    cut.send(whole.substr(0, at));
    cut.close_sending();
    EXPECT_NE(status_in(cut.read_all()), 200) << "cut at " << at;
  }
}

TEST(Hostile, RandomChangesNeverHarmTheServer) {
  RunningServer server(echo);
  Random random(7);
  const std::string whole =
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n";
  for (int i = 0; i < 500; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
      const auto byte = static_cast<char>(random.below(256));
      if (random.below(2) == 0)
        bytes[at] = byte;
      else
        bytes.insert(at, 1, byte);
    }
    RawSocket socket(server.port());
    socket.send(bytes);
    socket.close_sending();
    socket.read_all();
  }
  EXPECT_EQ(status_in(talk(server.port(), "GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")),
            200);
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

TEST(Hostile, NineThousandSlowConnectionsCostLittleAndHoldNobodyUp) {
  constexpr int kMany = 9'000;  // both ends are here, so twice as many descriptors
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_cur < 2 * kMany + 200)
    GTEST_SKIP() << "needs " << 2 * kMany + 200 << " descriptors, there may be " << descriptors.rlim_cur;
  RunningServer server(echo, {.header_timeout = 120s});
  const auto seconds_of_one = [&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(status_in(talk(server.port(), "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")), 200);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds_of_one();
  const auto before = resident_bytes();
  std::vector<RawSocket> slow;
  slow.reserve(kMany);
  for (int i = 0; i < kMany; ++i) {
    slow.emplace_back(server.port());
    ASSERT_TRUE(slow.back().send("GET /slow HTTP/1.1\r\nHo"));
  }
  ASSERT_TRUE(eventually([&] { return server.connections() >= kMany; }));
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) times.push_back(seconds_of_one());
  std::ranges::sort(times);
  EXPECT_LT(times[times.size() / 2], 0.25) << "the median of others";
#ifndef DET_SANITIZED  // what is freed stays for a while there
  // Over TLS both ends keep OpenSSL's state of a session, some 20 kB each.
  EXPECT_LT(resident_bytes() - before, std::size_t{over_tls() ? 650U : 250U} << 20);
#endif
  RecordProperty("bytes_a_connection", static_cast<int>((resident_bytes() - before) / kMany));
}

}  // namespace
}  // namespace det::http
