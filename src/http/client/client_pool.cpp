#include <poll.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "det/http/client/client_pool.h"
#include "det/http/client/reply_reader.h"
#include "det/http/tls/tcp_stream.h"

namespace det::http {

using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

bool idempotent(std::string_view method) {
  return method != "POST" && method != "PATCH";
}

// A socket whose operations end when the limit is over: the timer cuts it.
class Wire {
 public:
  explicit Wire(const asio::any_io_executor& executor) : stream(executor), timer(executor) {}

  void limit(Clock::duration duration) {
    timer.expires_after(duration);
    timer.async_wait([this, alive = std::weak_ptr<bool>(alive_)](boost::system::error_code failure) {
      if (failure || alive.expired() || timer.expiry() > Clock::now()) return;
      late = true;
      stream.cut();
    });
  }
  void unlimited() { timer.cancel(); }

  // Closed by the other side, or with bytes that nobody asked for.
  bool stale() {
    pollfd state{};
    state.fd = stream.socket().native_handle();
    state.events = POLLIN | POLLRDHUP;
    return !stream.is_open() || ::poll(&state, 1, 0) != 0;
  }

  TcpStream stream;
  asio::steady_timer timer;
  bool late = false;

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

// Sends both, one after the other.
asio::awaitable<boost::system::error_code> send(TcpStream& stream, const std::string& head,
                                                const std::string& body) {
  if (!stream.encrypted()) {
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head), asio::buffer(body)};
    const auto [failure, sent] = co_await asio::async_write(stream.socket(), buffers, kToResult);
    co_return failure;
  }
  const bool together = body.size() <= kReadBytes;  // one packet for a small call
  const std::string first = together ? head + body : head;
  std::string_view left = first;
  bool second = !together;
  while (!left.empty()) {
    const auto [failure, sent] = co_await stream.write_some(asio::buffer(left.data(), left.size()));
    if (failure) co_return failure;
    left.remove_prefix(sent);
    if (left.empty() && std::exchange(second, false)) left = body;
  }
  co_return boost::system::error_code();
}

std::string head_text(const Url& url, const Call& call, const std::string& user_agent) {
  std::string out =
      fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", call.method, url.prefix, call.path, url.authority());
  for (const auto& [name, value] : call.headers) out += name + ": " + value + "\r\n";
  if (!call.headers.contains("user-agent")) out += "User-Agent: " + user_agent + "\r\n";
  if (!call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH")
    out += fmt::format("Content-Length: {}\r\n", call.body.size());
  return out + "\r\n";
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

// A header or path that would end early and smuggle another is a caller's mistake.
std::optional<Error> check(const Call& call) {
  const auto refuse = [](std::string what) {
    return Error(ErrorCode::InvalidArgument,
                 what + " has a control character or space; it must be percent-encoded");
  };
  if (!call.path.starts_with('/'))
    return Error(ErrorCode::InvalidArgument, fmt::format("path \"{}\" must begin with /", call.path));
  if (has_control_character(call.path) || call.path.find(' ') != std::string::npos) return refuse("the path");
  if (has_control_character(call.method) || call.method.find(' ') != std::string::npos)
    return refuse("the method");
  for (const auto& [name, value] : call.headers)
    if (has_control_character(name) || has_control_character(value))
      return refuse("the header " + name.substr(0, 40));
  return std::nullopt;
}

}  // namespace

// Registers a wire while a call uses it, so that close() finds it.
class ClientPool::InUse {
 public:
  InUse(ClientPool& pool, std::shared_ptr<Wire> wire) : pool_(pool), wire_(std::move(wire)) {
    pool_.busy_.insert(wire_);
  }
  ~InUse() { pool_.busy_.erase(wire_); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  ClientPool& pool_;
  std::shared_ptr<Wire> wire_;
};

std::shared_ptr<Wire> ClientPool::take_idle() {
  while (!idle_.empty()) {
    auto wire = std::move(idle_.back());
    idle_.pop_back();
    if (!wire->stale()) return wire;
  }
  return nullptr;
}

asio::awaitable<Result<std::shared_ptr<Wire>>> ClientPool::connect() {
  const auto wire = std::make_shared<Wire>(executor_);
  const InUse in_use(*this, wire);
  const auto closes = closes_;
  std::vector<tcp::endpoint> endpoints;
  boost::system::error_code failure;
  if (const auto address = asio::ip::make_address(url_.host, failure); !failure) {
    endpoints.emplace_back(address, url_.port);
  } else if (url_.host == "localhost") {
    endpoints.emplace_back(asio::ip::address_v4::loopback(), url_.port);
    endpoints.emplace_back(asio::ip::address_v6::loopback(), url_.port);
  } else {
    tcp::resolver resolver(executor_);
    asio::steady_timer limit(executor_, options_.connect_timeout);
    limit.async_wait([&resolver](boost::system::error_code stopped) {
      if (!stopped) resolver.cancel();
    });
    const auto [unknown, found] =
        co_await resolver.async_resolve(url_.host, std::to_string(url_.port), kToResult);
    if (unknown == asio::error::operation_aborted)
      co_return tl::unexpected(unreachable("cannot be found: the name server does not answer"));
    if (unknown) co_return tl::unexpected(unreachable("cannot be found: no machine has that name"));
    for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  }
  failure = asio::error::host_not_found;
  for (const auto& endpoint : endpoints) {
    if (wire->late || closes != closes_) break;
    wire->limit(options_.connect_timeout);
    wire->stream.cut();
    std::tie(failure) = co_await wire->stream.socket().async_connect(endpoint, kToResult);
    if (!failure) break;
  }
  std::optional<Error> distrust;
  if (!failure && !wire->late && closes == closes_ && url_.tls) {
    wire->limit(options_.connect_timeout);
    distrust = co_await shake_hands(*wire);
  }
  wire->unlimited();
  if (closes != closes_) co_return tl::unexpected(unreachable("was not called: the client was closed"));
  if (wire->late)
    co_return tl::unexpected(unreachable(fmt::format(
        "did not answer within {} s", static_cast<double>(options_.connect_timeout.count()) / 1000)));
  if (failure == asio::error::connection_refused)
    co_return tl::unexpected(unreachable("refused the connection: nothing listens there"));
  if (failure) co_return tl::unexpected(unreachable("cannot be reached: " + failure.message()));
  if (distrust) co_return tl::unexpected(*std::move(distrust));
  wire->stream.socket().set_option(tcp::no_delay(true), failure);
  co_return wire;
}

// Why the encryption did not come about; nothing: it did.
asio::awaitable<std::optional<Error>> ClientPool::shake_hands(Wire& wire) {
  if (!trust_) {
    auto loaded = TlsTrust::load(options_.trust);
    if (!loaded) co_return std::move(loaded).error();
    trust_ = *std::move(loaded);
  }
  const bool done = co_await wire.stream.connect(trust_, url_.host);
  if (done) co_return std::nullopt;
  const auto* session = wire.stream.session();
  if (session->fault().empty()) co_return unreachable("closed the connection during the TLS handshake");
  trust_.reset();  // the file may hold another certificate by the next call
  co_return Error(session->untrusted() ? ErrorCode::FailedPrecondition : ErrorCode::Unavailable,
                  fmt::format("{} {}", url_.authority(), session->fault()));
}

asio::awaitable<Attempt> ClientPool::exchange(std::shared_ptr<Wire> wire, const Call& call) {
  const InUse in_use(*this, wire);
  const auto closes = closes_;
  const bool streams = call.on_data || call.on_line;
  const auto head = head_text(url_, call, options_.user_agent);
  Attempt attempt{fail(ErrorCode::Unavailable, "no answer"), true, false};
  const auto give_up = [&](std::string_view why) {
    wire->unlimited();
    wire->stream.close();
    if (closes != closes_) why = "was no longer waited for: the client was closed";
    attempt.reply = tl::unexpected(unreachable(why));
    return std::move(attempt);
  };
  const auto too_late =
      fmt::format("did not answer within {} s", static_cast<double>(call.timeout.count()) / 1000);

  wire->late = false;
  wire->limit(call.timeout);
  // A server may refuse a large body early and close: its answer may be there.
  const auto write_failure = co_await send(wire->stream, head, call.body);
  if (wire->late) co_return give_up(too_late);

  ReplyReader reader(call, options_.reply_max);
  std::string bytes(kReadBytes, '\0');
  while (!reader.done()) {
    if (streams) wire->limit(call.timeout);
    auto [cut, count] = co_await wire->stream.read_some(asio::buffer(bytes));
    if (wire->late) co_return give_up(too_late);
    if (count > 0) attempt.answered = true;
    if (cut == asio::error::eof) {
      reader.put_end();
      if (!reader.done() && !attempt.answered) co_return give_up("closed the connection without an answer");
      if (!reader.done()) co_return give_up("closed the connection before its answer was complete");
      break;
    }
    if (cut) co_return give_up("broke the connection: " + (write_failure ? write_failure : cut).message());
    reader.put(std::string_view(bytes.data(), count));
    if (!reader.fault().empty()) co_return give_up(reader.fault());
  }
  wire->unlimited();
  if (reader.reusable() && !write_failure && closes == closes_ && idle_.size() < options_.idle_max)
    idle_.push_back(wire);
  attempt.reply = reader.take();
  co_return std::move(attempt);
}

asio::awaitable<Attempt> ClientPool::request(Call call) {
  const auto self = shared_from_this();
  if (auto wrong = check(call)) co_return Attempt{tl::unexpected(*std::move(wrong)), true, false};
  if (auto wire = take_idle()) {
    auto attempt = co_await exchange(wire, call);
    if (attempt.reply || attempt.answered || wire->late || !idempotent(call.method))
      co_return std::move(attempt);
  }
  auto wire = co_await connect();
  if (!wire) co_return Attempt{tl::unexpected(std::move(wire).error()), false, false};
  co_return co_await exchange(*std::move(wire), call);
}

void ClientPool::close() {
  ++closes_;
  idle_.clear();
  for (const auto& wire : busy_) wire->stream.cut();
}

Error ClientPool::unreachable(std::string_view why) const {
  return Error(ErrorCode::Unavailable, fmt::format("{} {}", url_.authority(), why));
}

}  // namespace det::http
