// Sends metric reports over many connections, as lean as it can, for reports.py: the server shall have the
// processors.
//
// Standard input: "PORT SECONDS DEPTH", then for each connection a line "PATH TOKEN STEP BODY". Each
// connection posts BODY to PATH, with the next step in place of each "@", and has DEPTH such calls in flight.
// Standard output: "CALLS SECONDS MEDIAN_MS P99_MS CPU_SECONDS", of CPU its own, and for each connection its
// last step.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  int socket = -1;
  std::string head;
  std::vector<std::string> body;  // between the steps
  long step = 0;
  std::deque<Clock::time_point> sent{};
  std::string unread{};
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "report_load: %s\n", why.c_str());
  std::exit(1);
}

void send_report(Connection& c) {
  const auto step = std::to_string(++c.step);
  std::string body;
  for (std::size_t i = 0; i < c.body.size(); ++i) body.append(i == 0 ? "" : step).append(c.body[i]);
  const auto text = c.head + std::to_string(body.size()) + "\r\n\r\n" + body;
  c.sent.push_back(Clock::now());
  if (::write(c.socket, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("the server takes no more");
}

// The length of the first whole answer; 0: there is none yet.
std::size_t whole_answer(const std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  if (text.compare(0, 13, "HTTP/1.1 200 ") != 0) fail("the server answered " + text.substr(0, 500));
  auto at = text.find("Content-Length: ");
  if (at > end) at = text.find("content-length: ");
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
  if (!(std::cin >> port >> limit >> depth)) fail("no first line");
  std::vector<Connection> all;
  std::string line;
  std::getline(std::cin, line);
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string path, token, body;
    Connection c;
    if (!(words >> path >> token >> c.step) || !std::getline(words >> std::ws, body))
      fail("a line is incomplete");
    c.head = "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token +
             "\r\nContent-Type: application/json\r\nContent-Length: ";
    std::istringstream parts(body);
    for (std::string part; std::getline(parts, part, '@');) c.body.push_back(part);
    all.push_back(std::move(c));
  }
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
      if (got <= 0) fail("the server closed a connection");
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
  for (const auto& c : all) std::printf("%ld\n", c.step);
}
