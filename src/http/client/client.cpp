#include "det/http/client/client.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <optional>

namespace det::http {

struct Client::State {
  State(const std::vector<Url>& urls, ClientOptions options)
      : client(context.get_executor(), urls, std::move(options)) {}

  asio::io_context context{1};
  AsyncClient client;
  std::atomic<bool> cancelled = false;
};

Client::Client(Url url, ClientOptions options)
    : Client(std::vector<Url>{std::move(url)}, std::move(options)) {}
Client::Client(const std::vector<Url>& urls, ClientOptions options)
    : state_(std::make_unique<State>(urls, std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

const Url& Client::url() const {
  return state_->client.url();
}

std::vector<Url> Client::urls() const {
  return state_->client.urls();
}

Result<Reply> Client::request(Call call) {
  std::optional<Result<Reply>> outcome;
  std::exception_ptr failure;
  asio::co_spawn(state_->context, state_->client.request(std::move(call)),
                 [&](std::exception_ptr thrown, std::optional<Result<Reply>> reply) {
                   failure = thrown;
                   outcome = std::move(reply);
                 });
  state_->context.restart();
  // A cancel that came before this call waits in the context as a task.
  while (!outcome && !failure && !state_->cancelled && state_->context.run_one() > 0) {
  }
  // Again and again: a call that had not begun yet connects only now.
  while (!outcome && !failure) {
    state_->client.close();
    if (state_->context.run_one() == 0) break;
  }
  if (failure) std::rethrow_exception(failure);
  if (state_->cancelled || !outcome)
    return fail(ErrorCode::Unavailable, "the call to {} was cancelled", state_->client.url().authority());
  return *std::move(outcome);
}

Result<Reply> Client::get(std::string path, Headers headers) {
  Call call;
  call.path = std::move(path);
  call.headers = std::move(headers);
  return request(std::move(call));
}

Result<Reply> Client::post(std::string path, std::string body, Headers headers) {
  Call call;
  call.method = "POST";
  call.path = std::move(path);
  call.headers = std::move(headers);
  call.headers.set("Content-Type", "application/json");
  call.body = std::move(body);
  return request(std::move(call));
}

void Client::cancel() {
  state_->cancelled = true;
  asio::post(state_->context, [] {});  // wakes the caller
}

void Client::resume() {
  state_->cancelled = false;
}

}  // namespace det::http
