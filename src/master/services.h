#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "det/access/throttle.h"
#include "det/http/offload.h"
#include "det/http/routing/router.h"
#include "det/master/identity/auth.h"
#include "det/master/ledger/ledger.h"
#include "det/master/ledger/turns.h"
#include "det/master/logs/log_retention.h"
#include "det/master/tasks/proxies.h"

namespace det::master {

class Collector;
class LogRing;
class Measurements;
class PolicyBook;
class PoolBindings;
class Registry;
class RoleBook;
class Unmanaged;
class Webhooks;
class Workspaces;

/// What the handlers of the API work with. One of each in a master.
class Provisioner;

struct Services {
  Ledger& ledger;
  store::Store& store;
  Auth& auth;
  Collector& collector;
  Registry& registry;
  Workspaces& workspaces;
  RoleBook& roles;
  PolicyBook& policies;
  PoolBindings& bindings;
  Unmanaged& unmanaged;
  Webhooks& webhooks;
  Measurements& measurements;
  std::shared_ptr<cluster::Liveness> liveness;
  asio::thread_pool& pool;
  json::object defaults;  ///< under every experiment's configuration: checkpoint_storage …
  std::string cluster_id, cluster_name, master_id, version;
  bool launch_error = false;           ///< refuse what no agent could ever run
  bool https = false;                  ///< the master's own port speaks TLS
  LogRetention log_retention{};        ///< where nobody said otherwise
  std::shared_ptr<LogRing> log{};      ///< the master's own log; may be null
  Provisioner* provisioner = nullptr;  ///< null: no pool has a provider
  /// Where the ranks of each agent are reached by those of others, as the agents say.
  std::map<std::string, std::string> agent_addresses{};
  /// The accounts that agents run as, as they say.
  std::map<std::string, std::string> agent_users{};
  access::Throttle throttle{};    ///< of log-ins
  Turns logins{};                 ///< one is checked at a time, so that none gets past the throttle
  TurnsOf<ExperimentId> edits{};  ///< of the records of experiments
  TurnsOf<UserId> settings{};     ///< of what users have set
  Turns templates{};              ///< who writes one
  /// Where the programs of tasks answer; of live tasks only.
  Proxies proxies{};
  /// Batches of the newest report of each group, by allocation; of live allocations only.
  std::map<std::string, std::map<std::string, std::int64_t>> newest_report{};
  /// Batches of the newest report of each trial and group whose reports are placed in time.
  std::map<std::pair<TrialId, std::string>, std::int64_t> newest_in_time{};
};

/// Runs blocking work on the pool; name `work` before the call.
template <class F>
asio::awaitable<std::invoke_result_t<F&>> offload(Services& s, F work) {
  return http::offload(s.pool, std::move(work));
}

/// Whether the caller uses TLS, with the master or with a reverse proxy that says so. A caller that lies
/// about it deceives only itself.
inline bool is_encrypted(const Services& s, const http::Request& request) {
  const auto* scheme = request.headers.find("X-Forwarded-Proto");
  return s.https || (scheme != nullptr && *scheme == "https");
}

/// The deadline of a long poll: as the caller asks, at most 90 seconds from now.
/// Time on a clock that no one sets; for `Liveness`.
inline Time steady_time() {
  return {std::chrono::duration_cast<std::chrono::microseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

inline std::chrono::steady_clock::time_point deadline_after(double seconds) {
  const auto bounded = std::clamp(seconds, 0.0, 90.0);
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(static_cast<std::int64_t>(bounded * 1000));
}
inline std::chrono::milliseconds until(std::chrono::steady_clock::time_point deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(left));
}

/// The user for whom a call acts: the caller, or the owner of the experiment for the processes of a live
/// allocation.
Result<UserPrincipal> require_actor(Services& s, const std::any& principal);

/// Deletes the expired logs and returns their number of lines. Readers no longer see them when it returns.
asio::awaitable<std::int64_t> clean_logs(Services& s);

/// Resolves a configuration, above the master's defaults, of which only the search is used; reports all
/// problems at once. It needs no entrypoint, because nothing runs.
Result<config::Resolved> resolve_search(Services& s, const std::string& yaml);

/// The live allocation of the trial that a call reports for: that of the process that calls, or, for a user
/// whom the access rules let change the experiment, the one that the trial has. Fails where it does not run.
Result<const cluster::Allocation*> speaker(Services& s, const std::any& principal, TrialId trial);

/// The run of a trial that a call reports for: that of its live allocation; for a user, the newest run of a
/// trial that is unmanaged or does not run.
struct Reporter {
  std::int64_t run_id = 0;
  std::string allocation_id;  ///< empty: none is live
};
asio::awaitable<Result<Reporter>> reporter(Services& s, std::any principal, TrialId trial);

// The routes, a file each.
void add_agent_routes(http::Router& router, Services& s);              ///< for agents
void add_report_routes(http::Router& router, Services& s);             ///< for the processes of trials
void add_checkpoint_report_routes(http::Router& router, Services& s);  ///< the same
void add_environment_routes(http::Router& router, Services& s);
void add_metadata_routes(http::Router& router, Services& s);
void add_allocation_routes(http::Router& router, Services& s);
void add_rendezvous_routes(http::Router& router, Services& s);
void add_experiment_routes(http::Router& router, Services& s);
void add_submit_routes(http::Router& router, Services& s);
void add_trial_routes(http::Router& router, Services& s);
void add_profiler_routes(http::Router& router, Services& s);
void add_media_routes(http::Router& router, Services& s);
void add_task_log_routes(http::Router& router, Services& s);  ///< for the same
void add_unmanaged_submit_routes(http::Router& router, Services& s);
void add_unmanaged_routes(http::Router& router, Services& s);  ///< for processes outside the cluster
void add_model_routes(http::Router& router, Services& s);
void add_checkpoint_routes(http::Router& router, Services& s);
void add_checkpoint_file_routes(http::Router& router, Services& s);
void add_empty_routes(http::Router& router, Services& s);
void add_role_routes(http::Router& router, Services& s);
void add_group_routes(http::Router& router, Services& s);
void add_config_policy_routes(http::Router& router, Services& s);
void add_audit_routes(http::Router& router, Services& s);
void add_policy_routes(http::Router& router, Services& s);
void add_log_routes(http::Router& router, Services& s);
void add_user_routes(http::Router& router, Services& s);
void add_cluster_routes(http::Router& router, Services& s);
void add_pool_routes(http::Router& router, Services& s);
void add_allotment_routes(http::Router& router, Services& s);
/// `configuration`: what the master was started with, as `GET /api/v1/master/config` shows it but for
/// secrets.
void add_master_config_routes(http::Router& router, json::object configuration);
void add_pool_binding_routes(http::Router& router, Services& s);
void add_cluster_message_routes(http::Router& router, Services& s);
void add_account_routes(http::Router& router, Services& s);
void add_activity_routes(http::Router& router, Services& s);
void add_source_routes(http::Router& router, Services& s);
void add_log_field_routes(http::Router& router, Services& s);
void add_compare_routes(http::Router& router, Services& s);
void add_project_column_routes(http::Router& router, Services& s);
void add_file_tree_routes(http::Router& router, Services& s);
void add_bulk_routes(http::Router& router, Services& s);
void add_change_routes(http::Router& router, Services& s);
void add_find_routes(http::Router& router, Services& s);
void add_grouping_routes(http::Router& router, Services& s);
void add_token_routes(http::Router& router, Services& s);
void add_usage_routes(http::Router& router, Services& s);
void add_job_routes(http::Router& router, Services& s);
void add_forecast_routes(http::Router& router, Services& s);
void add_search_routes(http::Router& router, Services& s);  ///< of searches driven from outside
void add_pareto_routes(http::Router& router, Services& s);
void add_simulate_routes(http::Router& router, Services& s);
void add_task_routes(http::Router& router, Services& s);  ///< of all tasks, trials too
void add_task_list_routes(http::Router& router, Services& s);
void add_task_submit_routes(http::Router& router,
                            Services& s);  ///< commands, notebooks, shells, TensorBoards
void add_generic_task_routes(http::Router& router, Services& s);
void add_command_routes(http::Router& router, Services& s);  ///< those four as users see and command them
void add_template_routes(http::Router& router, Services& s);
void add_prometheus_routes(http::Router& router, Services& s);
void add_webhook_routes(http::Router& router, Services& s);
void add_workspace_routes(http::Router& router, Services& s);
void add_project_routes(http::Router& router, Services& s);
void add_mlflow_routes(http::Router& router, Services& s);  ///< for MLflow's clients

}  // namespace det::master
