#include "det/pytorch/compile/toolchain.h"

#include <fcntl.h>
#include <sodium.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "det/base/text.h"
#include "det/pytorch/compile/source.h"
#include "det/version.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

/// What compilers, linkers and CMake take from the environment.
constexpr std::array kReadByCompilers = {
    "CFLAGS",         "CXXFLAGS",           "CPPFLAGS",     "LDFLAGS",          "CPATH",
    "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "CMAKE_PREFIX_PATH"};
constexpr const char* kFormat = "2";  ///< raised when what is built from the same input changes
constexpr int kClangNewest = 23;
constexpr int kClangOldest = 14;
constexpr int kClangOldNames = 17;  ///< the last that names templates as g++ 12 does

std::optional<fs::path> on_path(const std::string& name, const char* path) {
  std::error_code error;
  if (name.find('/') != std::string::npos) {
    if (fs::exists(name, error)) return fs::path(name);
    return std::nullopt;
  }
  for (const auto& directory : split(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path, ':')) {
    const auto candidate = fs::path(directory) / name;
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate, error))
      return candidate;
  }
  return std::nullopt;
}

/// Names a file's content without reading it.
std::string stamp(const fs::path& path) {
  std::error_code error;
  const auto real = fs::canonical(path, error);
  return fmt::format("{} {} {}\n", real.string(), fs::file_size(real, error),
                     fs::last_write_time(real, error).time_since_epoch().count());
}

/// The major version of a clang: by the names that it goes by, else as it says itself. 0: unknown.
int clang_version(const fs::path& compiler) {
  std::error_code error;
  for (const auto& path : {compiler, fs::canonical(compiler, error)}) {
    const std::string name = path.string();
    for (const std::string_view before : {"clang++-", "clang-", "llvm-"}) {
      const auto at = name.rfind(before);
      if (at != std::string::npos)
        if (const int version = std::atoi(name.c_str() + at + before.size()); version > 0) return version;
    }
  }
  int version = 0;
  run_command({compiler.string(), "-dumpversion"}, "/",
              [&](const std::string& line) { version = std::atoi(line.c_str()); });
  return version;
}

std::string headers_of(const Sdk& sdk) {
  std::vector<fs::path> paths = {sdk.root / "include/det/pytorch.h"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sdk.root / "include/det/pytorch", error))
    if (entry.path().extension() == ".h") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::string text;
  for (const auto& path : paths) text += path.filename().string() + "\n" + read_file(path);
  return text;
}

}  // namespace

std::string digest_of(const std::string& bytes) {
  unsigned char digest[16];
  crypto_generichash_blake2b(digest, sizeof digest, reinterpret_cast<const unsigned char*>(bytes.data()),
                             bytes.size(), nullptr, 0);
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Result<Toolchain> Toolchain::find(const Sdk& sdk, const std::function<const char*(const char*)>& variable) {
  std::error_code error;
  if (!fs::exists(sdk.root / "include/det/pytorch.h", error))
    return failed_precondition("{} has no include/det/pytorch.h; keep det-trial together with its headers",
                               sdk.root.string());
  const char* path = variable("PATH");
  const char* chosen = variable("DET_CXX");
  Toolchain found;
  if (chosen != nullptr && *chosen != '\0') {
    const auto compiler = on_path(chosen, path);
    if (!compiler)
      return failed_precondition("DET_CXX is \"{}\", which does not exist; set it to a C++ compiler", chosen);
    found.compiler = *compiler;
  } else {
    std::vector<std::string> names;
    for (int version = kClangNewest; version >= kClangOldest; --version)
      names.push_back(fmt::format("clang++-{}", version));
    names.insert(names.end(), {"clang++", "g++", "c++"});
    for (const auto& name : names) {
      if (const auto compiler = on_path(name, path)) {
        found.compiler = *compiler;
        break;
      }
    }
    if (found.compiler.empty())
      return failed_precondition(
          "no C++ compiler found; C++ trials are compiled on the machine that runs them. Install clang and "
          "lld "
          "there "
          "(apt-get install clang lld), or g++");
  }
  found.clang = found.compiler.filename().string().find("clang") != std::string::npos;
  if (found.clang && (on_path("ld.lld", path) || on_path(found.compiler.parent_path() / "ld.lld", path)))
    found.linker = "lld";
  found.cmake = on_path("cmake", path).has_value();
  found.flags = {"-std=c++20",
                 "-O2",
                 "-g1",
                 "-fPIC",
                 "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden",
                 "-Wall",
                 "-fdiagnostics-color=never",
                 "-DUSE_DISTRIBUTED",
                 "-DUSE_C10D_GLOO",
                 "-isystem",
                 sdk.root / "include",
                 "-isystem",
                 sdk.torch / "include",
                 "-isystem",
                 sdk.torch / "include/torch/csrc/api/include"};
  // LibTorch's names are g++'s; clang 18 and later write the constraints of templates into theirs.
  if (found.clang && clang_version(found.compiler) > kClangOldNames)
    found.flags.push_back(fmt::format("-fclang-abi-compat={}", kClangOldNames));
  std::string all = std::string(kFormat) + " " + DET_VERSION + "\n" + stamp(found.compiler) +
                    headers_of(sdk) + stamp(sdk.torch / "lib/libtorch_cpu.so") + found.linker + "\n";
  for (const auto& flag : found.flags) all += flag + "\n";
  for (const char* name : kReadByCompilers)
    if (const char* value = variable(name)) all += fmt::format("{}={}\n", name, value);
  found.digest = digest_of(all);
  return found;
}

int run_command(const std::vector<std::string>& command, const fs::path& directory,
                const std::function<void(const std::string&)>& line) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return 127;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failure = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (failure != 0) {
    ::close(pipe[0]);
    line(fmt::format("cannot start {}: {}", command[0], std::strerror(failure)));
    return 127;
  }
  std::string pending;
  char buffer[4096];
  while (true) {
    const auto got = ::read(pipe[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    pending.append(buffer, static_cast<std::size_t>(got));
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      line(pending.substr(0, end));
      pending.erase(0, end + 1);
    }
  }
  if (!pending.empty()) line(pending);
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace det::pytorch
