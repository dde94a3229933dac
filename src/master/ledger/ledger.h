#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "det/cluster/cluster.h"
#include "det/cluster/liveness.h"
#include "det/store/store.h"

namespace det::master {

namespace asio = boost::asio;

class Ledger;

/// Notices every ring of a key from its construction on. Make it, then look at the state, then wait: a change
/// between looking and waiting is not missed, even if looking has a co_await of its own.
///
/// Threads: the ledger's strand. May outlive the ledger, but not wait then.
class Watch {
 public:
  Watch(Ledger& ledger, std::string key) : Watch(ledger, std::vector{std::move(key)}) {}
  Watch(Ledger& ledger, std::vector<std::string> keys);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Returns at once if the key rang since the last return or the construction; else when it rings, or after
  /// `limit`.
  asio::awaitable<void> wait(std::chrono::milliseconds limit);
  /// The keys that rang since the last call.
  std::set<std::string> rang() { return std::exchange(rang_, {}); }

 private:
  friend Ledger;
  using All = std::multimap<std::string, Watch*>;
  std::shared_ptr<All> all_;
  std::vector<All::iterator> at_;
  asio::steady_timer timer_;
  bool rung_ = false;
  std::set<std::string> rang_;
};

/// What the store remembers of an event: {"by": "user 2", "event": {"ExperimentPatched": {…}}}.
struct RememberedEvent {
  std::string by;
  cluster::Event event;
};
json::value to_remember(const std::string& by, const cluster::Event& event);
/// Also reads old events, which do not say who caused them; `by` is empty then.
Result<RememberedEvent> remembered(const json::value& body);

/// The cluster with its memory: decide, remember, act, acknowledge, in that order.
///
/// `handle` decides at once, on the strand, and queues the event with all its rows as one commit. Only when
/// the commit is durable does the caller continue and are the waiters of the changed keys woken. A reply that
/// shows the cluster's state must be made first and sent after `durable()`, so that no one sees a state that
/// a crash could lose (I-2).
///
/// Threads: everything on the executor given, which is the master's one strand.
class Ledger {
 public:
  using Clock = std::function<Time()>;

  Ledger(asio::any_io_executor strand, store::Store& store, Clock clock);
  ~Ledger();

  /// Reads the newest snapshot and the events after it, and begins a new epoch.
  /// Blocks until that is durable. An error means that the store cannot be understood.
  /// `pools`: as the configuration has them from now on.
  Result<void> restore(cluster::Pools pools = {});

  const cluster::Cluster& cluster() const { return cluster_; }
  Time now();  ///< never earlier than the last event

  struct Handled {
    ExperimentId experiment;  ///< that was submitted or tracked
    TrialId trial{};          ///< that was tracked
  };
  /// Decides, remembers together with `also`, and returns once durable. A refusal
  /// leaves no trace, and `also` is not written.
  /// `by` is remembered with the event: who brought it about, as principal_name says it (I-17).
  asio::awaitable<Result<Handled>> handle(cluster::Event event, std::vector<store::Change> also = {},
                                          std::string by = "master");
  asio::awaitable<Result<Handled>> handle(cluster::Event event, std::string by);
  /// Decides at once, and remembers with the next commit, or after some milliseconds: for news that nobody
  /// waits for, and that who brought them brings again if a crash loses them.
  Result<void> handle_soon(cluster::Event event, std::vector<store::Change> also, std::string by);
  /// Stores changes that do not affect the state of the cluster.
  asio::awaitable<void> write(std::vector<store::Change> changes);
  /// Returns once all that was decided before the call is durable.
  asio::awaitable<void> durable();
  /// The same, but for what `handle_soon` has decided: for a reply that does not show it.
  asio::awaitable<void> durable_but_soon();

  /// Returns when `key` rings or after `limit`. Use it only if there was no co_await since the state was
  /// looked at; else make a Watch first. Keys: agent_key, trial_key, allocation_key, task_log_key,
  /// metric_key, search_key, experiments_key, experiment_key, task_key, cluster_key. A key rings when what it
  /// names has changed durably.
  asio::awaitable<void> wait(std::string key, std::chrono::milliseconds limit);
  void ring(const std::string& key);
  static std::string agent_key(const std::string& id) { return "agent " + id; }
  static std::string trial_key(TrialId id) { return "trial " + std::to_string(id.value()); }
  static std::string allocation_key(const std::string& id) { return "allocation " + id; }
  static std::string task_log_key(const std::string& id) { return "log " + id; }
  static std::string task_key(const std::string& id) { return "task " + id; }  ///< of one that is no trial
  /// Of a pool's provider; without a pool: what is due shall be decided.
  static std::string provider_key(const std::string& pool) { return "provider " + pool; }
  static std::string own_log_key() { return "master log"; }
  static std::string metric_key(TrialId id) { return "metric " + std::to_string(id.value()); }
  static std::string search_key(ExperimentId id) { return "search " + std::to_string(id.value()); }
  static std::string experiments_key() { return "experiments"; }  ///< of any experiment or trial
  static std::string cluster_key() { return "cluster"; }          ///< of agents, the queue, and all that runs
  static std::string experiment_key(ExperimentId id) { return "experiment " + std::to_string(id.value()); }

  /// Grows whenever the agent's desired set changes; comparable within an epoch.
  std::int64_t desired_version(const std::string& agent) const;

  /// Called for each experiment whose checkpoints are due for collection, after
  /// durability, and for those that a restart found waiting for it.
  void on_collect(std::function<void(ExperimentId)> collect) { collect_ = std::move(collect); }
  std::vector<ExperimentId> awaiting_collection() const;
  /// Called with the id of each allocation that is over, after durability.
  void on_allocation_over(std::function<void(const std::string&)> forget) {
    forget_allocation_.push_back(std::move(forget));
  }

  /// Called with the changes of each commit before it is queued. It may add changes, which are then stored
  /// together with the others or not at all. The function that it returns, if any, is called once the commit
  /// is durable.
  void on_commit(std::function<std::function<void()>(std::vector<store::Change>&)> add) {
    on_commit_.push_back(std::move(add));
  }
  /// Told how long each commit took to become durable.
  void on_durable(std::function<void(std::chrono::steady_clock::duration)> told) {
    on_durable_ = std::move(told);
  }

  /// Saves a snapshot of the cluster, so that a restart reads little.
  void save_snapshot();

 private:
  std::vector<store::Change> rows(const std::vector<cluster::Effect>& effects, Time now) const;
  std::vector<std::function<void()>> add_to(std::vector<store::Change>& changes) const;
  void act(const std::vector<cluster::Effect>& effects);
  void act(const cluster::PutAllocation& put);
  void note_versions(const std::vector<cluster::Effect>& effects);
  std::vector<store::Change> remember(cluster::Outcome& outcome, const cluster::Event& event, Time time,
                                      std::vector<store::Change> also, const std::string& by);
  asio::awaitable<void> commit(std::vector<store::Change> changes, std::vector<cluster::Effect> effects);
  void queue(std::vector<store::Change> changes, std::function<void()> done);

  /// Commits that wait for the next one, in their order.
  struct Soon {
    std::vector<store::Change> changes;
    std::vector<std::function<void()>> done;
  };

  /// Calls of the writing thread that are made on the strand. Those of one group wake it once.
  class Calls : public std::enable_shared_from_this<Calls> {
   public:
    explicit Calls(asio::any_io_executor strand) : strand_(std::move(strand)) {}
    void call(std::function<void()> function);

   private:
    void make();

    const asio::any_io_executor strand_;
    std::mutex mutex_;
    std::vector<std::function<void()>> calls_;
  };

  friend Watch;
  asio::any_io_executor strand_;
  store::Store& store_;
  Clock clock_;
  cluster::Cluster cluster_;
  Time last_{};
  std::int64_t sequence_ = 0;  ///< of the last event
  std::int64_t snapshot_sequence_ = 0;
  std::int64_t queued_ = 0, done_ = 0;            ///< commits
  std::int64_t version_ = 0;                      ///< the newest of all agents
  std::map<std::string, std::int64_t> versions_;  ///< of agents that the cluster knows
  std::shared_ptr<Watch::All> watches_ = std::make_shared<Watch::All>();
  std::vector<std::function<void(const std::string&)>> forget_allocation_;
  std::function<void(ExperimentId)> collect_;
  std::vector<std::function<std::function<void()>(std::vector<store::Change>&)>> on_commit_;
  std::function<void(std::chrono::steady_clock::duration)> on_durable_;
  std::shared_ptr<Calls> durable_;
  Soon soon_;
  asio::steady_timer soon_timer_;
};

}  // namespace det::master
