#include "det/det/doctor/checks.h"

#include <fmt/format.h>

#include <cstdio>

namespace det::commands::doctor {
namespace {

constexpr const char* kPackage = "determined-cpp";

bool older_than_3_9(const std::string& version) {
  int major = 0, minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 &&
         (major < 3 || (major == 3 && minor < 9));
}

Check python_of(const Facts& facts) {
  if (!facts.python_error.empty())
    return {"Python", Verdict::Problem, fmt::format("{} does not run: {}", facts.python, facts.python_error),
            "install Python 3.9 or later, or name one: export DET_PYTHON=/path/to/python3"};
  const auto found = fmt::format("{} ({})", facts.python_version, facts.python);
  if (older_than_3_9(facts.python_version))
    return {"Python", Verdict::Problem, found,
            "trials need Python 3.9 or later: export DET_PYTHON=/path/to/python3"};
  return {"Python", Verdict::Ok, found, ""};
}

Check package_of(const Facts& facts) {
  if (facts.package_version.empty())
    return {"determined", Verdict::Problem, "not installed in this Python",
            fmt::format("{} -m pip install {}=={}", facts.python, kPackage, facts.version)};
  if (facts.package_version != facts.version)
    return {"determined", Verdict::Problem,
            fmt::format("{}, but this program is {}", facts.package_version, facts.version),
            fmt::format("{} -m pip install {}=={}", facts.python, kPackage, facts.version)};
  return {"determined", Verdict::Ok, facts.package_version, ""};
}

Check torch_of(const Facts& facts) {
  const auto install = fmt::format("{} -m pip install '{}[torch]'", facts.python, kPackage);
  if (facts.torch_version.empty() && facts.tensorflow_version.empty())
    return {"PyTorch", Verdict::Problem, "not installed in this Python", install};
  if (facts.torch_version.empty())
    return {"PyTorch", Verdict::Note,
            fmt::format("not installed in this Python (TensorFlow {} is)", facts.tensorflow_version),
            install};
  return {"PyTorch", Verdict::Ok, facts.torch_version, ""};
}

Check gpus_of(const Facts& facts) {
  if (facts.gpus == 0) return {"GPUs", Verdict::Ok, "none: trials train on the processor", ""};
  const auto found = fmt::format("{}", facts.gpus);
  if (facts.torch_sees_gpu == false)
    return {"GPUs", Verdict::Problem, found + ", which PyTorch cannot use",
            "install a PyTorch that is built for the CUDA version of the driver (nvidia-smi shows it)"};
  return {"GPUs", Verdict::Ok, found, ""};
}

Check program_of(const char* name, const std::string& path, const char* needed_for, const char* package) {
  if (!path.empty()) return {name, Verdict::Ok, path, ""};
  return {name, Verdict::Note, fmt::format("not found; only {} needs it", needed_for),
          fmt::format("apt-get install {}", package)};
}

Check port_of(const Facts& facts) {
  const auto name = fmt::format("port {}", facts.port);
  if (facts.port_user.empty()) return {name, Verdict::Ok, "free", ""};
  if (facts.port_user.starts_with("a Determined master"))
    return {name, Verdict::Ok, facts.port_user + " answers", ""};
  return {name, Verdict::Problem, "used by " + facts.port_user,
          fmt::format("det up --port {}, and export DET_MASTER=http://localhost:{}", facts.port + 1,
                      facts.port + 1)};
}

Check disk_of(const Facts& facts) {
  if (!facts.directory_error.empty())
    return {"disk", Verdict::Problem,
            fmt::format("cannot write to {}: {}", facts.directory, facts.directory_error),
            "det up --dir DIRECTORY"};
  const auto found = fmt::format("{:.1f} GB free for {}", facts.free_gb, facts.directory);
  if (facts.free_gb < 1)
    return {"disk", Verdict::Problem, found, "checkpoints need room: det up --dir DIRECTORY"};
  if (facts.free_gb < 10)
    return {"disk", Verdict::Note, found, "checkpoints need room: det up --dir DIRECTORY"};
  return {"disk", Verdict::Ok, found, ""};
}

Check shared_memory_of(const Facts& facts) {
  const auto found = fmt::format("{:.1f} GB", facts.shared_memory_gb);
  if (facts.shared_memory_gb >= 0.5) return {"/dev/shm", Verdict::Ok, found, ""};
  return {"/dev/shm", Verdict::Note, found + ": data loaders with workers may run out of shared memory",
          "mount -o remount,size=2G /dev/shm"};
}

Check storage_of(const Facts& facts) {
  if (facts.storage_error.empty())
    return {"storage", Verdict::Ok, facts.storage + ": a file was written, read and deleted", ""};
  return {"storage", Verdict::Problem, facts.storage_error,
          fmt::format("correct checkpoint_storage in {}, or the account's rights there", facts.config_file)};
}

}  // namespace

std::vector<Check> checks_of(const Facts& facts) {
  std::vector<Check> checks = {python_of(facts)};
  if (facts.python_error.empty()) {
    checks.push_back(package_of(facts));
    checks.push_back(torch_of(facts));
  }
  checks.push_back(gpus_of(facts));
  checks.push_back(program_of("compiler", facts.compiler, "a trial in C++", "g++"));
  checks.push_back(program_of("git", facts.git, "det experiment create --git", "git"));
  checks.push_back(program_of("sshd", facts.sshd, "det shell", "openssh-server"));
  checks.push_back(port_of(facts));
  checks.push_back(disk_of(facts));
  checks.push_back(shared_memory_of(facts));
  if (!facts.config_file.empty()) checks.push_back(storage_of(facts));
  if (!facts.master.empty()) {
    if (facts.master_version.empty())
      checks.push_back({"master", Verdict::Problem, fmt::format("nobody answers at {}", facts.master),
                        "start one with det up, or correct DET_MASTER"});
    else
      checks.push_back(
          {"master", Verdict::Ok, fmt::format("{} at {}", facts.master_version, facts.master), ""});
  }
  return checks;
}

}  // namespace det::commands::doctor
