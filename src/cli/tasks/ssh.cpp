// Shells are reached with the system's ssh, whose ProxyCommand is `det tunnel`.

#include "det/cli/tasks/ssh.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "det/cli/output/format.h"

extern char** environ;

namespace det::cli {
namespace {

using Words = std::vector<std::string>;

/// As a POSIX shell reads it as one word.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
                                          "xyz0123456789_-+=:,./@%") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string line_of(const Words& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

/// The private key in a file that only the user may read: a temporary one, or one that stays.
class KeyFile {
 public:
  static Result<KeyFile> write(const Variables& variables, const std::string& id, const std::string& key,
                               bool stays) {
    std::error_code failure;
    KeyFile file;
    if (stays) {
      const auto cache = variable(variables, "XDG_CACHE_HOME");
      const auto home = variable(variables, "HOME");
      const std::filesystem::path base = cache ? *cache : home.value_or("/tmp") + "/.cache";
      const auto directory = base / "determined" / "shell" / id;
      std::filesystem::create_directories(directory, failure);
      file.path_ = directory / "key.new";
      ::unlink(file.path_.c_str());
    } else {
      file.path_ = std::filesystem::temp_directory_path(failure) / "det-key-XXXXXX";
    }
    std::string path = file.path_.string();
    const int fd = stays ? ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                         : ::mkostemp(path.data(), O_CLOEXEC);
    const bool written = fd >= 0 && ::write(fd, key.data(), key.size()) == static_cast<ssize_t>(key.size());
    if (fd >= 0) ::close(fd);
    if (!written)
      return failed_precondition("cannot write the shell's key to {}: {}", path,
                                 std::generic_category().message(errno));
    file.path_ = path;
    if (stays) {
      std::filesystem::rename(path, file.path_.parent_path() / "key", failure);
      file.path_ = file.path_.parent_path() / "key";
    }
    file.stays_ = stays;
    return file;
  }
  KeyFile(KeyFile&& other) noexcept : path_(std::move(other.path_)), stays_(other.stays_) {
    other.stays_ = true;
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  KeyFile& operator=(KeyFile&&) = delete;
  ~KeyFile() {
    if (!stays_) ::unlink(path_.c_str());
  }
  std::string path() const { return path_.string(); }

 private:
  KeyFile() = default;
  std::filesystem::path path_;
  bool stays_ = true;
};

/// `det tunnel` as ssh's ProxyCommand: a line for a shell in which "%" is ssh's.
std::string proxy_command(const Session& session, const std::string& master) {
  Words words;
  for (const auto* name : {"DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME"})
    if (const auto value = variable(session.variables(), name)) {
      if (words.empty()) words.emplace_back("env");
      words.push_back(fmt::format("{}={}", name, *value));
    }
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  words.insert(words.end(), {failure ? "det" : self.string(), "-m", master, "tunnel"});
  std::string line;
  for (const char c : line_of(words)) line += c == '%' ? std::string("%%") : std::string(1, c);
  return line + " %h";
}

pid_t running_ssh = 0;
void pass_on(int number) {
  if (running_ssh > 0) ::kill(running_ssh, number);
}

/// Runs it in this terminal. What the terminal's keys send is for it alone.
Result<int> run(const Words& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) ::sigaddset(&usual, number);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  for (const int number : {SIGINT, SIGQUIT}) std::signal(number, SIG_IGN);
  const int failure =
      ::posix_spawnp(&running_ssh, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return failed_precondition("cannot run ssh: {}; install the OpenSSH client (Debian: openssh-client)",
                               std::generic_category().message(failure));
  for (const int number : {SIGWINCH, SIGTERM, SIGHUP}) std::signal(number, pass_on);
  int status = 0;
  while (::waitpid(running_ssh, &status, 0) < 0 && errno == EINTR) {
  }
  running_ssh = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<int> open_shell(Session& session, const std::string& id, const SshWish& wish) {
  DET_TRY(const auto answer, session.get("/api/v1/shells/" + url_encode(id)));
  const auto key = text_at(answer, "shell.privateKey");
  if (key.empty())
    return fail(ErrorCode::PermissionDenied, "shell {} belongs to user '{}'; only its owner has its key", id,
                text_at(answer, "shell.username"));
  DET_TRY(const auto master, session.master_url());
  DET_TRY(const auto file, KeyFile::write(session.variables(), id, key, wish.show));
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  Words words = {"ssh", "-o", "ProxyCommand=" + proxy_command(session, master),
                 // The master has said whom it reaches; each shell has a host key of its own.
                 "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                 "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-o", "ServerAliveInterval=30", "-i",
                 file.path()};
  if (wish.show || terminal)
    words.emplace_back("-t");
  else
    words.emplace_back("-T");
  words.push_back(fmt::format("{}@{}", text_at(answer, "shell.agentUserGroup.user"), id));
  words.insert(words.end(), wish.options.begin(), wish.options.end());
  if (!wish.command.empty()) words.push_back(wish.command);
  if (wish.show) session.console().good(line_of(words));
  session.console().flush();
  if (!wish.connect) return 0;
  const auto status = run(words);
  if (status && session.console().out_tty())
    session.console().good(fmt::format("To reconnect, run: det shell open {}", id));
  return status;
}

}  // namespace det::cli
