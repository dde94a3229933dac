#include "det/master/workspaces/place_deletion.h"

#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <set>

#include "det/master/checkpoints/collector.h"
#include "det/master/experiments/experiment_actions.h"
#include "det/master/models/registry.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/rights.h"
#include "det/master/rights/role_book.h"
#include "det/master/workspaces/deletion_rules.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using Changes = Workspaces::Changes;

constexpr std::int64_t kAtOnce = 50;  ///< experiments that go at the same time

void log_end(std::exception_ptr failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    logging::error("a deletion stopped with an error: {}", error.what());
  }
}

asio::awaitable<store::ExperimentList> experiments_of(Services& s, ProjectId id, std::int64_t limit) {
  auto read = [&s, id, limit] {
    store::ExperimentQuery query;
    query.project_id = id.value();
    query.page.limit = limit;
    return s.store.list_experiments(query);
  };
  co_return co_await offload(s, std::move(read));
}

/// What speaks against deleting the project's experiments, in sentences; how many it has.
asio::awaitable<std::size_t> look_at(Services& s, const std::any& principal, ProjectId id,
                                     std::vector<std::string>& problems) {
  const auto held = co_await experiments_of(s, id, 0);
  for (const auto& one : held.experiments) {
    if (auto unfinished = unfinished_problem(one.id, one.state)) {
      problems.push_back(*std::move(unfinished));
      continue;
    }
    const auto allowed = co_await may(s, principal, access::Permission::DeleteExperiment, Kind::Experiment,
                                      json::value(one.id.value()));
    if (!allowed) problems.push_back(allowed.error().message());
    auto read = [&s, experiment = one.id] { return s.store.checkpoints_of_experiment(experiment); };
    for (const auto& checkpoint : co_await offload(s, std::move(read)))
      if (const auto need = s.collector.need_of(checkpoint.uuid))
        problems.push_back(checkpoint_problem(checkpoint.uuid, one.id, *need));
  }
  co_return held.experiments.size();
}

/// Deletes the project's experiments and returns when none is left.
asio::awaitable<Result<void>> empty(Services& s, ProjectId id) {
  std::set<ExperimentId> begun;
  while (true) {
    const auto held = co_await experiments_of(s, id, kAtOnce);
    if (held.experiments.empty()) co_return Result<void>{};
    for (const auto& one : held.experiments) {
      if (s.collector.deletes(one.id)) continue;
      if (!begun.insert(one.id).second) {
        auto read = [&s, experiment = one.id] { return s.store.experiment(experiment); };
        const auto record = co_await offload(s, std::move(read));
        if (record && record->state == experiment::State::DeleteFailed)
          co_return failed_precondition("experiment {} could not be deleted: {}", one.id, record->error);
        continue;
      }
      const auto marked = co_await begin_deletion(s, one.id);
      if (!marked && marked.error().code() != ErrorCode::NotFound) co_return tl::unexpected(marked.error());
    }
    co_await s.ledger.wait(Ledger::experiment_key(held.experiments.front().id), std::chrono::seconds(1));
  }
}

asio::awaitable<void> finish_project(Services& s, ProjectId id) {
  const auto done = co_await empty(s, id);
  auto changes = done ? s.workspaces.remove(id) : s.workspaces.fail_deletion(id, done.error().message());
  if (!changes) logging::error("project {} could not be deleted: {}", id, changes.error().message());
  if (changes) co_await s.ledger.write(*std::move(changes));
}

/// The workspace itself and what names it. Requires: it holds no projects.
asio::awaitable<void> drop(Services& s, WorkspaceId id) {
  const auto turn = co_await s.templates.take();
  auto changes = s.workspaces.remove(id);
  if (!changes) logging::error("workspace {} could not be deleted: {}", id, changes.error().message());
  if (!changes) co_return;
  s.policies.forget(id);
  for (auto& change : s.bindings.forget(id)) changes->push_back(std::move(change));
  for (auto& change : s.roles.forget_workspace(id.value())) changes->push_back(std::move(change));
  auto read = [&s] { return s.store.templates(); };
  const auto templates = co_await offload(s, std::move(read));
  for (const auto& record : templates)
    if (record.workspace == id) changes->push_back(store::DeleteTemplate{record.name});
  co_await s.ledger.write(*std::move(changes));
}

std::vector<ProjectId> projects_of(Services& s, WorkspaceId id) {
  std::vector<ProjectId> projects;
  for (const auto& [project, record] : s.workspaces.projects())
    if (record.workspace == id) projects.push_back(project);
  return projects;
}

asio::awaitable<void> finish_workspace(Services& s, WorkspaceId id) {
  Result<void> done;
  for (const auto project : projects_of(s, id)) {
    done = co_await empty(s, project);
    if (!done) break;
    if (auto changes = s.workspaces.remove(project)) co_await s.ledger.write(*std::move(changes));
  }
  if (done && s.registry.count_in(id) > 0)
    done = failed_precondition("a model was added to it; move or delete the model first");
  if (done) co_return co_await drop(s, id);
  if (auto changes = s.workspaces.fail_deletion(id, done.error().message()))
    co_await s.ledger.write(*std::move(changes));
}

}  // namespace

asio::awaitable<Result<bool>> delete_project(Services& s, http::Context context, ProjectId id) {
  const auto record = find_project(s, id);
  if (!record) co_return tl::unexpected(record.error());
  if (goes_on(s.workspaces.deletion(id))) co_return false;
  // From here on nothing is put into it; what was before is looked at.
  auto changes = s.workspaces.begin_deletion(id);
  if (!changes) co_return tl::unexpected(changes.error());
  std::vector<std::string> problems;
  const auto held = co_await look_at(s, context.principal, id, problems);
  if (!problems.empty()) {
    s.workspaces.give_up_deletion(id);
    co_return tl::unexpected(deletion_refusal("project", record->name, std::move(problems)));
  }
  if (held == 0) changes = s.workspaces.remove(id);
  co_await s.ledger.write(*std::move(changes));
  if (held > 0) asio::co_spawn(co_await asio::this_coro::executor, finish_project(s, id), log_end);
  co_return held == 0;
}

asio::awaitable<Result<bool>> delete_workspace(Services& s, http::Context context, WorkspaceId id) {
  const auto record = find_workspace(s, id);
  if (!record) co_return tl::unexpected(record.error());
  const auto deletable =
      check_workspace_deletion(record->name, s.registry.count_in(id), s.bindings.only_of(id));
  if (!deletable) co_return tl::unexpected(deletable.error());
  if (goes_on(s.workspaces.deletion(id))) co_return false;
  auto changes = s.workspaces.begin_deletion(id);
  if (!changes) co_return tl::unexpected(changes.error());
  std::vector<std::string> problems;
  const auto projects = projects_of(s, id);
  for (const auto project : projects) {
    const auto allowed = co_await may(s, context.principal, access::Permission::DeleteProject, Kind::Project,
                                      json::value(project.value()));
    if (!allowed) problems.push_back(allowed.error().message());
    co_await look_at(s, context.principal, project, problems);
  }
  if (!problems.empty()) {
    s.workspaces.give_up_deletion(id);
    co_return tl::unexpected(deletion_refusal("workspace", record->name, std::move(problems)));
  }
  co_await s.ledger.write(*std::move(changes));
  if (projects.empty()) {
    co_await drop(s, id);
    co_return true;
  }
  asio::co_spawn(co_await asio::this_coro::executor, finish_workspace(s, id), log_end);
  co_return false;
}

void resume_deletions(Services& s, const asio::any_io_executor& strand) {
  store::ExperimentQuery query;
  query.states = {experiment::State::Deleting};
  for (const auto& one : s.store.list_experiments(query).experiments)
    if (auto record = s.store.experiment(one.id)) s.collector.delete_experiment(*std::move(record));
  for (const auto id : s.workspaces.projects_in_deletion())
    asio::co_spawn(strand, finish_project(s, id), log_end);
  for (const auto id : s.workspaces.workspaces_in_deletion())
    asio::co_spawn(strand, finish_workspace(s, id), log_end);
}

}  // namespace det::master
