#include "det/cli/test_master.h"

#include <stdlib.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>

#include "det/base/text.h"
#include "det/http/routing/status.h"

namespace det::cli::test {

TestMaster::TestMaster() {
  server_ = std::make_unique<http::Server>(
      context_.get_executor(), [this](http::Request request) { return handle(std::move(request)); },
      http::ServerOptions{.body_max = 128 * 1024 * 1024});
  if (auto listening = server_->listen("127.0.0.1", 0); !listening)
    throw std::runtime_error(listening.error().message());
  port_ = server_->port();
  answer("GET /api/v1/me", R"({"user":{"username":"determined"}})");
  thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(context_);
    context_.run();
  });
}

TestMaster::~TestMaster() {
  boost::asio::co_spawn(context_, server_->stop(std::chrono::milliseconds(50)), boost::asio::use_future)
      .get();
  context_.stop();
  thread_.join();
}

void TestMaster::answer(const std::string& request, std::string body, int status) {
  const std::lock_guard lock(mutex_);
  answers_[request].push_back({.status = status, .body = std::move(body)});
}

void TestMaster::refuse(const std::string& request, int status, const std::string& message) {
  answer(request, http::error_body(Error(http::code_of(status), message)), status);
}

void TestMaster::stream(const std::string& request, std::vector<std::string> lines, bool cut) {
  const std::lock_guard lock(mutex_);
  answers_[request].push_back({.lines = std::move(lines), .streamed = true, .cut = cut});
}

void TestMaster::forget_tokens() {
  const std::lock_guard lock(mutex_);
  tokens_.clear();
}

std::vector<std::string> TestMaster::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::vector<std::string> TestMaster::logins() const {
  const std::lock_guard lock(mutex_);
  return logins_;
}

json::value TestMaster::last_body(const std::string& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = bodies_.find(request);
  return found == bodies_.end() ? json::value(nullptr)
                                : json::parse(found->second).value_or(json::value(nullptr));
}

TestMaster::Answer TestMaster::answer_to(const http::Request& request) {
  const std::lock_guard lock(mutex_);
  if (request.path == "/info")
    return {.body = fmt::format(R"({{"version":"{}","cluster_id":"c","master_id":"m"}})", version_)};
  if (request.path == "/api/v1/auth/login") {
    logins_.push_back(request.body);
    const auto body = json::parse(request.body).value();
    const bool silent = body.at("username") == "determined" && body.at("password") == "";
    const bool known =
        body.at("username") == "alice" && body.at("password") == json::value(password_hash("wonderland"));
    if (!silent && !known)
      return {.status = 403,
              .body = http::error_body(Error(ErrorCode::PermissionDenied, "invalid credentials"))};
    const auto token = fmt::format("token-{}", ++tokens_given_);
    tokens_.insert(token);
    return {.body = fmt::format(R"({{"token":"{}","user":{{}}}})", token)};
  }
  asked_.push_back(request.method + ' ' + request.target);
  if (!tokens_.contains(http::bearer_token(request).value_or("")))
    return {.status = 401,
            .body = http::error_body(Error(ErrorCode::Unauthenticated, "invalid credentials"))};
  const auto name = request.method + ' ' + request.path;
  bodies_[name] = request.body;
  const auto found = answers_.find(name);
  if (found == answers_.end())
    return {.status = 501,
            .body = http::error_body(
                Error(ErrorCode::Unimplemented, "nobody told the test's master about " + name))};
  auto answer = found->second.front();
  if (found->second.size() > 1) found->second.erase(found->second.begin());
  return answer;
}

http::asio::awaitable<http::Response> TestMaster::handle(http::Request request) {
  const auto answer = answer_to(request);
  auto response = http::json_response(answer.body, answer.status);
  if (answer.streamed) {
    const auto lines = answer.lines;
    const bool cut = answer.cut;
    response.stream = [lines, cut](http::StreamWriter& writer) -> http::asio::awaitable<void> {
      for (const auto& line : lines) {
        const bool sent = co_await writer.write(line + "\n");
        if (!sent) co_return;
      }
      if (cut) throw std::runtime_error("cut on purpose");
    };
  }
  co_return response;
}

Outcome run_words(std::vector<std::string> words, Variables variables, const Setting& setting) {
  std::ostringstream out, err;
  auto typed = setting.typed;
  Streams streams{.out = out,
                  .err = err,
                  .read_line = [&typed](bool) -> std::optional<std::string> {
                    if (typed.empty()) return std::nullopt;
                    auto line = typed.front();
                    typed.erase(typed.begin());
                    return line;
                  },
                  .out_tty = setting.tty,
                  .err_tty = setting.tty,
                  .colour = true,
                  .columns = 200};
  Console console(std::move(streams));
  for (const auto& [name, value] : setting.variables) variables[name] = value;
  const int code = run(words, console, variables);
  return {code, out.str(), err.str()};
}

Outcome det(const std::string& words, const TestMaster& master, const Setting& setting) {
  static const TemporaryDirectory home;
  std::vector<std::string> list;
  if (!words.empty()) list = split(words, ' ');
  return run_words(std::move(list), {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}},
                   setting);
}

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "det-cli-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a directory for a test");
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& content) const {
  const auto path = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

}  // namespace det::cli::test
