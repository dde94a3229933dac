#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "det/cli/command.h"

namespace det::cli {
namespace {

Action define_auth_token(CLI::App&) {
  return [](Session& session) -> Result<int> {
    // The cached one may be dead: a call replaces it.
    DET_TRY(const auto me, session.get("/api/v1/me"));
    DET_TRY(const auto token, session.token());
    session.console().write_line(token);
    return 0;
  };
}

// Replaces this process by curl. The token goes through a configuration on its
// standard input, where other users of this machine cannot see it.
Result<int> curl(Session& session, const std::string& path, const std::vector<std::string>& arguments,
                 bool shown) {
  if (path.find("://") != std::string::npos)
    return invalid_argument(
        "'{}' is a whole address; give only the path, such as /api/v1/me: the token is for the master alone",
        path);
  DET_TRY(const auto me, session.get("/api/v1/me"));
  DET_TRY(const auto token, session.token());
  DET_TRY(const auto url, session.master_url());
  std::vector<std::string> words = {"curl", "-sS", "--config", "/dev/fd/3"};
  words.push_back(url + (path.starts_with('/') ? "" : "/") + path);
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (shown) {
    std::string line = "curl -H 'Authorization: Bearer ...'";
    for (std::size_t i = 4; i < words.size(); ++i) line += " '" + words[i] + "'";
    session.console().warn(line);
  }
  const auto config = fmt::format("header = \"Authorization: Bearer {}\"\n", token);
  int pipe[2];
  if (::pipe(pipe) != 0 ||
      ::write(pipe[1], config.data(), config.size()) != static_cast<ssize_t>(config.size()))
    return fail(ErrorCode::Unavailable, "cannot hand the token to curl: {}", std::strerror(errno));
  ::close(pipe[1]);
  if (pipe[0] != 3) {
    ::dup2(pipe[0], 3);
    ::close(pipe[0]);
  }
  session.console().flush();
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  return fail(ErrorCode::Unavailable, "cannot start curl: {}", std::strerror(errno));
}

Action define_curl(CLI::App& app) {
  const auto shown = std::make_shared<bool>(false);
  app.add_flag("-x", *shown, "show the curl command first");
  app.prefix_command();  // what follows belongs to curl
  return [&app, shown](Session& session) -> Result<int> {
    const auto words = app.remaining();
    if (words.empty()) return invalid_argument("which path? For example: det dev curl /api/v1/me");
    return curl(session, words[0], {words.begin() + 1, words.end()}, *shown);
  };
}

}  // namespace

Command dev_commands() {
  return {.names = {"dev"},
          .help = "tools for those who write programs against the master",
          .example = "det dev curl /api/v1/experiments?limit=1",
          .children = {{{"auth-token"}, "print the token of the active user", "", define_auth_token},
                       {{"curl"},
                        "call the master with curl",
                        "det dev curl /api/v1/me\ndet dev curl /api/v1/experiments/7/kill -X POST",
                        define_curl}}};
}

}  // namespace det::cli
