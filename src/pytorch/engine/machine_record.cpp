#include "det/pytorch/engine/machine_record.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "det/base/text.h"
#include "det/pytorch/compile/build.h"
#include "det/pytorch/compile/source.h"
#include "det/pytorch/compile/toolchain.h"
#include "det/pytorch/engine/process.h"
#include "det/pytorch/program/sdk.h"
#include "det/version.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kValueMax = 1000;
/// Settings of libraries; other variables may hold secrets.
constexpr std::array kVariables = {"OMP_",  "MKL_",   "OPENBLAS_", "NCCL_",    "GLOO_",  "CUBLAS_",
                                   "CUDA_", "CUDNN_", "TORCH_",    "PYTORCH_", "MALLOC_"};

/// `name: value` lines; the first of a name counts.
std::map<std::string, std::string> fields(const fs::path& path, char separator) {
  std::map<std::string, std::string> found;
  for (const auto& line : split(read_file(path), '\n')) {
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value(trim(std::string_view(line).substr(at + 1)));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    found.emplace(trim(std::string_view(line).substr(0, at)), std::move(value));
  }
  return found;
}

json::object versions(const TorchFacts& facts) {
  json::object found;
  found["determined"] = DET_VERSION;
  found["torch"] = torch_version();
  found["cuda"] = facts.cuda ? json::value(*facts.cuda) : json::value();
  found["cudnn"] = facts.cudnn ? json::value(*facts.cudnn) : json::value();
  const auto toolchain = Toolchain::find(own_sdk(), [](const char* name) { return std::getenv(name); });
  std::error_code error;
  if (toolchain) found["compiler"] = fs::canonical(toolchain->compiler, error).string();
  return found;
}

json::object operating_system() {
  json::object system;
  utsname names{};
  if (::uname(&names) == 0) {
    system["kernel"] = fmt::format("{} {}", names.sysname, names.release);
    system["machine"] = names.machine;
  }
  auto release = fields("/etc/os-release", '=');
  if (const auto& name = release["PRETTY_NAME"]; !name.empty()) system["name"] = name;
  system["libc"] = fmt::format("glibc {}", ::gnu_get_libc_version());
  return system;
}

/// The GPUs of this machine, by what the driver says of them.
json::array gpus() {
  json::array found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    auto facts = fields(entry.path() / "information", ':');
    json::object gpu;
    gpu["name"] = facts["Model"];
    found.emplace_back(std::move(gpu));
  }
  return found;
}

json::object hardware() {
  json::object found;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) found["hostname"] = std::string(host.data());
  auto cpu = fields("/proc/cpuinfo", ':');
  found["cpu"] = cpu["model name"].empty() ? cpu["Processor"] : cpu["model name"];
  found["cores"] = std::thread::hardware_concurrency();
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) found["usable_cores"] = CPU_COUNT(&usable);
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  if (pages > 0) found["memory_bytes"] = std::int64_t{pages} * ::sysconf(_SC_PAGESIZE);
  found["gpus"] = gpus();
  const std::string driver(trim(read_file("/sys/module/nvidia/version")));
  found["gpu_driver"] = driver.empty() ? json::value() : json::value(driver);
  return found;
}

json::object switches(const TorchFacts& facts) {
  json::object found;
  for (const auto& [name, value] : facts.switches)
    std::visit([&found, &name = name](const auto& held) { found[name] = held; }, value);
  return found;
}

json::object variables() {
  std::map<std::string, std::string> chosen;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    const auto known = [&](const char* prefix) { return entry.starts_with(prefix); };
    if (equals == std::string_view::npos || entry.size() - equals > kValueMax) continue;
    if (entry.starts_with("LD_PRELOAD=") || std::ranges::any_of(kVariables, known))
      chosen.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  json::object found;
  for (auto& [name, value] : chosen) found[name] = std::move(value);
  return found;
}

/// The shared libraries that this process has loaded, by the names of their files, which have the versions.
/// The model definition's own is not called lib….
json::array libraries() {
  std::set<std::string> names;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* kept) {
        std::error_code error;
        const auto real = fs::canonical(info->dlpi_name, error).filename().string();
        if (!error && real.starts_with("lib")) static_cast<std::set<std::string>*>(kept)->insert(real);
        return 0;
      },
      &names);
  json::array found;
  for (const auto& name : names) found.emplace_back(name);
  return found;
}

}  // namespace

json::object machine_record() {
  const auto facts = torch_facts();
  json::object record;
  record["language"] = "c++";
  record["versions"] = versions(facts);
  record["os"] = operating_system();
  record["hardware"] = hardware();
  record["switches"] = switches(facts);
  record["variables"] = variables();
  record["packages"] = libraries();
  return record;
}

}  // namespace det::pytorch
