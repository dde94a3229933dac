#include "det/agent/shim/init.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "det/agent/files.h"
#include "det/base/text.h"

namespace det::agent {

void say(int socket, Word::Kind kind, std::int32_t status, std::string_view text) {
  Word word;
  word.kind = kind;
  word.status = status;
  text.copy(word.text, sizeof word.text - 1);
  while (::send(socket, &word, sizeof word, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

namespace {

constexpr int kHookDescriptor = 9;
constexpr const char* kHookDirectory = "DET_HOOK_DIRECTORY";
constexpr int kNotFoundStatus = 127;

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

void restore_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool parent_lives(int socket) {
  pollfd poll{socket, 0, 0};
  return ::poll(&poll, 1, 0) == 0;
}

void set_limits(const ShimSpec& spec) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  static const std::pair<const char*, __rlimit_resource> kLimits[] = {
      {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS}, {"fsize", RLIMIT_FSIZE}};
  for (const auto& [name, resource] : kLimits) {
    const auto found = spec.limits.find(name);
    if (found == spec.limits.end() || found->second < 0) continue;
    const auto value = static_cast<rlim_t>(found->second);
    const rlimit limit{value, value};
    ::setrlimit(resource, &limit);
  }
}

/// For good: no process of the task can become the agent's user again.
bool change_user(const ShimSpec& spec) {
  if (spec.gid >= 0) {
    const auto gid = static_cast<gid_t>(spec.gid);
    if (gid != ::getegid() && (::setgroups(1, &gid) != 0 || ::setresgid(gid, gid, gid) != 0)) return false;
  }
  if (spec.uid >= 0) {
    const auto uid = static_cast<uid_t>(spec.uid);
    if (uid != ::geteuid() && ::setresuid(uid, uid, uid) != 0) return false;
  }
  return true;
}

void set_environment(const std::map<std::string, std::string>& environment) {
  ::clearenv();
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

/// The process that will be hook or task, before it becomes that.
void become_child(const InitOptions& options, const std::map<std::string, std::string>& environment,
                  const std::string& directory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!parent_lives(options.socket)) ::_exit(1);
  restore_signals();
  set_limits(options.spec);
  // So that it can open /dev/stdout again.
  for (const int end : options.output)
    if (options.spec.uid >= 0 &&
        ::fchown(end, static_cast<uid_t>(options.spec.uid), static_cast<gid_t>(-1)) != 0)
      continue;
  ::dup2(options.output[0], STDOUT_FILENO);
  ::dup2(options.output[1], STDERR_FILENO);
  set_environment(environment);
  if (!change_user(options.spec)) {
    std::fprintf(stderr, "cannot run as uid %lld and gid %lld: %s\n",
                 static_cast<long long>(options.spec.uid), static_cast<long long>(options.spec.gid),
                 std::strerror(errno));
    std::fflush(stderr);
    ::_exit(kNotFoundStatus);
  }
  // A new user loses both.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 1);
  if (!directory.empty() && ::chdir(directory.c_str()) != 0) {
    std::fprintf(stderr, "cannot enter %s: %s\n", directory.c_str(), std::strerror(errno));
    std::fflush(stderr);
    ::_exit(kNotFoundStatus);
  }
}

class Init {
 public:
  explicit Init(const InitOptions& options)
      : options_(options),
        spec_(options.spec),
        environment_(options.spec.environment),
        directory_(options.spec.working_directory) {}

  void run() {
    int shared = -1;
    if (!spec_.startup_hook.empty() && !spec_.shared_directory.empty())
      shared = ::open(spec_.shared_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    options_.isolation.in_init();
    std::string steps;
    for (const auto& step : options_.isolation.taken()) steps += step + " ";
    say(options_.socket, Word::Isolated, 0, steps);
    if (!spec_.startup_hook.empty() && !run_hook(shared)) return;
    if (shared >= 0) ::close(shared);
    if (stop_ != 0) {
      say(options_.socket, Word::TaskEnded, stop_, "stopped before it started");
      return;
    }
    const pid_t task = fork_task();
    if (task < 0) {
      say(options_.socket, Word::TaskEnded, 1 << 8,
          fmt::format("cannot start a process: {}", std::strerror(errno)));
      return;
    }
    ::close(options_.output[0]);
    ::close(options_.output[1]);
    if (options_.channel != nullptr) options_.channel->leave();
    say(options_.socket, Word::TaskEnded, wait_for(task), {});
  }

 private:
  pid_t fork_task() {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    become_child(options_, environment_, directory_);
    say(options_.socket, Word::TaskStarted, 0, {});
    ::close(options_.socket);
    ::close(options_.output[0]);
    ::close(options_.output[1]);
    if (options_.task) {
      for (std::size_t signal = 1; signal < options_.dispositions.size(); ++signal)
        ::sigaction(static_cast<int>(signal), &options_.dispositions[signal], nullptr);
      AnotherTask another;
      if (options_.channel != nullptr) {
        options_.channel->in_task();
        another = [this](const auto& meanwhile) { return become_another(meanwhile); };
      }
      const int code = options_.task(another);
      std::fflush(nullptr);
      ::_exit(code);
    }
    if (spec_.command.empty()) ::_exit(kNotFoundStatus);
    std::vector<char*> arguments;
    for (const auto& argument : spec_.command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "cannot run %s: %s\n", arguments[0], std::strerror(errno));
    std::fflush(stderr);
    ::_exit(kNotFoundStatus);
  }

  /// In the task's process.
  bool become_another(const std::function<bool()>& meanwhile) {
    std::fflush(nullptr);
    if (!is_alone()) return false;
    auto next = options_.channel->next(meanwhile);
    if (!next) return false;
    environment_ = std::move(next->environment);
    directory_ = std::move(next->working_directory);
    apply(changes_);
    set_environment(environment_);
    return ::chdir(directory_.c_str()) == 0;
  }

  /// Reaps and forwards until `child` has ended; its wait status.
  int wait_for(pid_t child) {
    const auto set = handled_signals();
    while (true) {
      int status = 0;
      for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == child) return status;
      siginfo_t info{};
      const int signal = ::sigwaitinfo(&set, &info);
      if (signal <= 0 || signal == SIGCHLD) continue;
      if (signal == SIGTERM) stop_ = SIGTERM;
      ::kill(child, signal);
    }
  }

  /// False: the task must not start, and the shim was told why.
  bool run_hook(int shared) {
    const int lock = shared < 0 ? -1 : ::openat(shared, "hook.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
      say(options_.socket, Word::TaskEnded, 1 << 8,
          fmt::format("cannot prepare startup-hook.sh: {}", std::strerror(errno)));
      return false;
    }
    // Ranks that share a machine share one run of the hook: the first does it, the others wait.
    const auto set = handled_signals();
    while (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
      const timespec pause{0, 20'000'000};
      siginfo_t info{};
      if (::sigtimedwait(&set, &info, &pause) == SIGTERM) {
        say(options_.socket, Word::TaskEnded, SIGTERM, "stopped while another rank ran startup-hook.sh");
        return false;
      }
    }
    bool good = true;
    if (const auto changes = read_at(shared, "hook.changes")) {
      apply(*changes);
    } else if (const auto failed = read_at(shared, "hook.failed")) {
      say(options_.socket, Word::TaskEnded, static_cast<int>(std::strtol(failed->c_str(), nullptr, 10)),
          "startup-hook.sh failed in another rank");
      good = false;
    } else {
      good = run_hook_now(shared);
    }
    ::close(lock);
    return good;
  }

  bool run_hook_now(int shared) {
    const int result = ::openat(shared, "hook.new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t pid = result < 0 ? -1 : ::fork();
    if (pid == 0) {
      become_child(options_, environment_, directory_);
      ::dup2(result, kHookDescriptor);
      // Packages that the hook installs end with the task. Without that environment, `pip` is the machine's.
      const char* script =
          "if [ -n \"$1\" ]; then eval \"$(\"$1\" -m determined.exec.hook \"$2\")\"; fi; shift 2; "
          "set -e -x; . \"$0\"; { set +x; } 2>/dev/null; DET_HOOK_DIRECTORY=\"$PWD\" env -0 >&9";
      const char *hook = spec_.startup_hook.c_str(), *python = spec_.hook_python.c_str(),
                 *packages = spec_.hook_packages.c_str();
      ::execlp("bash", "bash", "-c", script, hook, python, packages, nullptr);
      ::execlp("sh", "sh", "-c", script, hook, python, packages, nullptr);
      ::_exit(kNotFoundStatus);
    }
    if (pid < 0) {
      say(options_.socket, Word::TaskEnded, 1 << 8,
          fmt::format("cannot run startup-hook.sh: {}", std::strerror(errno)));
      return false;
    }
    const int status = wait_for(pid);
    ::close(result);
    if (status != 0) {
      write_at(shared, "hook.failed", std::to_string(status));
      const auto how = WIFEXITED(status) ? fmt::format("with exit status {}", WEXITSTATUS(status))
                                         : fmt::format("by signal {}", WTERMSIG(status));
      say(options_.socket, Word::TaskEnded, status, "startup-hook.sh failed " + how);
      return false;
    }
    const auto changes = changes_of(read_at(shared, "hook.new").value_or(""));
    write_at(shared, "hook.changes", changes);
    apply(changes);
    return true;
  }

  /// What the hook exported, unset and where it went, as "+NAME=value", "-NAME", "@directory".
  std::string changes_of(const std::string& output) const {
    if (output.empty()) return {};  // The hook said `exit 0`: nothing is known, nothing changes.
    std::map<std::string, std::string> after;
    for (const auto& entry : split(output, '\0')) {
      const auto equals = entry.find('=');
      if (equals != std::string::npos && equals > 0)
        after.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    std::string changes;
    if (const auto found = after.find(kHookDirectory);
        found != after.end() && found->second != spec_.working_directory)
      changes += "@" + found->second + '\0';
    for (const char* noise : {kHookDirectory, "_", "SHLVL", "PWD", "OLDPWD"}) after.erase(noise);
    for (const auto& [name, value] : after)
      if (const auto before = environment_.find(name);
          before == environment_.end() || before->second != value)
        changes += "+" + name + "=" + value + '\0';
    for (const auto& [name, value] : environment_)
      if (!after.contains(name) && name != "PWD" && name != "OLDPWD" && name != "SHLVL" && name != "_")
        changes += "-" + name + '\0';
    return changes;
  }

  void apply(const std::string& changes) {
    changes_ = changes;
    for (const auto& change : split(changes, '\0')) {
      if (change.empty()) continue;
      const auto rest = change.substr(1);
      if (change[0] == '@') directory_ = rest;
      if (change[0] == '-') environment_.erase(rest);
      if (change[0] == '+') environment_[rest.substr(0, rest.find('='))] = rest.substr(rest.find('=') + 1);
    }
  }

  static std::optional<std::string> read_at(int directory, const char* name) {
    const int fd = ::openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::string content;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      content.append(buffer, static_cast<std::size_t>(got));
    ::close(fd);
    return content;
  }

  static void write_at(int directory, const char* name, const std::string& content) {
    const int fd = ::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return;  // Then another rank runs the hook again, which is what a second machine does, too.
    if (::write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      ::unlinkat(directory, name, 0);
    ::close(fd);
  }

  const InitOptions& options_;
  const ShimSpec& spec_;
  std::map<std::string, std::string> environment_;
  std::string directory_;
  std::string changes_;  ///< What the startup hook did to both.
  int stop_ = 0;         ///< SIGTERM came.
};

}  // namespace

void run_init(const InitOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "det-init");
  if (!parent_lives(options.socket)) ::_exit(1);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Init(options).run();
  if (!options.isolation.own_pids()) end_descendants();
  ::_exit(0);  // As process 1 of its namespace this ends all that is left in it.
}

}  // namespace det::agent
