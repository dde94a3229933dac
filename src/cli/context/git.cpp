#include "det/cli/context/git.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "det/base/text.h"

extern char** environ;

namespace det::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What the process prints until it ends; nothing where that is not before `deadline`: it is killed then.
std::optional<std::string> read_until(int pipe, pid_t child, std::optional<Clock::time_point> deadline) {
  std::string output;
  char buffer[4096];
  while (true) {
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    const auto left =
        deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count() : -1;
    const int found = deadline && left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) {
      ::kill(child, SIGKILL);
      return std::nullopt;
    }
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count <= 0) return output;
    output.append(buffer, static_cast<std::size_t>(count));
  }
}

// What git prints, or nothing if it fails. Git's own complaints are dropped:
// ours say what they mean for the submission.
std::optional<std::string> git(const std::string& directory, std::vector<std::string> arguments,
                               std::optional<Clock::time_point> deadline = std::nullopt) {
  // It changes nothing, and starts nothing that the repository's configuration names.
  arguments.insert(arguments.begin(),
                   {"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", directory});
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failure = ::posix_spawnp(&child, "git", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  const auto output = failure == 0 ? read_until(pipe[0], child, deadline) : std::nullopt;
  ::close(pipe[0]);
  int status = 0;
  if (failure != 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return output ? std::optional(std::string(trim(*output))) : std::nullopt;
}

/// Without the name and password that may stand in it.
std::string public_url(std::string url) {
  const auto begin = url.find("://");
  if (!url.starts_with("http") || begin == std::string::npos) return url;
  const auto at = url.substr(0, url.find('/', begin + 3)).rfind('@');
  return at == std::string::npos ? url : url.erase(begin + 3, at - begin - 2);
}

}  // namespace

Result<GitOrigin> git_origin(const std::string& directory) {
  if (!git(directory, {"--version"}))
    return failed_precondition("--git needs the program git and MODEL_DEF, a directory in a git repository");
  if (!git(directory, {"rev-parse", "--show-toplevel"}))
    return failed_precondition("Git repository not found: '{}' is not in a git working directory", directory);
  const auto changes = git(directory, {"status", "--porcelain"});
  if (!changes || !changes->empty())
    return failed_precondition(
        "Git working directory is dirty. Please commit the following changes before creating an "
        "experiment:\n{}",
        changes.value_or(""));
  const auto upstream = git(directory, {"rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}"});
  if (!upstream)
    return failed_precondition("The current git branch has no upstream branch; push it with: git push -u");
  const auto remote = git(directory, {"config", "--get", "remote." + split(*upstream, '/')[0] + ".url"});
  const auto commit = git(directory, {"rev-parse", "HEAD"});
  const auto committer = git(directory, {"log", "-1", "--pretty=format:%cn <%ce>"});
  const auto date = git(directory, {"log", "-1", "--pretty=format:%cI"});
  const auto branch = git(directory, {"symbolic-ref", "--short", "--quiet", "HEAD"});
  if (!remote || !commit || !committer || !date)
    return failed_precondition(
        "Git cannot find the remote or the commit of '{}'; check its 'git status' and 'git remote -v'",
        directory);
  return GitOrigin{public_url(*remote), *commit, *committer, *date, branch.value_or(""), false};
}

std::optional<GitOrigin> git_found(const std::string& directory) {
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  const auto status = git(directory, {"status", "--porcelain=v2", "--branch", "--", "."}, deadline);
  if (!status) return std::nullopt;
  GitOrigin origin{.dirty = false};
  std::string remote = "origin";
  for (const auto& line : split(*status, '\n')) {
    const std::string_view text = line;
    const auto value = [&](std::string_view name) {
      return text.starts_with(name) ? std::optional(std::string(text.substr(name.size()))) : std::nullopt;
    };
    if (const auto commit = value("# branch.oid "))
      origin.commit = *commit;
    else if (const auto branch = value("# branch.head "))
      origin.branch = *branch == "(detached)" ? "" : *branch;
    else if (const auto upstream = value("# branch.upstream "))
      remote = upstream->substr(0, upstream->find('/'));
    else if (!text.starts_with('#') && !text.empty())
      origin.dirty = true;
  }
  if (origin.commit.empty() || origin.commit == "(initial)") return std::nullopt;
  origin.remote =
      public_url(git(directory, {"config", "--get", "remote." + remote + ".url"}, deadline).value_or(""));
  const auto told = git(directory, {"log", "-1", "--pretty=format:%cI%n%cn <%ce>"}, deadline).value_or("");
  origin.date = told.substr(0, told.find('\n'));
  if (origin.date.size() < told.size()) origin.committer = told.substr(origin.date.size() + 1);
  return origin;
}

}  // namespace det::cli
