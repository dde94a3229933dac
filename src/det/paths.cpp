#include "det/det/paths.h"

#include <unistd.h>

#include "det/checkpoint/environment.h"

namespace det::commands {
namespace {

std::filesystem::path program_directory() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path() : program.parent_path();
}

}  // namespace

std::filesystem::path default_directory() {
  if (const auto state = environment_variable("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "determined";
  if (const auto home = environment_variable("HOME"); !home.empty())
    return std::filesystem::path(home) / ".local/state/determined";
  return "determined";
}

void find_programs_of_wheel() {
  const auto packages = program_directory().parent_path();
  if (packages.filename() != "site-packages" && packages.filename() != "dist-packages") return;
  const auto programs = packages.parent_path().parent_path().parent_path() / "bin";
  constexpr std::pair<const char*, const char*> kVariables[] = {{"DET_PYTHON", "python3"},
                                                                {"DET_TRIAL_PROGRAM", "det-trial"}};
  std::error_code failed;
  for (const auto& [variable, name] : kVariables)
    if (const auto program = programs / name; std::filesystem::exists(program, failed))
      ::setenv(variable, program.c_str(), 0);
}

std::string default_python() {
  if (auto python = environment_variable("DET_PYTHON"); !python.empty()) return python;
  std::error_code failed;
  if (const auto beside = program_directory() / "python3"; std::filesystem::exists(beside, failed))
    return beside;
  if (const auto environment = environment_variable("VIRTUAL_ENV"); !environment.empty())
    return environment + "/bin/python3";
  return "python3";
}

std::string default_cxx_program() {
  if (auto program = environment_variable("DET_TRIAL_PROGRAM"); !program.empty()) return program;
  std::error_code failed;
  const auto beside = program_directory() / "det-trial";
  return std::filesystem::exists(beside, failed) ? beside.string() : std::string();
}

std::string default_python_path() {
  return environment_variable("DET_PYTHON_PATH");
}

}  // namespace det::commands
