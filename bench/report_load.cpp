// Sends metric reports over many connections, as lean as it can, for reports.py: the master shall have the
// processors.
//
// Standard input: "PORT SECONDS DEPTH", then a line "TRIAL RUN TOKEN NEXT_BATCHES" per connection. Each
// connection has DEPTH reports in flight. Standard output: "REPORTS SECONDS MEDIAN_MS P99_MS CPU_SECONDS", of
// CPU its own, and for each connection the next batches.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  int socket = -1;
  std::string trial, run, token, head;
  long batches = 0;
  std::deque<Clock::time_point> sent{};
  std::string unread{};
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "report_load: %s\n", why.c_str());
  std::exit(1);
}

void send_report(Connection& c) {
  ++c.batches;
  char body[512];
  const int length = std::snprintf(
      body, sizeof body,
      R"({"group": "training", "metrics": {"trialId": %s, "trialRunId": %s, "stepsCompleted": %ld, "reportTime": null, "metrics": {"avgMetrics": {"loss": %.17g, "accuracy": 0.5}}}})",
      c.trial.c_str(), c.run.c_str(), c.batches, 1.0 / static_cast<double>(c.batches));
  std::string text = c.head + std::to_string(length) + "\r\n\r\n";
  text.append(body, static_cast<std::size_t>(length));
  c.sent.push_back(Clock::now());
  if (::write(c.socket, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("the master takes no more");
}

// The length of the first whole answer; 0: there is none yet.
std::size_t whole_answer(const std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  if (text.compare(0, 13, "HTTP/1.1 200 ") != 0) fail("the master answered " + text.substr(0, 500));
  const auto at = text.find("Content-Length: ");
  const auto length = at < end ? std::strtoul(text.c_str() + at + 16, nullptr, 10) : 0;
  return text.size() >= end + 4 + length ? end + 4 + length : 0;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main() {
  int port = 0, depth = 1;
  double limit = 0;
  if (std::scanf("%d %lf %d", &port, &limit, &depth) != 3) fail("no first line");
  std::vector<Connection> all;
  char trial[64], run[64], token[2048];
  long batches = 0;
  while (std::scanf("%63s %63s %2047s %ld", trial, run, token, &batches) == 4)
    all.push_back({.trial = trial, .run = run, .token = token, .head = {}, .batches = batches});
  const int poller = ::epoll_create1(0);
  for (auto& c : all) {
    c.socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(c.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      fail("cannot connect");
    const int on = 1;
    ::setsockopt(c.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c.head = "POST /api/v1/trials/" + c.trial + "/metrics HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " +
             c.token + "\r\nContent-Type: application/json\r\nContent-Length: ";
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &c;
    ::epoll_ctl(poller, EPOLL_CTL_ADD, c.socket, &event);
  }
  std::vector<double> taken;
  taken.reserve(1 << 20);
  const auto start = Clock::now();
  const auto cpu = cpu_seconds();
  std::size_t open = 0;
  for (auto& c : all)
    for (int i = 0; i < depth; ++i, ++open) send_report(c);
  std::vector<epoll_event> events(256);
  std::vector<char> bytes(1 << 16);
  while (open > 0) {
    const int count = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), 10'000);
    if (count <= 0) fail("no answer for ten seconds");
    for (int i = 0; i < count; ++i) {
      auto& c = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      const auto got = ::read(c.socket, bytes.data(), bytes.size());
      if (got <= 0) fail("the master closed a connection");
      c.unread.append(bytes.data(), static_cast<std::size_t>(got));
      const auto now = Clock::now();
      for (std::size_t length = whole_answer(c.unread); length != 0; length = whole_answer(c.unread)) {
        c.unread.erase(0, length);
        taken.push_back(std::chrono::duration<double, std::milli>(now - c.sent.front()).count());
        c.sent.pop_front();
        if (std::chrono::duration<double>(now - start).count() < limit)
          send_report(c);
        else
          --open;
      }
    }
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(taken.begin(), taken.end());
  std::printf("%zu %.6f %.3f %.3f %.3f\n", taken.size(), seconds, taken[taken.size() / 2],
              taken[taken.size() * 99 / 100], cpu_seconds() - cpu);
  for (const auto& c : all) std::printf("%ld\n", c.batches);
}
