#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {

Result<UserPrincipal> require_actor(Services& s, const std::any& principal) {
  auto user = require_user(principal);
  if (user) return user;
  const auto task = require_task(principal);
  if (!task) return task.error().code() == ErrorCode::Gone ? tl::unexpected(task.error()) : std::move(user);
  const auto* allocation = s.ledger.cluster().allocation(*task);
  if (allocation == nullptr) return fail(ErrorCode::Gone, "allocation {} is over", *task);
  const auto owner = s.auth.users().find(s.ledger.cluster().owner_of(cluster::Cluster::job_of(*allocation)));
  if (owner == s.auth.users().end() || !owner->second.active)
    return fail(ErrorCode::PermissionDenied, "the owner of allocation {} is deactivated", *task);
  // Never as an administrator: whoever can submit code could become one.
  return UserPrincipal{.id = owner->first,
                       .username = owner->second.username,
                       .admin = false,
                       .token_hash = "",
                       .allocation_id = *task};
}

Result<const cluster::Allocation*> speaker(Services& s, const std::any& principal, TrialId trial) {
  if (require_user(principal)) {
    const auto* live = s.ledger.cluster().trial(trial);
    const auto* running = live == nullptr ? nullptr : s.ledger.cluster().allocation(live->allocation);
    if (running == nullptr) return failed_precondition("trial {} is not running", trial);
    return running;
  }
  DET_TRY(const auto id, require_task(principal));
  const auto* allocation = s.ledger.cluster().allocation(id);
  if (allocation == nullptr) return fail(ErrorCode::Gone, "allocation {} is over", id);
  if (!allocation->of_trial())
    return fail(ErrorCode::PermissionDenied, "allocation {} does not belong to a trial", id);
  if (allocation->record.trial_id != trial)
    return fail(ErrorCode::PermissionDenied, "allocation {} belongs to trial {}, not to trial {}", id,
                allocation->record.trial_id, trial);
  return allocation;
}

asio::awaitable<Result<Reporter>> reporter(Services& s, std::any principal, TrialId trial) {
  if (require_user(principal)) {
    if (s.unmanaged.has(trial)) {
      const auto run = co_await s.unmanaged.newest_run(trial);
      if (!run) co_return tl::unexpected(run.error());
      co_return Reporter{.run_id = *run, .allocation_id = ""};
    }
    if (!speaker(s, principal, trial)) {
      auto read = [&s, trial] { return s.store.trial(trial); };
      const auto stored = co_await offload(s, std::move(read));
      if (!stored) co_return not_found("trial '{}' not found", trial);
      co_return Reporter{.run_id = stored->run_id, .allocation_id = ""};
    }
  }
  const auto allocation = speaker(s, principal, trial);
  if (!allocation) co_return tl::unexpected(allocation.error());
  co_return Reporter{.run_id = (*allocation)->record.run_id, .allocation_id = (*allocation)->record.id};
}

}  // namespace det::master
