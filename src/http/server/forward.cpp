#include "det/http/server/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>

#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/server/part_reader.h"
#include "det/http/tls/tcp_stream.h"

namespace det::http {

namespace {

using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
constexpr auto kNever = Clock::time_point::max();
constexpr std::size_t kReadBytes = 8 * 1024;       // of a quiet connection
constexpr std::size_t kBusyReadBytes = 64 * 1024;  // of one that fills it

std::set<std::string> words_of(std::string_view list) {
  std::set<std::string> words;
  for (const auto& word : split(list, ',')) words.insert(to_lower(trim(word)));
  return words;
}

// The protocol that the client wants to change to; empty: none that is forwarded.
std::string wanted_upgrade(const Exchange& exchange) {
  const auto& headers = exchange.request().headers;
  const auto* connection = headers.find("connection");
  const auto* upgrade = headers.find("upgrade");
  if (connection == nullptr || upgrade == nullptr || exchange.is_http_1_0()) return "";
  if (exchange.body_length() != std::uint64_t{0} || !words_of(*connection).contains("upgrade")) return "";
  // HTTP/2 in a tunnel would carry requests that nobody looked at.
  return words_of(*upgrade).contains("h2c") ? "" : *upgrade;
}

std::string fields_text(const Headers& headers) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; };
  std::string out;
  for (const auto& [name, value] : headers)
    if (std::none_of(value.begin(), value.end(), is_control)) out += name + ": " + value + "\r\n";
  return out;
}

// A request on its way: the connection to the service, and what both directions must know.
struct Passage {
  Passage(const asio::any_io_executor& executor, std::shared_ptr<Exchange> e, Forward f)
      : exchange(std::move(e)), how(std::move(f)), service(executor), sent(executor, kNever) {}

  void close() {
    boost::system::error_code ignored;
    service.close(ignored);
  }
  void sweep(Clock::time_point now) {
    if (now >= write_deadline || now >= answer_deadline) {
      late = true;
      close();
    }
    if (now >= half_closed_deadline) {
      close();
      exchange->cut();
    }
  }
  void expect_answer() {
    if (!answered) answer_deadline = Clock::now() + how.head_timeout;
  }
  void stay_half_closed() {
    if (half_closed) half_closed_deadline = Clock::now() + how.half_closed_timeout;
  }
  asio::awaitable<bool> write(std::string bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      write_deadline = Clock::now() + how.write_timeout;
      const auto [failure, count] = co_await service.async_write_some(
          asio::buffer(bytes.data() + done, bytes.size() - done), kToResult);
      write_deadline = kNever;
      done += count;
      if (failure || over) co_return false;
    }
    co_return true;
  }

  std::shared_ptr<Exchange> exchange;
  Forward how;
  tcp::socket service;
  asio::steady_timer sent;  // cancelled when the client's direction has ended
  bool sending = false;
  bool over = false;
  bool late = false;
  bool answered = false;
  bool half_closed = false;
  std::string client_fault;
  Clock::time_point write_deadline = kNever;
  Clock::time_point answer_deadline = kNever;
  Clock::time_point half_closed_deadline = kNever;
};

std::string request_head(const Passage& way, const std::string& upgrade) {
  auto headers = way.how.headers;
  remove_hop_by_hop(headers, true);
  headers.erase("content-length");
  const auto& request = way.exchange->request();
  const auto& own = request.target.starts_with('/') ? request.target : request.path;
  const auto& target = way.how.target.empty() ? own : way.how.target;
  auto out = fmt::format("{} {} HTTP/1.1\r\n", request.method, target);
  if (!headers.contains("host")) out += fmt::format("Host: {}:{}\r\n", way.how.host, way.how.port);
  out += fields_text(headers);
  const auto length = way.exchange->body_length();
  const bool says_length = request.headers.contains("content-length");
  if (!length)
    out += "Transfer-Encoding: chunked\r\n";
  else if (*length > 0 || says_length)
    out += fmt::format("Content-Length: {}\r\n", *length);
  if (upgrade.empty()) return out + "Connection: close\r\n\r\n";
  return out + "Connection: Upgrade\r\nUpgrade: " + upgrade + "\r\n\r\n";
}

struct ReplyFrame {
  bool chunked = false;
  bool keep_alive = false;
};

std::string reply_head(const Passage& way, const PartReader& reply, ReplyFrame& frame) {
  auto headers = reply.headers();
  const auto* upgrade = headers.find("upgrade");
  const auto protocol = upgrade == nullptr ? std::string() : *upgrade;
  remove_hop_by_hop(headers, false);
  headers.erase("content-length");
  if (way.how.on_reply) way.how.on_reply(headers);
  const int status = reply.status();
  const auto reason = reply.reason().empty() ? std::string(reason_phrase(status)) : reply.reason();
  auto out = fmt::format("HTTP/1.1 {} {}\r\n", status, reason) + fields_text(headers);
  if (status == 101) return out + "Connection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n";

  const bool has_no_body = reply.done() && (status == 204 || status == 304);
  const bool is_head = way.exchange->request().method == "HEAD";
  frame.keep_alive = way.exchange->keep_alive();
  if (reply.length() && !reply.chunked()) {
    if (status != 204) out += fmt::format("Content-Length: {}\r\n", *reply.length());
  } else if (!has_no_body && !is_head) {
    frame.chunked = !way.exchange->is_http_1_0();
    if (frame.chunked) out += "Transfer-Encoding: chunked\r\n";
    if (!frame.chunked) frame.keep_alive = false;  // the body ends with the connection
  }
  if (!frame.keep_alive) out += "Connection: close\r\n";
  if (frame.keep_alive && way.exchange->is_http_1_0()) out += "Connection: keep-alive\r\n";
  return out + "\r\n";
}

// The client's direction of a request: its body.
asio::awaitable<void> send_body(std::shared_ptr<Passage> way) {
  const bool chunked = !way->exchange->body_length();
  bool more = true;
  while (more) {
    auto piece = co_await way->exchange->read();
    if (way->over) break;
    if (!piece) {
      way->client_fault = piece.error().message();
      way->close();
      break;
    }
    more = !piece->empty();
    std::string bytes = chunked ? fmt::format("{:x}\r\n{}\r\n", piece->size(), *piece) : *std::move(piece);
    const bool taken = co_await way->write(std::move(bytes));
    more = more && taken;  // a service may refuse a body early: its answer may be there
  }
  way->expect_answer();
}

// The client's direction of a tunnel.
asio::awaitable<void> send_tunnel(std::shared_ptr<Passage> way) {
  bool more = true;
  while (more) {
    auto piece = co_await way->exchange->read();
    if (way->over || !piece) break;
    if (piece->empty()) {
      boost::system::error_code ignored;
      way->service.shutdown(tcp::socket::shutdown_send, ignored);
      way->half_closed = true;
      way->stay_half_closed();
      co_return;
    }
    way->stay_half_closed();
    more = co_await way->write(*std::move(piece));
  }
  way->close();
}

void start(const std::shared_ptr<Passage>& way, asio::awaitable<void> direction) {
  way->sending = true;
  asio::co_spawn(way->service.get_executor(), std::move(direction), [way](std::exception_ptr failure) {
    way->sending = false;
    if (failure) way->close();
    way->sent.cancel();
  });
}

asio::awaitable<bool> fail_with(std::shared_ptr<Passage> way, int status, std::string why) {
  way->over = true;
  way->close();
  Response response;
  if (!way->client_fault.empty()) {
    response =
        error_response(Error(ErrorCode::InvalidArgument, "the request was refused: " + way->client_fault));
  } else {
    response = way->how.failure(status, why);
  }
  co_return co_await way->exchange->respond(std::move(response));
}

asio::awaitable<bool> tunnel(std::shared_ptr<Passage> way, std::string first) {
  way->how.write_timeout = std::max(way->how.write_timeout, std::chrono::milliseconds(600'000));
  way->exchange->become_tunnel();
  boost::system::error_code ignored;
  way->service.set_option(asio::socket_base::keep_alive(true), ignored);
  start(way, send_tunnel(way));
  std::string bytes(kReadBytes, '\0');
  bool there = co_await way->exchange->write(std::move(first));
  while (there) {
    const auto [failure, count] = co_await way->service.async_read_some(asio::buffer(bytes), kToResult);
    if (failure) {
      there = failure == asio::error::eof;
      break;
    }
    way->stay_half_closed();
    there = co_await way->exchange->write(bytes.substr(0, count));
    if (count == bytes.size() && count < kBusyReadBytes) bytes.resize(kBusyReadBytes);
  }
  if (there) {
    way->exchange->close_sending();
    way->half_closed = true;
    way->stay_half_closed();
  } else {
    way->exchange->cut();
  }
  while (way->sending) co_await way->sent.async_wait(kToResult);
  co_return false;
}

// From the service's first byte to its last.
asio::awaitable<bool> receive(std::shared_ptr<Passage> way, bool may_upgrade) {
  const auto kind =
      way->exchange->request().method == "HEAD" ? PartReader::Of::ReplyToHead : PartReader::Of::Reply;
  PartReader reply(kind);
  ReplyFrame frame;
  std::string bytes(kReadBytes, '\0');
  std::string unread;
  while (!reply.done()) {
    const auto [failure, count] = co_await way->service.async_read_some(asio::buffer(bytes), kToResult);
    std::string body;
    if (failure == asio::error::eof && !way->late && way->client_fault.empty()) {
      reply.put_end();
      if (!reply.done()) {
        if (way->answered) co_return false;
        co_return co_await fail_with(way, 502, "closed the connection without an answer");
      }
    } else if (failure) {
      if (way->answered) co_return false;
      std::string why = way->late ? "does not answer" : "broke the connection: " + failure.message();
      co_return co_await fail_with(way, way->late ? 504 : 502, std::move(why));
    }
    unread.append(bytes, 0, count);
    while (!unread.empty() && !reply.done()) {
      const auto used = reply.put(unread, body);
      unread.erase(0, used);
      if (reply.head_done() && reply.status() < 200 && reply.status() != 101) {
        reply = PartReader(kind);  // 103 and the like
        continue;
      }
      if (used == 0 || !reply.fault().empty()) break;
    }
    if (!reply.fault().empty()) {
      if (way->answered) co_return false;
      co_return co_await fail_with(way, 502, "answered with something that is not HTTP: " + reply.fault());
    }
    std::string out;
    if (reply.head_done() && !way->answered) {
      if (reply.status() == 101 && !may_upgrade)
        co_return co_await fail_with(way, 502, "switched the protocol without being asked to");
      way->answered = true;
      way->answer_deadline = kNever;
      out = reply_head(*way, reply, frame);
      if (reply.status() == 101) {
        out += unread;
        co_return co_await tunnel(way, std::move(out));
      }
    }
    if (!body.empty()) out += frame.chunked ? fmt::format("{:x}\r\n{}\r\n", body.size(), body) : body;
    if (reply.done() && frame.chunked) out += "0\r\n\r\n";
    const bool taken = co_await way->exchange->write(std::move(out));
    if (!taken) co_return false;
    if (count == bytes.size() && count < kBusyReadBytes) bytes.resize(kBusyReadBytes);
  }
  co_return frame.keep_alive && way->exchange->body_read();
}

}  // namespace

void remove_hop_by_hop(Headers& headers, bool of_request) {
  std::set<std::string> names{"connection",
                              "keep-alive",
                              "proxy-connection",
                              "proxy-authenticate",
                              "proxy-authorization",
                              "te",
                              "trailer",
                              "transfer-encoding",
                              "upgrade",
                              "expect",
                              "http2-settings"};
  for (const auto& [name, value] : headers)
    if (to_lower(name) == "connection") names.merge(words_of(value));
  if (of_request)
    for (const auto& [name, value] : headers)
      if (name.find('_') != std::string::npos) names.insert(to_lower(name));
  for (const auto& name : names) headers.erase(name);
}

asio::awaitable<bool> forward(std::shared_ptr<Exchange> exchange, Forward how) {
  const auto executor = co_await asio::this_coro::executor;
  const auto way = std::make_shared<Passage>(executor, exchange, std::move(how));
  struct Guard {  // for a client that goes away: this coroutine is cancelled
    std::shared_ptr<Passage> way;
    ~Guard() {
      way->over = true;
      way->close();
    }
  };
  const Guard guard{way};
  exchange->on_sweep([weak = std::weak_ptr(way)](Clock::time_point now) {
    if (const auto found = weak.lock()) found->sweep(now);
  });
  boost::system::error_code failure;
  const auto address = asio::ip::make_address(way->how.host, failure);
  if (failure) co_return co_await fail_with(way, 502, "has no reachable address");
  const tcp::endpoint endpoint(address, way->how.port);
  way->write_deadline = Clock::now() + way->how.connect_timeout;
  std::tie(failure) = co_await way->service.async_connect(endpoint, kToResult);
  way->write_deadline = kNever;
  if (way->late) co_return co_await fail_with(way, 504, "did not accept the connection in time");
  if (failure) co_return co_await fail_with(way, 502, "cannot be reached: " + failure.message());
  way->service.set_option(tcp::no_delay(true), failure);

  const auto upgrade = wanted_upgrade(*exchange);
  auto head = request_head(*way, upgrade);
  co_await way->write(std::move(head));
  if (exchange->body_read())
    way->expect_answer();
  else
    start(way, send_body(way));
  co_return co_await receive(way, !upgrade.empty());
}

}  // namespace det::http
