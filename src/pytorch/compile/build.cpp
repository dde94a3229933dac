#include "det/pytorch/compile/build.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "det/config/values/entrypoint.h"
#include "det/pytorch/compile/build_inputs.h"
#include "det/pytorch/compile/source.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::array kSources = {".cpp", ".cc", ".cxx"};
constexpr std::size_t kLibrariesMax = 64;
constexpr std::size_t kNotesMax = 1024;
constexpr std::size_t kHeadersMax = 2;  // 160 MB each
constexpr std::size_t kErrorsShown = 5;
constexpr int kCannotCopy = 126;  ///< In place of a compiler's status.
constexpr const char* kCMakeFile = "CMakeLists.txt";

bool has_extension(const fs::path& path, const auto& extensions) {
  return std::ranges::find(extensions, path.extension().string()) != extensions.end();
}

/// One process at a time; the others wait. Freed at the end of the process, whatever ends it.
class Lock {
 public:
  Lock(const fs::path& path, const std::function<void()>& waiting)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    waiting();
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

/// Keeps what was used last.
void keep_newest(const fs::path& directory, std::size_t most) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(directory, error))
    found.emplace_back(entry.last_write_time(error), entry.path());
  std::ranges::sort(found);
  for (std::size_t i = 0; i + most < found.size(); ++i) fs::remove_all(found[i].second, error);
}

void touch(const fs::path& path) {
  std::error_code error;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
}

/// Make and linkers turn each of these into the status that wrong sources have.
bool is_machines_fault(const std::string& line) {
  constexpr std::array kSigns = {"Error 137",    "unable to execute command: Killed", "Killed signal",
                                 "signal 9",     "No space left on device",           "Read-only file system",
                                 "out of memory"};
  return std::ranges::any_of(kSigns, [&](const char* sign) { return line.find(sign) != std::string::npos; });
}

class Build {
 public:
  Build(const BuildOptions& options, Toolchain toolchain) : o_(options), toolchain_(std::move(toolchain)) {}

  Result<std::variant<fs::path, BuildFailure>> run();
  Result<void> make_header();

 private:
  bool cmake() const { return o_.file == kCMakeFile; }
  std::vector<fs::path> sources() const;
  bool call(const std::vector<std::string>& command, const fs::path& directory);
  bool compile(const fs::path& scratch, const fs::path& library);
  bool compile_file(const fs::path& source, const std::vector<std::string>& output);
  bool compile_cmake(const fs::path& scratch, const fs::path& sources, const fs::path& library);
  bool copy_sources(const fs::path& to);
  bool keep(const fs::path& built, const fs::path& library);
  std::vector<std::string> link_words() const;
  BuildFailure failure() const;
  fs::path header() const { return o_.cache / "headers" / (toolchain_.digest + ".pch"); }

  const BuildOptions& o_;
  Toolchain toolchain_;
  std::vector<std::string> errors_;
  std::string machines_fault_;  ///< a line that says so
  int status_ = 0;
};

std::vector<fs::path> Build::sources() const {
  const auto folder = (o_.directory / o_.file).parent_path();
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && has_extension(entry.path(), kSources))
      found.push_back(entry.path().lexically_relative(o_.directory));
  std::ranges::sort(found);
  return found;
}

bool Build::call(const std::vector<std::string>& command, const fs::path& directory) {
  status_ = run_command(command, directory, [this](const std::string& line) {
    o_.compiler_says(line);
    const bool error = line.find("error:") != std::string::npos ||
                       line.find("undefined ") != std::string::npos || line.starts_with("CMake Error");
    if (error && errors_.size() < kErrorsShown) errors_.push_back(line);
    if (is_machines_fault(line)) machines_fault_ = line;
  });
  return status_ == 0;
}

Result<void> Build::make_header() {
  if (!toolchain_.clang) return {};
  std::error_code error;
  const auto target = header();
  fs::create_directories(target.parent_path(), error);
  fs::create_directories(o_.cache / "locks", error);
  if (error) return fail(ErrorCode::Unavailable, "cannot create {}: {}", o_.cache.string(), error.message());
  const Lock lock(o_.cache / "locks" / "headers",
                  [this] { o_.log("waiting for another trial that compiles headers"); });
  if (fs::exists(target, error)) {
    touch(target);
    return {};
  }
  o_.log("compiling the headers of LibTorch, once for all trials of this version");
  const auto partial = fs::path(target).concat(".partial");
  std::vector<std::string> command = {toolchain_.compiler};
  command.insert(command.end(), toolchain_.flags.begin(), toolchain_.flags.end());
  // Its name has a hash of the headers' content; a new installation of the same ones is no change.
  command.insert(command.end(), {"-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp", "-x",
                                 "c++-header", o_.sdk.root / "include/det/pytorch.h", "-o", partial});
  if (!call(command, o_.cache)) {
    fs::remove(partial, error);
    return fail(ErrorCode::FailedPrecondition, "cannot compile the headers of LibTorch with {} (status {})",
                toolchain_.compiler.string(), status_);
  }
  fs::rename(partial, target, error);
  keep_newest(target.parent_path(), kHeadersMax);
  return {};
}

bool Build::compile_file(const fs::path& source, const std::vector<std::string>& output) {
  std::vector<std::string> command = {toolchain_.compiler};
  command.insert(command.end(), toolchain_.flags.begin(), toolchain_.flags.end());
  if (toolchain_.clang) command.insert(command.end(), {"-include-pch", header()});
  command.push_back(source);
  command.insert(command.end(), output.begin(), output.end());
  return call(command, o_.directory);
}

std::vector<std::string> Build::link_words() const {
  std::vector<std::string> words = {"-shared",
                                    "-Wl,-z,defs",
                                    "-L" + (o_.sdk.root / "lib").string(),
                                    "-ldet_pytorch",
                                    "-L" + (o_.sdk.torch / "lib").string(),
                                    "-ltorch_cpu",
                                    "-lc10"};
  if (!toolchain_.linker.empty()) words.push_back("-fuse-ld=" + toolchain_.linker);
  return words;
}

bool Build::compile(const fs::path& scratch, const fs::path& library) {
  const auto files = sources();
  auto link = link_words();
  if (files.size() == 1) {
    link.insert(link.end(), {"-o", library, "-MMD", "-MF", scratch / "1.d"});
    return compile_file(files[0], link);
  }
  std::vector<std::string> command = {toolchain_.compiler};
  for (const auto& source : files) {
    const auto object = (scratch / fmt::format("{}.o", command.size())).string();
    o_.log("compiling " + source.string());
    if (!compile_file(source, {"-c", "-o", object, "-MMD", "-MF", object + ".d"})) return false;
    command.push_back(object);
  }
  command.insert(command.end(), link.begin(), link.end());
  command.insert(command.end(), {"-o", library});
  return call(command, o_.directory);
}

/// The sources lie where they stay as long as the library, which may have their path compiled in: a task's
/// own directory is gone when the next trial starts.
bool Build::compile_cmake(const fs::path& scratch, const fs::path& sources, const fs::path& library) {
  const auto build = scratch / "build";
  const std::vector<std::string> configure = {"/usr/bin/env",
                                              "cmake",
                                              "-S",
                                              sources,
                                              "-B",
                                              build,
                                              "-DCMAKE_BUILD_TYPE=Release",
                                              "-DCMAKE_CXX_COMPILER=" + toolchain_.compiler.string(),
                                              "-Ddet_DIR=" + (o_.sdk.root / "lib/cmake/det").string(),
                                              "-DTorch_ROOT=" + o_.sdk.torch.string()};
  if (!call(configure, sources)) return false;
  if (!call({"/usr/bin/env", "cmake", "--build", build}, sources)) return false;
  std::error_code error;
  const auto built = build / "model.so";
  if (!fs::exists(built, error)) {
    status_ = 1;
    errors_ = {"CMakeLists.txt builds no model.so; call det_add_trial(<sources>) in it"};
    o_.compiler_says(errors_[0]);
    return false;
  }
  fs::rename(built, library, error);
  return !error;
}

bool Build::keep(const fs::path& built, const fs::path& library) {
  std::error_code error;
  fs::copy_file(built, library, fs::copy_options::overwrite_existing, error);  // /tmp is another file system
  if (!error) return true;
  status_ = kCannotCopy;
  o_.compiler_says(
      fmt::format("cannot copy {} to {}: {}", built.string(), library.string(), error.message()));
  return false;
}

bool Build::copy_sources(const fs::path& to) {
  std::error_code error;
  const auto partial = fs::path(to).concat(fmt::format(".partial-{}", ::getpid()));
  fs::remove_all(partial, error);
  fs::create_directories(to.parent_path(), error);
  fs::copy(o_.directory, partial, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  fs::remove_all(to);
  if (!error) fs::rename(partial, to, error);
  if (!error) return true;
  status_ = kCannotCopy;
  o_.compiler_says(fmt::format("cannot copy the model definition to {}: {}", to.string(), error.message()));
  return false;
}

BuildFailure Build::failure() const {
  std::string text = "cannot compile the model definition";
  if (errors_.empty())
    text += fmt::format(" ({} exited with status {})", toolchain_.compiler.filename().string(), status_);
  for (const auto& line : errors_) text += (&line == &errors_[0] ? ": " : "\n") + line;
  return {text};
}

Result<std::variant<fs::path, BuildFailure>> Build::run() {
  using Outcome = std::variant<fs::path, BuildFailure>;
  std::error_code error;
  if (!fs::is_regular_file(o_.directory / o_.file, error)) {
    std::string known;
    for (const auto& entry : fs::directory_iterator(o_.directory, error))
      if (has_extension(entry.path(), kSources) || entry.path().filename() == kCMakeFile)
        known += (known.empty() ? "" : ", ") + entry.path().filename().string();
    return Outcome(
        BuildFailure{fmt::format("the entrypoint names {}, which is not in the model definition; it has: {}",
                                 o_.file, known.empty() ? "no C++ sources" : known)});
  }
  BuildInputs inputs(o_.directory, o_.cache / "reads", toolchain_.digest + "\n" + o_.file,
                     cmake() ? BuildInputs::Reads::Everything : BuildInputs::Reads::Sources);
  for (const char* part : {"libraries", "locks"}) {
    fs::create_directories(o_.cache / part, error);
    if (error)
      return fail(ErrorCode::Unavailable, "cannot make {}: {}", (o_.cache / part).string(), error.message());
  }
  const auto key = inputs.sources_digest();
  const Lock lock(o_.cache / "locks" / key,
                  [this] { o_.log("waiting for another trial that builds the same sources"); });
  const auto library_of = [&] { return o_.cache / "libraries" / (inputs.digest() + ".so"); };
  auto library = library_of();
  const auto kept_sources = o_.cache / "sources" / key;
  if (fs::exists(library, error)) {
    touch(library);
    if (cmake()) touch(kept_sources);  // which the library may name
    return Outcome(library);
  }
  if (cmake()) {
    if (!toolchain_.cmake)
      return fail(
          ErrorCode::FailedPrecondition,
          "the entrypoint is built by CMake, and cmake was not found on this machine; install it there "
          "(apt-get install cmake, or pip install cmake)");
  } else if (auto made = make_header(); !made) {
    return tl::unexpected(made.error());
  }
  const auto began = std::chrono::steady_clock::now();
  const auto partial = o_.cache / "libraries" / fmt::format(".{}-{}.partial", key, ::getpid());
  if (!std::ofstream(partial))  // better now than after the compiler's work
    return fail(ErrorCode::Unavailable, "cannot write the build cache: {}: {}", partial.string(),
                std::strerror(errno));
  o_.log(fmt::format("building {} with {}", o_.file, toolchain_.compiler.filename().string()));
  auto name = (fs::temp_directory_path() / "det-build-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(ErrorCode::ResourceExhausted, "cannot make {}: {}", name, std::strerror(errno));
  const auto fresh = fs::path(name) / "model.so";
  const bool built =
      cmake() ? copy_sources(kept_sources) && compile_cmake(name, kept_sources, fresh) && keep(fresh, partial)
              : compile(name, fresh) && keep(fresh, partial);
  if (built) {
    inputs.note_read(name);
    keep_newest(o_.cache / "reads", kNotesMax);
    keep_newest(o_.cache / "sources", kLibrariesMax);
    library = library_of();
  }
  fs::remove_all(name, error);
  if (!built) {
    fs::remove(partial, error);
    // Compilers end with 1 and make with 2 over wrong sources; anything else is the machine's fault.
    if (status_ > 2 || !machines_fault_.empty())
      return fail(ErrorCode::ResourceExhausted,
                  "the machine could not build the model definition (status {}{}{}); check its free disk "
                  "space and the "
                  "memory limit of the agent (--memory-per-slot)",
                  status_, machines_fault_.empty() ? "" : ": ", machines_fault_);
    return Outcome(failure());
  }
  fs::rename(partial, library, error);
  if (error) return fail(ErrorCode::Unavailable, "cannot write {}: {}", library.string(), error.message());
  keep_newest(library.parent_path(), kLibrariesMax);
  const auto took = std::chrono::steady_clock::now() - began;
  o_.log(fmt::format("built in {:.1f} s", std::chrono::duration<double>(took).count()));
  return Outcome(library);
}

}  // namespace

Result<Entrypoint> parse_entrypoint(const std::string& entrypoint) {
  if (!config::is_cxx_entrypoint(entrypoint))
    return invalid_argument(
        "entrypoint is \"{}\"; for a C++ trial, it must be file:Class, such as model_def.cpp:MnistTrial",
        entrypoint);
  const auto colon = entrypoint.find(':');
  return Entrypoint{.file = entrypoint.substr(0, colon), .name = entrypoint.substr(colon + 1)};
}

Result<std::variant<fs::path, BuildFailure>> build_model(const BuildOptions& options) {
  DET_TRY(auto toolchain, Toolchain::find(options.sdk, options.variable));
  return Build(options, std::move(toolchain)).run();
}

Result<void> prepare_headers(const BuildOptions& options) {
  DET_TRY(auto toolchain, Toolchain::find(options.sdk, options.variable));
  return Build(options, std::move(toolchain)).make_header();
}

}  // namespace det::pytorch
