#include "det/http/client/masters.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <variant>

#include "det/http/routing/status.h"

namespace det::http {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{2'000};  // of one address of several
constexpr std::chrono::milliseconds kPause{200};
constexpr std::size_t kNamedMax = 8;

bool stands_by(const Result<Reply>& reply) {
  return reply && reply->status == 503 && reply->headers.contains(kLeaderHeader);
}

ClientOptions for_several(ClientOptions options, std::size_t addresses) {
  if (addresses > 1) options.connect_timeout = std::min(options.connect_timeout, kConnectTimeout);
  return options;
}

}  // namespace

Masters::Masters(asio::any_io_executor executor, const std::vector<Url>& urls, ClientOptions options)
    : executor_(std::move(executor)),
      options_(for_several(std::move(options), urls.size())),
      given_(urls.size()) {
  for (const auto& url : urls) pools_.push_back(std::make_shared<ClientPool>(executor_, url, options_));
}

std::vector<Url> Masters::urls() const {
  std::vector<Url> urls;
  for (std::size_t i = 0; i < given_; ++i) urls.push_back(pools_[i]->url());
  return urls;
}

std::optional<std::size_t> Masters::named_leader(const Reply& reply, const Url& by) {
  const auto* text = reply.headers.find(kLeaderHeader);
  const auto named = parse_url(text == nullptr ? "" : *text);
  if (!named || (by.tls && !named->tls) || (named->is_loopback() && !by.is_loopback())) return std::nullopt;
  for (std::size_t i = 0; i < pools_.size(); ++i)
    if (pools_[i]->url().text() == named->text()) return i;
  if (pools_.size() >= given_ + kNamedMax) return std::nullopt;
  pools_.push_back(std::make_shared<ClientPool>(executor_, *named, options_));
  return pools_.size() - 1;
}

asio::awaitable<Result<Reply>> Masters::request(Call call) {
  const auto self = shared_from_this();
  const auto closes = closes_;
  const auto start = std::chrono::steady_clock::now();
  bool standby = false;  // once seen: it answers nothing in the moment in which it takes over
  while (true) {
    auto round = co_await ask_all(call);
    standby = standby || round.standby;
    const auto patience = standby     ? options_.leader_patience
                          : several() ? options_.leader_patience / 5
                                      : std::chrono::milliseconds(0);
    if (round.final || closes != closes_ || std::chrono::steady_clock::now() - start >= patience)
      co_return std::move(round.reply);
    asio::steady_timer pause(executor_, kPause);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<Masters::Round> Masters::ask_all(const Call& call) {
  const auto closes = closes_;
  std::vector<bool> tried;
  std::optional<Result<Reply>> standby, failure;
  auto at = current_;
  while (true) {
    tried.resize(pools_.size());
    tried[at] = true;
    auto made = co_await attempt(at, call);
    if (closes != closes_) co_return Round{std::move(made.reply), true, false};
    std::optional<std::size_t> next;
    if (stands_by(made.reply)) {
      next = named_leader(*made.reply, pools_[at]->url());
      standby = std::move(made.reply);
    } else if (made.reply) {
      current_ = at;
      co_return Round{std::move(made.reply), true, false};
    } else if (made.reply.error().code() != ErrorCode::Unavailable) {
      co_return Round{std::move(made.reply), true, false};  // a person has to do something
    } else if (made.sent && (made.answered || !idempotent(call.method))) {
      if (current_ == at) current_ = (at + 1) % pools_.size();
      broken_.insert(at);
      co_return Round{std::move(made.reply), true, false};  // it may have been done
    } else if (!failure) {
      failure = std::move(made.reply);
    }
    tried.resize(pools_.size());
    if (!next && current_ != at) next = current_;  // which was found to lead while this one did not answer
    if (!next || tried[*next]) {
      next.reset();
      for (std::size_t i = 1; i < pools_.size() && !next; ++i)
        if (const auto other = (at + i) % pools_.size(); !tried[other]) next = other;
    }
    if (!next) break;
    at = *next;
  }
  // One that stands by will lead in a moment: its answer says more than that nobody listens elsewhere.
  if (standby) co_return Round{*std::move(standby), false, true};
  co_return Round{*std::move(failure), false, false};
}

asio::awaitable<Attempt> Masters::attempt(std::size_t at, const Call& call) {
  using namespace asio::experimental::awaitable_operators;
  const auto pool = pools_[at];
  if (!several()) co_return co_await pool->request(call);
  if (broken_.contains(at)) {
    // The system of a killed process may take one more connection, and breaks it once a call was sent.
    auto answered = co_await health(at);
    if (!answered) co_return Attempt{std::move(answered), false, false};
    broken_.erase(at);
  }
  auto first = co_await (pool->request(call) || another_leader(at));
  if (first.index() == 0) co_return std::move(std::get<0>(first));
  current_ = std::get<1>(first);
  co_return Attempt{fail(ErrorCode::Unavailable, "{} has not answered, and {} leads now",
                         pool->url().authority(), url().authority()),
                    true, false};
}

asio::awaitable<std::size_t> Masters::another_leader(std::size_t than) {
  asio::steady_timer timer(executor_);
  while (true) {
    timer.expires_after(options_.leader_check);
    co_await timer.async_wait(asio::use_awaitable);
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      if (i == than) continue;
      if (const auto answered = co_await health(i); answered && answered->ok()) co_return i;
    }
  }
}

asio::awaitable<Result<Reply>> Masters::health(std::size_t at) {
  Call question;
  question.path = "/health";
  question.timeout = std::chrono::milliseconds(1'000);
  const auto pool = pools_[at];
  auto made = co_await pool->request(std::move(question));
  co_return std::move(made.reply);
}

void Masters::close() {
  ++closes_;
  for (const auto& pool : pools_) pool->close();
}

AsyncClient::AsyncClient(asio::any_io_executor executor, Url url, ClientOptions options)
    : AsyncClient(std::move(executor), std::vector<Url>{std::move(url)}, std::move(options)) {}
AsyncClient::AsyncClient(asio::any_io_executor executor, const std::vector<Url>& urls, ClientOptions options)
    : masters_(std::make_shared<Masters>(std::move(executor), urls, std::move(options))) {}
AsyncClient::~AsyncClient() = default;
AsyncClient::AsyncClient(AsyncClient&&) noexcept = default;
AsyncClient& AsyncClient::operator=(AsyncClient&&) noexcept = default;

const Url& AsyncClient::url() const {
  return masters_->url();
}
std::vector<Url> AsyncClient::urls() const {
  return masters_->urls();
}
asio::awaitable<Result<Reply>> AsyncClient::request(Call call) {
  return masters_->request(std::move(call));
}
void AsyncClient::close() {
  masters_->close();
}

}  // namespace det::http
