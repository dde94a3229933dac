#include "det/master/elastic/pilot_bundle.h"

#include <sodium.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "det/base/text.h"
#include "det/master/elastic/run_program.h"
#include "det/version.h"

namespace det::master {
namespace {

namespace fs = std::filesystem;

fs::path own_program() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed);
}

/// Those of the C library belong to a machine; the others go along.
bool is_of_the_machine(const std::string& name) {
  for (const auto* begin : {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so",
                            "libutil.so", "ld-linux", "linux-vdso", "libnss_"})
    if (name.starts_with(begin)) return true;
  return false;
}

/// The directory above the Python package; empty: there is none on this machine.
std::string python_directory() {
  if (const char* named = std::getenv("DET_PYTHON_PATH"); named != nullptr && *named != '\0') return named;
  const auto found =
      run_program({usual_python(), "-c",
                   "import determined, os; print(os.path.dirname(os.path.dirname(determined.__file__)))"});
  return found && found->status == 0 ? std::string(trim(found->out)) : "";
}

void add(crypto_generichash_state& state, const std::string& text) {
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

}  // namespace

std::string usual_python() {
  if (const char* named = std::getenv("DET_PYTHON"); named != nullptr && *named != '\0') return named;
  std::error_code failed;
  const auto beside = own_program().parent_path() / "python3";
  return fs::exists(beside, failed) ? beside.string() : "python3";
}

Result<void> PilotBundle::collect() {
  const auto program = own_program();
  DET_TRY(const auto libraries, run_program({"ldd", program.string()}));
  const auto home = scratch_ / "program";
  std::error_code failed;
  fs::remove_all(home, failed);
  for (const auto* folder : {"bin", "lib/det", "python"}) fs::create_directories(home / folder, failed);
  if (failed) return fail(ErrorCode::Unavailable, "cannot write to {}: {}", home.string(), failed.message());
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 16);
  const auto take = [&](const fs::path& from, const fs::path& to) {
    std::error_code ignored;
    const auto file = fs::canonical(from, ignored);
    fs::create_symlink(file, home / to, ignored);
    if (!fs::is_directory(file, ignored))
      add(state, fmt::format("{} {} {}\n", to.string(), fs::file_size(file, ignored),
                             fs::last_write_time(file, ignored).time_since_epoch().count()));
  };
  take(program, "bin/det");
  if (const auto trial = program.parent_path() / "det-trial"; fs::exists(trial, failed))
    take(trial, "bin/det-trial");
  std::istringstream lines(libraries.out);
  for (std::string line; std::getline(lines, line);) {  // "libz.so.1 => /lib/libz.so.1 (0x…)"
    const auto arrow = line.find(" => /");
    if (arrow == std::string::npos) continue;
    const std::string name(trim(line.substr(0, arrow)));
    if (!is_of_the_machine(name))
      take(line.substr(arrow + 4, line.find(" (") - arrow - 4), "lib/det/" + name);
  }
  if (const fs::path directory = python_directory(); !directory.empty()) {
    take(directory / "determined", "python/determined");
    if (const auto libraries = directory / "determined_cpp.libs";
        fs::exists(libraries, failed))  // of a wheel
      take(libraries, "python/determined_cpp.libs");
    for (const auto& entry : fs::recursive_directory_iterator(directory / "determined", failed))
      if (entry.is_regular_file(failed) && entry.path().extension() != ".pyc")
        add(state,
            fmt::format("{} {} {}\n", entry.path().lexically_relative(directory).string(),
                        entry.file_size(failed), entry.last_write_time(failed).time_since_epoch().count()));
  }
  unsigned char hash[16];
  crypto_generichash_final(&state, hash, sizeof hash);
  name_ = DET_VERSION "-";
  for (int i = 0; i < 6; ++i) name_ += fmt::format("{:02x}", hash[i]);
  return {};
}

Result<std::string> PilotBundle::name() {
  if (name_.empty()) {
    if (const auto done = collect(); !done) return tl::unexpected(done.error());
  }
  return name_;
}

Result<std::string> PilotBundle::tar() {
  DET_TRY([[maybe_unused]] const auto name, this->name());
  DET_TRY(auto end,
          run_program({"tar", "-chf", "-", "--use-compress-program=gzip -1", "--exclude=__pycache__", "-C",
                       (scratch_ / "program").string(), "bin", "lib", "python"},
                      "", {}, std::chrono::seconds(120)));
  if (end.status != 0) return fail(ErrorCode::Unavailable, "cannot pack the program: {}", trim(end.err));
  return std::move(end.out);
}

}  // namespace det::master
