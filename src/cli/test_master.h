#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "det/base/json.h"
#include "det/cli/cli.h"
#include "det/http/server/server.h"
#include "det/version.h"

namespace det::cli::test {

/// A master that gives the answers it was told to, over real connections, and
/// remembers what it was asked. Logs in `determined` with an empty password.
class TestMaster {
 public:
  TestMaster();
  ~TestMaster();

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// Answers "GET /api/v1/me". Several answers to the same request are given
  /// one after the other; the last one stays.
  void answer(const std::string& request, std::string body, int status = 200);
  /// The answer to an error, as the master sends it.
  void refuse(const std::string& request, int status, const std::string& message);
  /// A stream of lines; `cut` breaks the connection instead of ending it.
  void stream(const std::string& request, std::vector<std::string> lines, bool cut = false);

  void forget_tokens();
  void set_version(std::string version) { version_ = std::move(version); }

  /// Everything that was asked, as "GET /api/v1/me?x=1", without the version
  /// check and the login.
  std::vector<std::string> asked() const;
  std::vector<std::string> logins() const;  ///< Bodies.
  json::value last_body(const std::string& request) const;

 private:
  struct Answer {
    int status = 200;
    std::string body;
    std::vector<std::string> lines;
    bool streamed = false;
    bool cut = false;
  };
  http::asio::awaitable<http::Response> handle(http::Request request);
  Answer answer_to(const http::Request& request);

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Answer>> answers_;
  std::vector<std::string> asked_;
  std::vector<std::string> logins_;
  std::map<std::string, std::string> bodies_;
  std::set<std::string> tokens_;
  int tokens_given_ = 0;
  std::string version_ = DET_VERSION;

  boost::asio::io_context context_{1};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
  int port_ = 0;
};

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// Where a command is run.
struct Setting {
  std::vector<std::string> typed = {};  ///< What the user answers.
  bool tty = false;
  Variables variables = {};
};

/// Runs `det <words>` in this process.
Outcome det(const std::string& words, const TestMaster& master, const Setting& setting = {});
Outcome run_words(std::vector<std::string> words, Variables variables, const Setting& setting = {});

/// A fresh directory, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }
  /// Writes a file and the directories above it; returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

}  // namespace det::cli::test
