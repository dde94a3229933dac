// The processes of the daemon: starting them, finding them again, seeing them end.
#include "det/logging/log.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "det/agent/daemon.h"
#include "det/agent/files.h"
#include "det/agent/prepare/cxx.h"
#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/init.h"

namespace det::agent {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReportRetryMin{200};
constexpr milliseconds kReportRetryMax{5'000};
constexpr int kBeginLooks = 400;  // Of 10 ms: how long a shim may take to say who it is.
constexpr int kEndLooks = 500;    // Of 10 ms: how long the kernel may take to end a killed task.

std::vector<int> ranks_of(int first, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i);
  return ranks;
}

asio::awaitable<void> rest(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

Result<bool> yes(bool value) {
  return value;
}

}  // namespace

Daemon::TaskPtr Daemon::add_task(const std::string& id) {
  return live_[id] = std::make_shared<Task>(executor_, id);
}

void Daemon::signal(const std::string& id, int number) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  auto& task = *found->second;
  task.stopping = true;
  if (number == SIGKILL && !task.forcing) {
    // First the shims do it, who let the task say where it hangs; when asked again, the kernel does.
    task.forcing = true;
    number = kForce;
  }
  task.killing = task.killing || number == SIGKILL;
  for (auto& [rank, process] : task.running) process.signal(number);
  task.news.ring();
}

asio::awaitable<void> Daemon::start(TaskPtr task, api::DesiredAllocation wanted) {
  const auto ranks = ranks_of(wanted.rank_start, wanted.ranks());
  if (wanted.framework == kCxxFramework) start_cxx_worker();
  const auto idle = idle_.take(reuse_key(wanted));
  if (!idle) co_await idle_.clear(wanted.slot_ids);
  const auto taken_over = idle ? std::optional(idle->process) : std::nullopt;
  const auto prepared = co_await prepare(task, wanted, taken_over);
  while (may_start_ < task->revision) co_await task->news.wait();
  if (prepared && !idle) co_await wait_for_warm_worker(task, wanted.framework);
  bool used = false;
  for (const int rank : ranks) {
    if (!prepared) {
      co_await give_up(task, rank, 1, 0, "cannot start the task: " + prepared.error().message());
    } else if (task->stopping) {
      co_await give_up(task, rank, 128 + SIGTERM, SIGTERM, "stopped before it started");
    } else {
      // A process that waits for its next task waits for this one rename, too, and not for the pool.
      const auto laid = idle ? tasks_.lay_ticket(task->id, rank) : co_await lay_ticket(task->id, rank);
      used = idle && laid;
      if (used)
        coroutines_.spawn(take_over(task, wanted, idle));
      else if (laid)
        co_await launch(task, rank, wanted.framework);
      else
        co_await give_up(task, rank, 1, 0, "cannot start the task: " + laid.error().message());
    }
  }
  if (idle && !used) idle_.keep(idle);
  if (prepared)
    happened([this, id = task->id, process_of = taken_over ? taken_over->started_for : ""] {
      return reconciler_->running(id, process_of);
    });
  coroutines_.spawn(ship(task, ranks));
}

asio::awaitable<Result<void>> Daemon::prepare(TaskPtr task, api::DesiredAllocation wanted,
                                              std::optional<ReusedProcess> taken_over) {
  // The master may be away just now, or the disk full: neither is the trial's fault.
  for (auto pause = kReportRetryMin;; pause = std::min(pause * 2, kReportRetryMax)) {
    if (task->stopping) co_return Result<void>();
    Result<void> result;
    if (!wanted.model_definition.empty() && !tasks_.model(wanted.model_definition))
      result = co_await fetch_model(wanted.model_definition);
    if (result) {
      const auto cluster = reconciler_->memory().cluster_id;
      auto options = options_;
      options.leader_url = client_.url().text();
      auto work = [this, wanted, cluster, options = std::move(options), taken_over] {
        return tasks_.prepare(wanted, options, machine_, cluster, taken_over);
      };
      result = co_await on_pool(pool_, std::move(work));
      if (result) co_return result;
    }
    if (result.error().code() != ErrorCode::Unavailable) co_return result;
    logging::warn("cannot start {} yet, retrying: {}", task->id, result.error().message());
    co_await task->news.wait(pause);
  }
}

/// Trials that begin together need the same one: it is fetched once.
asio::awaitable<Result<void>> Daemon::fetch_model(std::string digest) {
  while (!fetching_.insert(digest).second) co_await rest(milliseconds(10));
  Result<void> result;
  if (!tasks_.model(digest)) {
    auto fetched = download_model(digest);
    result = co_await std::move(fetched);
  }
  fetching_.erase(digest);
  co_return result;
}

asio::awaitable<void> Daemon::give_up(TaskPtr task, int rank, int code, int signal, std::string reason) {
  ShimExit exit;
  exit.code = code;
  exit.signal = signal;
  exit.reason = std::move(reason);
  auto work = [this, id = task->id, rank, exit] {
    return tasks_.write_exit(id, rank, exit.code, exit.signal, exit.reason);
  };
  const auto written = co_await on_pool(pool_, std::move(work));
  if (!written) logging::error("{}", written.error().message());
  rank_ended(task, rank, exit);
}

void Daemon::rank_ended(const TaskPtr& task, int rank, const ShimExit& exit) {
  task->running.erase(rank);
  task->ended.insert(rank);
  task->news.ring();
  logging::info(
      "{} rank {} exited with {}{}", task->id, rank,
      exit.signal != 0 ? fmt::format("signal {}", exit.signal) : fmt::format("status {}", exit.code),
      exit.reason.empty() ? "" : ": " + exit.reason);
  api::RankExit report;
  report.rank = rank;
  report.code = exit.code;
  report.signal = exit.signal;
  report.reason = exit.reason;
  if (exit.lapsed && (exit.code != 0 || exit.signal != 0)) {
    report.code = api::kLostStatus;  // The shim ended it for want of a master: not the task's failure.
    report.signal = 0;
  }
  const bool sent_away = exit.signal == SIGTERM || exit.signal == SIGKILL;
  if (!options_.leaving->empty() && sent_away) {
    report.code = api::kLostStatus;  // The engine ends all processes of a machine that it takes back.
    report.signal = 0;
  }
  happened([this, id = task->id, report] { return reconciler_->exited(id, report, boot_time()); });
}

asio::awaitable<Result<void>> Daemon::lay_ticket(std::string id, int rank) {
  auto work = [this, id = std::move(id), rank] { return tasks_.lay_ticket(id, rank); };
  co_return co_await on_pool(pool_, std::move(work));
}

/// Before a ticket is laid: who is stopped or killed meanwhile has not started.
asio::awaitable<void> Daemon::wait_for_warm_worker(TaskPtr task, std::string framework) {
  const auto warm = warm_.find(framework);
  if (warm == warm_.end()) co_return;
  bool told = false;
  while (!task->stopping) {
    const auto state = warm->second->state();
    if (how_to_start(state, options_.warm_patience) != TrialStart::Wait) co_return;
    if (!std::exchange(told, true))
      logging::info("{} waits for the warm worker for {}, which started {} ms ago", task->id, framework,
                    state.starting->count());
    co_await task->news.wait(options_.warm_patience - *state.starting);
  }
}

asio::awaitable<void> Daemon::launch(TaskPtr task, int rank, std::string framework) {
  const auto directory = tasks_.rank(task->id, rank);
  if (const auto warm = warm_.find(framework); warm != warm_.end()) {
    if (warm->second->state().ready) {
      const auto pid = co_await warm->second->start(directory);
      if (pid) {
        coroutines_.spawn(watch(task, rank, *pid, std::nullopt));
        co_return;
      }
      logging::warn("{} rank {} starts without a warm worker: {}", task->id, rank, pid.error().message());
      if (!tasks_.take_ticket(task->id, rank)) {  // It was forked after all.
        coroutines_.spawn(adopt_rank(task, rank));
        co_return;
      }
      const auto laid = co_await lay_ticket(task->id, rank);
      if (!laid)
        co_return co_await give_up(task, rank, 1, 0, "cannot start the task: " + laid.error().message());
    } else {
      logging::info("{} rank {} starts without a warm worker: the worker for {} is not ready", task->id, rank,
                    framework);
    }
  }
  auto command = options_.shim_command;
  command.push_back(directory);
  const auto pid = start_detached(command);
  if (pid)
    coroutines_.spawn(watch(task, rank, *pid, std::nullopt));
  else if (tasks_.take_ticket(task->id, rank))
    co_await give_up(task, rank, 127, 0, pid.error().message());
}

asio::awaitable<void> Daemon::watch(TaskPtr task, int rank, pid_t pid,
                                    std::optional<std::int64_t> start_time) {
  co_await wait_for_end(task, rank, pid, start_time);
  co_await settle(task, rank);
}

/// Runs the only rank of `wanted` in a process that has run another task. Where that has ended meanwhile, and
/// its files with it, the task gets its own.
asio::awaitable<void> Daemon::take_over(TaskPtr task, api::DesiredAllocation wanted, IdleProcessPtr process) {
  const int rank = wanted.rank_start;
  logging::info("starting {} in process {}, which has run another trial", task->id, process->shim.pid());
  if (IdleProcesses::give(process, tasks_.rank(task->id, rank)))
    co_await wait_for_end(task, rank, process->shim.pid(), process->start_time);
  if (task->stopping || tasks_.look(task->id, rank).state != FoundRank::State::Waiting)
    co_return co_await settle(task, rank);
  auto remove = [this, root = process->process.root] {
    tasks_.remove_root(root);
    return yes(true);
  };
  co_await on_pool(pool_, std::move(remove));
  const std::optional<ReusedProcess> none;
  auto prepared = co_await prepare(task, wanted, none);
  if (prepared) prepared = co_await lay_ticket(task->id, rank);
  if (prepared)
    co_await launch(task, rank, wanted.framework);
  else
    co_await give_up(task, rank, 1, 0, "cannot start the task: " + prepared.error().message());
}

/// A shim has finished, and offers its process.
std::optional<IdleProcesses::Kind> Daemon::offered(const std::filesystem::path& directory, pid_t shim) {
  const auto id = directory.parent_path().filename().string();
  const auto rank = static_cast<int>(std::strtol(directory.filename().c_str(), nullptr, 10));
  const auto task = live_.find(id);
  if (task == live_.end() || task->second->stopping || tasks_.rank(id, rank) != directory)
    return std::nullopt;
  const auto process = task->second->running.find(rank);
  const auto remembered = reconciler_->memory().allocations.find(id);
  if (process == task->second->running.end() || process->second.pid() != shim ||
      remembered == reconciler_->memory().allocations.end())
    return std::nullopt;
  const auto spec = tasks_.spec(id, rank);
  if (spec.reuse.empty() || !std::filesystem::exists(directory / "exit.json")) return std::nullopt;
  process->second.let_go();  // watch() reads how the task ended.
  return IdleProcesses::Kind{spec.reuse,
                             remembered->second.slot_ids,
                             {spec.reuse_root, spec.process_of.empty() ? id : spec.process_of}};
}

asio::awaitable<void> Daemon::wait_for_end(TaskPtr task, int rank, pid_t pid,
                                           std::optional<std::int64_t> start_time) {
  auto process = Process::open(executor_, pid, start_time);
  if (process) {
    auto [at, fresh] = task->running.insert_or_assign(rank, *std::move(process));
    if (task->stopping) at->second.signal(task->killing ? SIGKILL : task->forcing ? kForce : SIGTERM);
    co_await at->second.ended();
  } else if (process.error().code() != ErrorCode::NotFound) {
    // No descriptors left, most likely: look at it from time to time instead.
    logging::error("{} rank {}: {}", task->id, rank, process.error().message());
    while (process_alive(pid)) co_await rest(milliseconds(200));
  }
}

/// The shim has ended: what became of the rank?
asio::awaitable<void> Daemon::settle(TaskPtr task, int rank) {
  auto found = tasks_.look(task->id, rank);
  if (found.state == FoundRank::State::Ended) co_return rank_ended(task, rank, found.exit);
  if (tasks_.take_ticket(task->id, rank)) {
    if (task->stopping)
      co_return co_await give_up(task, rank, 128 + SIGTERM, SIGTERM, "stopped before it started");
    co_return co_await give_up(
        task, rank, 127, 0,
        "cannot start the task: " + options_.shim_command.front() + " exited immediately");
  }
  // Killed. Its slot is free only when nothing of the task is left.
  for (int i = 0; i < kEndLooks && found.shim.taskPid > 0 && process_alive(found.shim.taskPid); ++i)
    co_await rest(milliseconds(10));
  auto clean = [this, groups = found.shim.groups, id = task->id, rank] {
    for (const auto& path : groups) end_cgroup(path);
    end_processes_of(tasks_.mark(id, rank));
    return yes(true);
  };
  const auto cleaned = co_await on_pool(pool_, std::move(clean));
  ShimExit exit;
  exit.signal = task->stopping && !task->forcing ? SIGTERM : SIGKILL;
  exit.code = 128 + exit.signal;
  if (!task->stopping || !cleaned) exit.reason = "the process that supervises the task (det shim) was killed";
  rank_ended(task, rank, exit);
}

asio::awaitable<Result<void>> Daemon::adopt_all() {
  auto work = [this] { return tasks_.machine_restarted(); };
  auto restarted = co_await on_pool(pool_, std::move(work));
  if (!restarted) co_return tl::unexpected(restarted.error());
  const auto memory = reconciler_->memory();
  for (const auto& [id, remembered] : memory.allocations) co_await adopt(id, remembered, *restarted);
  for (const auto& id : tasks_.allocations()) {
    if (memory.allocations.contains(id)) continue;
    auto work = [this, id] { return tasks_.remove(id); };
    const auto removed = co_await on_pool(pool_, std::move(work));
    if (!removed) logging::warn("{}", removed.error().message());
  }
  tasks_.remove_forgotten_roots();
  co_return Result<void>();
}

asio::awaitable<void> Daemon::adopt(std::string id, Remembered remembered, bool machine_restarted) {
  const auto ranks = ranks_of(remembered.rank_start, remembered.ranks);
  auto task = add_task(id);
  std::vector<int> open;
  bool began = remembered.running || !remembered.exits.empty();
  for (const auto& exit : remembered.exits) task->ended.insert(exit.rank);
  for (const int rank : ranks) {
    if (task->ended.contains(rank)) continue;
    open.push_back(rank);
    const auto state = tasks_.look(id, rank).state;
    // Taking the ticket decides it: a shim on its way finds none, and ends.
    if (state != FoundRank::State::Absent &&
        !(state == FoundRank::State::Waiting && !began && tasks_.take_ticket(id, rank)))
      began = true;
  }
  if (!began && !machine_restarted) {
    logging::info("{} had not started when the agent stopped", id);
    live_.erase(id);
    auto work = [this, id] { return tasks_.remove(id); };
    const auto removed = co_await on_pool(pool_, std::move(work));
    if (!removed) logging::warn("{}", removed.error().message());
    happened([this, id] { return reconciler_->not_started(id, Time{}); });
    co_return;
  }
  for (const int rank : open) {
    const auto state = tasks_.look(id, rank).state;
    if (state == FoundRank::State::Ended)
      co_await settle(task, rank);
    else if (machine_restarted)
      co_await give_up(task, rank, api::kLostStatus, 0, "the machine was restarted");
    else
      coroutines_.spawn(adopt_rank(task, rank));
  }
  if (!open.empty())
    happened([this, id, process_of = tasks_.spec(id, open.front()).process_of] {
      return reconciler_->running(id, process_of);
    });
  if (!remembered.shipped) coroutines_.spawn(ship(task, ranks));
}

asio::awaitable<void> Daemon::adopt_rank(TaskPtr task, int rank) {
  for (int i = 0; i < kBeginLooks; ++i) {
    const auto found = tasks_.look(task->id, rank);
    switch (found.state) {
      case FoundRank::State::Running:
        logging::info("{} rank {} is still running as process {}", task->id, rank, found.shim.pid);
        co_return co_await watch(task, rank, static_cast<pid_t>(found.shim.pid), found.shim.startTime);
      case FoundRank::State::Ended:
      case FoundRank::State::Killed: co_return co_await settle(task, rank);
      case FoundRank::State::Absent:
      case FoundRank::State::Waiting: {
        // The agent ended between the starts of two ranks: go on with this one.
        const auto laid = co_await lay_ticket(task->id, rank);
        if (laid) co_return co_await launch(task, rank, "");
        co_return co_await give_up(task, rank, 1, 0, "cannot start the task: " + laid.error().message());
      }
      case FoundRank::State::Beginning: co_await rest(milliseconds(10));
    }
  }
  co_await settle(task, rank);
}

void Daemon::start_warm_workers() {
  std::vector<std::string> command = {options_.python};
  command.insert(command.end(), options_.warm_command.begin(), options_.warm_command.end());
  for (const auto& framework : options_.warm_frameworks) start_warm_worker(framework, command);
}

/// Not at the agent's start: it costs 120 MB that only agents with trials in C++ need.
void Daemon::start_cxx_worker() {
  if (options_.warm_frameworks.empty() || options_.cxx_program.empty() || warm_.contains(kCxxFramework))
    return;
  start_warm_worker(kCxxFramework, {options_.cxx_program, "warm"});
}

void Daemon::start_warm_worker(const std::string& framework, std::vector<std::string> command) {
  WarmOptions warm;
  warm.framework = framework;
  warm.command = std::move(command);
  // What a trial's process has from its very start, since a fork cannot have it later.
  warm.environment = inherited_environment(process_environment());
  warm.environment.merge(malloc_environment());
  warm.environment["PYTHONHASHSEED"] = "0";
  warm.environment["PYTHONUNBUFFERED"] = "1";
  warm.environment["OMP_NUM_THREADS"] = "1";
  // OpenMP reads it when it is loaded; without it a fork with two threads trains up to 100 times
  // slower beside anything else that wants a core.
  warm.environment["OMP_WAIT_POLICY"] = "passive";
  if (!options_.python_path.empty()) warm.environment["PYTHONPATH"] = options_.python_path;
  warm.directory = options_.state_dir / "worker";
  warm.log = options_.state_dir / fmt::format("worker-{}.log", framework);
  warm.changed = [this] {
    for (auto& [id, task] : live_) task->news.ring();  // those that wait for it
  };
  std::error_code error;
  std::filesystem::create_directories(warm.directory, error);
  auto& worker = warm_[framework] = std::make_unique<WarmWorker>(executor_, std::move(warm));
  coroutines_.spawn(worker->run());
}

}  // namespace det::agent
