#include "det/det/paths.h"

#include <unistd.h>

#include <cstdlib>

namespace det::commands {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::filesystem::path program_directory() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path() : program.parent_path();
}

}  // namespace

std::filesystem::path default_directory() {
  if (const auto state = variable("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "determined";
  if (const auto home = variable("HOME"); !home.empty())
    return std::filesystem::path(home) / ".local/state/determined";
  return "determined";
}

std::string default_python() {
  if (auto python = variable("DET_PYTHON"); !python.empty()) return python;
  std::error_code failed;
  if (const auto beside = program_directory() / "python3"; std::filesystem::exists(beside, failed))
    return beside;
  if (const auto environment = variable("VIRTUAL_ENV"); !environment.empty())
    return environment + "/bin/python3";
  return "python3";
}

std::string default_cxx_program() {
  if (auto program = variable("DET_TRIAL_PROGRAM"); !program.empty()) return program;
  std::error_code failed;
  const auto beside = program_directory() / "det-trial";
  return std::filesystem::exists(beside, failed) ? beside.string() : std::string();
}

std::string default_python_path() {
  return variable("DET_PYTHON_PATH");
}

}  // namespace det::commands
