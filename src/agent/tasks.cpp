#include "det/agent/tasks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "det/agent/files.h"
#include "det/agent/idle.h"
#include "det/agent/prepare/account.h"
#include "det/agent/prepare/archive.h"
#include "det/agent/prepare/cxx.h"
#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/process.h"
#include "det/agent/shim/reuse.h"
#include "det/agent/shim/spool.h"
#include "det/base/json.h"

namespace det::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kModelsMax = 64;
constexpr const char* kHook = "startup-hook.sh";
constexpr const char* kReused = "reused";

Time wall_clock() {
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count()};
}

Result<void> done(std::optional<Error> error) {
  if (error) return tl::unexpected(*std::move(error));
  return {};
}

Result<void> make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return fail(ErrorCode::Unavailable, "cannot create the directory {}: {}", path.string(), error.message());
}

template <class T>
Result<T> read_json(const fs::path& path) {
  DET_TRY(const auto text, read_small_file(path));
  const auto value = json::parse(text).and_then([](const json::value& v) { return json::from_json<T>(v); });
  if (!value) return fail(ErrorCode::Internal, "{} is damaged: {}", path.string(), value.error().message());
  return *value;
}

}  // namespace

Tasks::~Tasks() {
  if (lock_ >= 0) ::close(lock_);
}

Result<void> Tasks::open() {
  for (const char* part : {"models", "tasks"})
    if (auto made = make_directory(state_dir_ / part); !made) return made;
  std::error_code error;
  fs::permissions(state_dir_, fs::perms::owner_all, error);
  const auto path = state_dir_ / "lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0)
    return fail(ErrorCode::Unavailable, "cannot open {}: {}", path.string(), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return failed_precondition(
        "another agent uses the directory {}; stop that agent, or give this one another directory with --dir",
        state_dir_.string());
  spare_.clear();
  return {};
}

Result<Memory> Tasks::read_memory() {
  DET_TRY(const auto content, memory_.read());
  auto memory = json::from_json<Memory>(content);
  if (!memory) return fail(ErrorCode::Internal, "agent.json is damaged: {}", memory.error().message());
  return *std::move(memory);
}

Result<void> Tasks::write_memory(const Memory& memory) {
  return memory_.write(json::to_json(memory).get_object());
}

Result<void> Tasks::write_lease(std::optional<Time> until) const {
  const ShimLease lease{until.value_or(Time{}).microseconds};
  return done(replace_file(state_dir_ / "lease", json::serialize(json::to_json(lease)), false));
}

Result<bool> Tasks::machine_restarted() const {
  DET_TRY(const auto now, read_small_file("/proc/sys/kernel/random/boot_id"));
  const auto before = read_small_file(state_dir_ / "boot");
  if (before && *before == now) return false;
  if (auto error = replace_file(state_dir_ / "boot", now, true)) return tl::unexpected(*std::move(error));
  return before.has_value();
}

std::optional<fs::path> Tasks::model(const std::string& digest) const {
  const auto path = state_dir_ / "models" / (digest + ".tar.gz");
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return path;
}

Result<void> Tasks::keep_model(const std::string& digest, const std::string& archive) const {
  if (auto error = replace_file(state_dir_ / "models" / (digest + ".tar.gz"), archive, false))
    return tl::unexpected(*std::move(error));
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state_dir_ / "models", error))
    kept.emplace_back(entry.last_write_time(error), entry.path());
  std::ranges::sort(kept);
  for (std::size_t i = 0; i + kModelsMax < kept.size(); ++i) fs::remove(kept[i].second, error);
  return {};
}

Result<void> Tasks::prepare(const api::DesiredAllocation& a, const AgentOptions& options,
                            const Machine& machine, const std::string& cluster_id,
                            const std::optional<ReusedProcess>& taken_over) const {
  std::error_code error;
  fs::remove_all(allocation(a.allocation_id), error);
  if (a.ranks() == 1) spare_.take(allocation(a.allocation_id), std::to_string(a.rank_start));
  const auto key = reuse_key(a);
  const auto directory = taken_over    ? taken_over->root
                         : key.empty() ? allocation(a.allocation_id)
                                       : state_dir_ / kReused / (random_hex() + random_hex());
  const auto work = directory / "work";
  if (auto made = make_directory(work); !made) return made;
  if (!a.model_definition.empty() && !taken_over) {
    const auto archive = model(a.model_definition);
    // Others that came meanwhile may have taken its place: it is fetched again.
    if (!archive)
      return fail(ErrorCode::Unavailable, "model definition {} was not downloaded", a.model_definition);
    if (auto unpacked = unpack(*archive, work); !unpacked)
      return tl::unexpected(std::move(unpacked.error()).within("model definition"));
  }
  Environment own = process_environment();
  const auto inherited = inherited_environment(own);
  ShimSpec spec;
  const bool cxx = a.framework == kCxxFramework;
  if (cxx) {
    if (auto ready = prepare_cxx(options, state_dir_); !ready) return ready;
    spec.command = {options.cxx_program};
  } else if (a.framework == api::kCommandFramework) {
    spec.command = a.command;
  } else if (a.framework == api::kPythonFramework) {
    spec.command = {options.python};
    spec.command.insert(spec.command.end(), a.command.begin(), a.command.end());
  } else {
    spec.command = {options.python};
    spec.command.insert(spec.command.end(), options.trial_command.begin(), options.trial_command.end());
  }
  spec.working_directory = a.work_dir.empty() ? work.string() : a.work_dir;
  if (!a.work_dir.empty() && !fs::is_directory(a.work_dir, error))
    return invalid_argument(
        "work_dir is {}, which is not a directory on the machine of agent {}; create it there, or change "
        "work_dir",
        a.work_dir, options.agent_id);
  spec.shared_directory = directory;
  if (!key.empty()) {
    spec.reuse = key;
    spec.reuse_socket = state_dir_ / kReuseSocket;
    spec.reuse_root = directory;
    if (taken_over) spec.process_of = taken_over->started_for;
  }
  if (fs::is_regular_file(work / kHook, error)) {
    spec.startup_hook = work / kHook;
    if (!a.reuse) spec.reuse.clear();  // It runs before every trial.
    if (!cxx) {
      spec.hook_python = options.python;
      spec.hook_packages = directory / "packages";
      if (auto made = make_directory(spec.hook_packages); !made) return made;
    }
  }
  spec.isolation = isolation_for(a, options, machine);
  spec.hide = fs::canonical(state_dir_, error);
  spec.show = {fs::canonical(work, error)};
  if (!spec.hook_packages.empty()) spec.show.push_back(fs::canonical(spec.hook_packages, error));
  const auto slots_of_each =
      std::max<std::size_t>(a.slot_ids.size() / static_cast<std::size_t>(a.ranks()), 1);
  spec.memory_bytes_max = options.memory_per_slot * static_cast<std::int64_t>(slots_of_each);
  spec.pids_max = options.pids_per_slot.value_or(machine.pids_per_slot);
  spec.grace_seconds = a.grace_seconds;
  if (options.on_disconnect == OnDisconnect::Stop) spec.lease = state_dir_ / "lease";
  if (cxx) spec.show.push_back(fs::canonical(cxx_cache(state_dir_), error));
  for (int i = 0; i < a.ranks(); ++i) {
    const int number = a.rank_start + i;
    spec.environment = task_environment(a, number, options, machine, cluster_id, work, inherited);
    if (cxx) spec.environment.try_emplace("DET_CXX_CACHE", spec.show.back());  // may be a link to elsewhere
    // Two clusters on one machine may give equal ids to equal experiments: both are made unique.
    spec.environment[kMark] = random_hex() + random_hex();
    spec.cgroup = fmt::format("det-{}-{}", a.allocation_id, number);
    if (auto made = make_directory(rank(a.allocation_id, number)); !made) return made;
    fs::permissions(rank(a.allocation_id, number), fs::perms::owner_all, error);
    if (a.run_as)
      if (auto ready = run_as(*a.run_as, state_dir_, work, spec); !ready) return ready;
    if (auto failure = replace_file(rank(a.allocation_id, number) / "spec.json",
                                    json::serialize(json::to_json(spec)), false))
      return tl::unexpected(*std::move(failure));
  }
  return {};
}

Result<void> Tasks::lay_ticket(const std::string& id, int number) const {
  return done(replace_file(rank(id, number) / "start", "", false));
}

bool Tasks::take_ticket(const std::string& id, int number) const {
  const auto directory = rank(id, number);
  return ::rename((directory / "start").c_str(), (directory / "cancelled").c_str()) == 0;
}

FoundRank Tasks::look(const std::string& id, int number) const {
  FoundRank found;
  const auto directory = rank(id, number);
  const auto shim = read_json<ShimState>(directory / "shim.json");
  if (shim) found.shim = *shim;
  // Asked before exit.json is: a shim that ends in between has written it.
  const bool lives = shim && process_start_time(shim->pid) == shim->startTime && process_alive(shim->pid);
  std::error_code error;
  if (auto exit = read_json<ShimExit>(directory / "exit.json")) {
    found.exit = *std::move(exit);
    found.state = FoundRank::State::Ended;
  } else if (shim) {
    found.state = lives ? FoundRank::State::Running : FoundRank::State::Killed;
  } else if (fs::exists(directory / "started", error)) {
    found.state = FoundRank::State::Beginning;
  } else if (fs::exists(directory / "start", error)) {
    found.state = FoundRank::State::Waiting;
  }
  return found;
}

ShimSpec Tasks::spec(const std::string& id, int number) const {
  auto spec = read_json<ShimSpec>(rank(id, number) / "spec.json");
  return spec ? *std::move(spec) : ShimSpec{};
}

std::string Tasks::mark(const std::string& id, int number) const {
  const auto environment = spec(id, number).environment;
  const auto found = environment.find(kMark);
  return found == environment.end() ? "" : found->second;
}

Result<void> Tasks::write_exit(const std::string& id, int number, int code, int signal,
                               const std::string& reason) const {
  const auto directory = rank(id, number);
  if (auto made = make_directory(directory); !made) return made;
  const auto now = wall_clock();
  if (!reason.empty() && !fs::exists(directory / "stderr.0")) {
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SpoolWriter(fd, "stderr").append(now, "[determined] " + reason + "\n");
    ::close(fd);
  }
  ShimExit exit;
  exit.code = code;
  exit.signal = signal;
  exit.reason = reason;
  exit.time = now;
  return done(replace_file(directory / "exit.json", json::serialize(json::to_json(exit)), true));
}

std::set<std::string> Tasks::allocations() const {
  std::set<std::string> ids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state_dir_ / "tasks", error))
    ids.insert(entry.path().filename().string());
  return ids;
}

void Tasks::remove_root(const fs::path& root) const {
  const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  std::error_code error;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(root, error);  // Its shim holds a lock.
  ::close(fd);
}

void Tasks::remove_forgotten_roots() const {
  std::set<fs::path> named;
  std::error_code error;
  for (const auto& id : allocations())
    for (const auto& entry : fs::directory_iterator(allocation(id), error))
      if (const auto spec = read_json<ShimSpec>(entry.path() / "spec.json")) named.insert(spec->reuse_root);
  for (const auto& entry : fs::directory_iterator(state_dir_ / kReused, error))
    if (!named.contains(entry.path())) remove_root(entry.path());
}

Result<void> Tasks::remove(const std::string& id) const {
  const auto directory = allocation(id);
  std::error_code error;
  std::vector<fs::path> roots;
  bool running = false;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto shim = read_json<ShimState>(entry.path() / "shim.json");
    const auto spec = read_json<ShimSpec>(entry.path() / "spec.json");
    if (spec && !spec->reuse_root.empty()) roots.push_back(spec->reuse_root);
    const bool ended = fs::exists(entry.path() / "exit.json", error);
    running = running || !ended;
    // A process that may be reused has nothing to do with a task that has ended.
    if (!shim || (!roots.empty() && ended)) continue;
    kill_process(shim->pid, shim->startTime);
    for (const auto& path : shim->groups) end_cgroup(path);
  }
  for (const auto& root : roots) remove_root(root);
  if (!running && spare_.keep(directory)) return {};
  fs::remove_all(directory, error);
  if (error) return fail(ErrorCode::Unavailable, "cannot delete {}: {}", directory.string(), error.message());
  return {};
}

}  // namespace det::agent
