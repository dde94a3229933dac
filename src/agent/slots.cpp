#include "det/agent/slots.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/shim.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

constexpr int kSlotsMax = 1024;
constexpr std::int64_t kPidsMin = 1024;
constexpr std::int64_t kPidsMax = 16384;

std::string cpu_brand() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(':'); colon != std::string::npos)
        return std::string(trim(line.substr(colon + 1)));
  return "CPU";
}

bool has_nvidia_devices() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const auto name = entry.path().filename().string();
    if (name.size() > 6 && name.starts_with("nvidia") &&
        std::ranges::all_of(name.substr(6), [](char c) { return c >= '0' && c <= '9'; }))
      return true;
  }
  return false;
}

std::string output_of(const char* command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command, "re"), ::pclose);
  std::string text;
  char buffer[4096];
  if (pipe)
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;)
      text.append(buffer, got);
  return text;
}

int usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

/// The first address that other machines may know; the loopback where there is none.
std::string own_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const auto* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) return text;
  }
  return "127.0.0.1";
}

}  // namespace

std::vector<api::SlotReport> parse_gpus(std::string_view text) {
  std::vector<api::SlotReport> slots;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(line, ',');
    if (fields.size() < 3) continue;
    api::SlotReport slot;
    const auto index = trim(fields[0]);
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), slot.id);
    if (error != std::errc{} || end != index.data() + index.size() || slot.id < 0) continue;
    slot.type = "cuda";
    slot.brand = trim(fields[1]);
    slot.uuid = trim(fields[2]);
    if (!slot.uuid.starts_with("GPU-") && !slot.uuid.starts_with("MIG-")) continue;
    slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<api::SlotReport> detect_slots(std::optional<int> wanted) {
  if (!wanted && has_nvidia_devices())
    if (auto gpus =
            parse_gpus(output_of("nvidia-smi --query-gpu=index,name,uuid --format=csv,noheader 2>/dev/null"));
        !gpus.empty())
      return gpus;
  std::vector<api::SlotReport> slots;
  const auto brand = cpu_brand();
  for (int i = 0; i < std::clamp(wanted.value_or(1), 0, kSlotsMax); ++i) {
    auto& slot = slots.emplace_back();
    slot.id = i;
    slot.brand = brand;
    slot.uuid = fmt::format("cpu-{}", i);
  }
  return slots;
}

std::int64_t default_pids_per_slot(std::size_t slots) {
  std::int64_t kernel = 32768;
  for (const char* path : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"})
    if (std::int64_t number = 0; std::ifstream(path) >> number && number > 0)
      kernel = path == std::string_view("/proc/sys/kernel/pid_max") ? number : std::min(kernel, number);
  const auto share = kernel / 2 / static_cast<std::int64_t>(std::max<std::size_t>(slots, 1));
  return std::clamp(share, kPidsMin, kPidsMax);
}

std::vector<std::string> unmet(const AgentOptions& options, const Machine& machine) {
  const auto allows = [&](const char* step) {
    return options.isolate && std::ranges::find(machine.isolation, step) != machine.isolation.end();
  };
  const auto why = options.isolate ? "the agent may not create control groups on this machine"
                                   : "control groups are off (--no-isolation)";
  std::vector<std::string> sentences;
  if (options.memory_per_slot > 0 && !allows("memory"))
    sentences.push_back(fmt::format("the memory limit of {} per slot is not enforced: {}",
                                    bytes_text(options.memory_per_slot), why));
  if (options.pids_per_slot.value_or(0) > 0 && !allows("processes"))
    sentences.push_back(
        fmt::format("the limit of {} processes per slot is not enforced: {}", *options.pids_per_slot, why));
  return sentences;
}

Machine detect_machine(const AgentOptions& options) {
  Machine machine;
  char name[256] = {};
  machine.hostname = ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
  if (const auto* account = ::getpwuid(::geteuid())) machine.user = account->pw_name;
  machine.cores = usable_cores();
  machine.slots = detect_slots(options.slots);
  machine.pids_per_slot = default_pids_per_slot(machine.slots.size());
  if (options.isolate) hand_on_controllers();
  if (options.isolate) machine.isolation = isolation_that_works();
  machine.address = options.advertised_address.empty() ? own_address() : options.advertised_address;
  return machine;
}

std::string describe(const Machine& machine) {
  std::string text = fmt::format("{}: {} cores, {} slot{}\n", machine.hostname, machine.cores,
                                 machine.slots.size(), machine.slots.size() == 1 ? "" : "s");
  for (const auto& slot : machine.slots)
    text += fmt::format("  slot {}: {} {} ({})\n", slot.id, slot.type, slot.brand, slot.uuid);
  std::string works;
  std::string missing;
  for (const char* step : kIsolationSteps) {
    const bool has = std::ranges::find(machine.isolation, step) != machine.isolation.end();
    auto& list = has ? works : missing;
    list += (list.empty() ? "" : ", ") + std::string(step);
  }
  text += "task isolation: " + (works.empty() ? "none" : works) + "\n";
  if (!missing.empty()) text += "task isolation not available on this machine: " + missing + "\n";
  return text;
}

}  // namespace det::agent
