#include "det/cli/git.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "det/base/text.h"

extern char** environ;

namespace det::cli {
namespace {

// What git prints, or nothing if it fails. Git's own complaints are dropped:
// ours say what they mean for the submission.
std::optional<std::string> git(const std::string& directory, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"git", "-C", directory});
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
  std::string output;
  char buffer[4096];
  ssize_t count = 0;
  while (failure == 0 && (count = ::read(pipe[0], buffer, sizeof buffer)) > 0)
    output.append(buffer, static_cast<std::size_t>(count));
  ::close(pipe[0]);
  int status = 0;
  if (failure != 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return std::string(trim(output));
}

}  // namespace

Result<GitOrigin> git_origin(const std::string& directory) {
  if (!git(directory, {"--version"}))
    return failed_precondition("--git needs the program git, and a directory to ask it about");
  if (!git(directory, {"rev-parse", "--show-toplevel"}))
    return failed_precondition("Git repository not found: '{}' is in no git working directory", directory);
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
  if (!remote || !commit || !committer || !date)
    return failed_precondition("Git cannot tell the remote and commit of '{}'", directory);
  return GitOrigin{*remote, *commit, *committer, *date};
}

}  // namespace det::cli
