#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/agent/async.h"
#include "det/agent/idle.h"
#include "det/agent/logs.h"
#include "det/agent/options.h"
#include "det/agent/prepare/warm.h"
#include "det/agent/reconcile.h"
#include "det/agent/shim/process.h"
#include "det/agent/tasks.h"
#include "det/http/client/client.h"

namespace det::agent {

/// The shell around a Reconciler: carries its actions out and its reports to
/// the master. What happens is put into an inbox; one coroutine takes it from
/// there, asks the reconciler, writes its memory down, and only then acts; the
/// files of a task that starts are prepared meanwhile.
class Daemon {
 public:
  Daemon(asio::any_io_executor executor, AgentOptions options, Machine machine,
         const std::vector<http::Url>& masters);
  asio::awaitable<Result<void>> run();

 private:
  /// An allocation that this agent runs, or ships the last logs of.
  struct Task {
    Task(const asio::any_io_executor& executor, std::string name) : id(std::move(name)), news(executor) {}
    std::string id;
    std::map<int, Process> running;  ///< By rank: the shims.
    std::set<int> ended;             ///< Ranks whose spools are complete.
    bool stopping = false;           ///< SIGTERM was asked for.
    bool forcing = false;            ///< The shims were asked for the end by force, after last words.
    bool killing = false;
    std::uint64_t revision = 0;  ///< Of the first memory that knows it.
    Bell news;                   ///< A rank ended, or the task may start.
  };
  using TaskPtr = std::shared_ptr<Task>;
  using Event = std::function<Actions()>;

  // daemon.cpp: decide, remember, act; and the talk with the master.
  void happened(Event event);
  bool quiet() const { return inbox_.empty() && !deciding_; }
  asio::awaitable<void> decide();
  asio::awaitable<void> renew_lease();
  void perform(const Action& action);
  asio::awaitable<void> remember();
  void let_start();
  void forget(const std::string& id);
  asio::awaitable<void> watch_deadlines();
  asio::awaitable<void> keep_in_touch();
  asio::awaitable<void> exchange(api::SyncRequest request);
  asio::awaitable<void> watch_pilot();
  asio::awaitable<void> end_all();
  void heard(const std::string& trouble);
  asio::awaitable<Result<http::Reply>> call(http::Call call);
  asio::awaitable<Result<void>> fetch_model(std::string digest);
  asio::awaitable<Result<void>> download_model(std::string digest);
  asio::awaitable<void> ship(TaskPtr task, std::vector<int> ranks);
  asio::awaitable<bool> deliver(const api::LogBatch& batch);

  // daemon_tasks.cpp: processes.
  asio::awaitable<Result<void>> adopt_all();
  asio::awaitable<void> adopt(std::string id, Remembered remembered, bool machine_restarted);
  asio::awaitable<void> adopt_rank(TaskPtr task, int rank);
  asio::awaitable<void> start(TaskPtr task, api::DesiredAllocation wanted);
  asio::awaitable<Result<void>> prepare(TaskPtr task, api::DesiredAllocation wanted,
                                        std::optional<ReusedProcess> taken_over);
  asio::awaitable<Result<void>> lay_ticket(std::string id, int rank);
  asio::awaitable<void> wait_for_warm_worker(TaskPtr task, std::string framework);
  asio::awaitable<void> take_over(TaskPtr task, api::DesiredAllocation wanted, IdleProcessPtr process);
  asio::awaitable<void> launch(TaskPtr task, int rank, std::string framework);
  asio::awaitable<void> watch(TaskPtr task, int rank, pid_t pid, std::optional<std::int64_t> start_time);
  asio::awaitable<void> wait_for_end(TaskPtr task, int rank, pid_t pid,
                                     std::optional<std::int64_t> start_time);
  std::optional<IdleProcesses::Kind> offered(const std::filesystem::path& directory, pid_t shim);
  asio::awaitable<void> settle(TaskPtr task, int rank);
  asio::awaitable<void> give_up(TaskPtr task, int rank, int code, int signal, std::string reason);
  void rank_ended(const TaskPtr& task, int rank, const ShimExit& exit);
  void signal(const std::string& id, int number);
  TaskPtr add_task(const std::string& id);
  void start_warm_workers();
  void start_cxx_worker();
  void start_warm_worker(const std::string& framework, std::vector<std::string> command);

  asio::any_io_executor executor_;
  AgentOptions options_;
  Machine machine_;
  Tasks tasks_;
  http::AsyncClient client_;
  asio::thread_pool pool_{2};
  std::optional<Reconciler> reconciler_;
  std::map<std::string, TaskPtr> live_;
  std::map<std::string, std::unique_ptr<WarmWorker>> warm_;

  std::deque<Event> inbox_;
  bool deciding_ = false;
  std::uint64_t remembered_ = 0;        ///< The memory revision on disk.
  std::uint64_t may_start_ = 0;         ///< Tasks that the memory of this revision knows may start.
  std::vector<std::string> forgotten_;  ///< Still on disk: deleted when the memory is written next.
  std::chrono::steady_clock::time_point forget_by_;  ///< At the latest.
  std::set<std::string> fetching_;                   ///< digests of model definitions
  Bell inbox_bell_;
  Bell quiet_bell_;            ///< The inbox was emptied; a reply came or failed.
  Bell deadline_bell_;         ///< The next deadline may have changed.
  std::int64_t answered_ = 0;  ///< The highest sequence that has ended, well or not.
  int in_flight_ = 0;
  std::optional<Time> leased_;  ///< What the shims were told last.
  bool connected_ = false;
  bool last_failed_ = false;
  std::string trouble_;    ///< What was last said about the master.
  bool rejected_ = false;  ///< The master does not know this agent.
  bool left_ = false;      ///< A pilot that is done.
  std::chrono::steady_clock::time_point heard_at_ = std::chrono::steady_clock::now();
  Coroutines coroutines_;
  IdleProcesses idle_;
};

}  // namespace det::agent
