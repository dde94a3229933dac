#include "det/master/tasks/task_objects.h"

#include <set>

#include "det/master/agents/environment.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"

namespace det::master {

namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

/// As what the agents of a pool run; root where they differ, or none has said it.
std::string agents_user(const Services& s, const std::string& pool) {
  std::set<std::string> users;
  for (const auto& [id, agent] : s.ledger.cluster().agents()) {
    const auto found = s.agent_users.find(id);
    if (agent.resource_pool == pool && agent.connected && found != s.agent_users.end())
      users.insert(found->second);
  }
  return users.size() == 1 ? *users.begin() : "root";
}

/// The account that a shell runs as. Before it has told, it is the linked one, else that of the agents.
api::SshAccount ssh_account(Services& s, const task::TaskRecord& r) {
  api::SshAccount account{
      .user = agents_user(s, r.resource_pool), .uid = std::nullopt, .gid = std::nullopt, .group = ""};
  if (const auto linked = account_of(s, r)) {
    account.user = linked->agent_user.value_or(account.user);
    account.group = linked->agent_group.value_or("");
    account.uid = linked->agent_uid;
    account.gid = linked->agent_gid;
  }
  if (r.address && !r.address->user.empty()) account.user = r.address->user;
  return account;
}

}  // namespace

void put(TaskReply& reply, const TaskKind& kind, api::Task task) {
  auto& place = kind.type == task::Type::Command    ? reply.command
                : kind.type == task::Type::Notebook ? reply.notebook
                : kind.type == task::Type::Shell    ? reply.shell
                                                    : reply.tensorboard;
  place = std::move(task);
}

api::Task to_api(Services& s, const task::TaskRecord& r) {
  api::Task t{.id = r.id,
              .description = r.description,
              .state = "STATE_" + upper(json::bd::enum_to_string(r.state, "?")),
              .start_time = r.start_time,
              .user_id = r.owner,
              .username = username(s, r.owner),
              .resource_pool = r.resource_pool,
              .exit_status = r.exit_status,
              .job_id = r.job_id,
              .workspace_id = static_cast<std::int32_t>(r.workspace_id),
              .type = task::type_name(r.type),
              .slots = r.slots,
              .is_ready = r.address.has_value(),
              .end_time = r.end_time,
              .exit_code = r.exit_code};
  if (const auto user = s.auth.users().find(r.owner); user != s.auth.users().end())
    t.display_name = user->second.display_name;
  t.priority = r.priority.value_or(s.ledger.cluster().pool(r.resource_pool).default_priority);
  if (r.type != task::Type::Command) t.service_address = fmt::format("/proxy/{}/", r.id);
  if (r.type == task::Type::Tensorboard) {
    t.experiment_ids = r.experiment_ids;
    t.trial_ids = r.trial_ids;
  }
  if (r.type == task::Type::Shell) {
    t.public_key = r.public_key;
    t.agent_user_group = ssh_account(s, r);
  }
  if (const auto* live = s.ledger.cluster().task(r.id))
    t.waiting_reason = s.ledger.cluster().waiting_reason(live->allocation());
  return t;
}

void show_key(api::Task& task, const task::TaskRecord& record, const std::any& principal) {
  const auto user = require_user(principal);
  if (record.type == task::Type::Shell && user && user->id == record.owner)
    task.private_key = record.private_key;
}

std::string state_name(experiment::AllocationState state) {
  using S = experiment::AllocationState;
  if (state == S::Pending) return "STATE_QUEUED";
  if (state == S::Assigned) return "STATE_STARTING";
  return "STATE_" + upper(json::bd::enum_to_string(state, "?"));
}

asio::awaitable<Result<task::TaskRecord>> find_task(Services& s, std::string id) {
  if (const auto* live = s.ledger.cluster().task(id)) co_return live->record();
  auto read = [&s, id] { return s.store.task(id); };
  auto record = co_await offload(s, std::move(read));
  if (!record) co_return not_found("task '{}' not found", id);
  co_return *std::move(record);
}

std::string generic_state(const task::TaskRecord& r) {
  const auto* state = [&] {
    switch (r.state) {
      case task::State::Queued:
      case task::State::Starting:
      case task::State::Running:
      case task::State::Yielding: return "ACTIVE";
      case task::State::Pausing: return "STOPPING_PAUSED";
      case task::State::Paused: return "PAUSED";
      case task::State::Terminating: return r.killed ? "STOPPING_CANCELED" : "STOPPING_ERROR";
      case task::State::Terminated: break;
    }
    return r.killed ? "CANCELED" : r.exit_code == 0 ? "COMPLETED" : "ERROR";
  }();
  return fmt::format("GENERIC_TASK_STATE_{}", state);
}

asio::awaitable<Result<void>> may_command_family(Services& s, std::any principal, std::string id) {
  const auto family = s.ledger.cluster().family_of(id);
  for (const auto& member : family) {
    const auto allowed =
        co_await may(s, principal, access::Permission::UpdateNsc, Kind::Task, json::value(member));
    if (!allowed) co_return tl::unexpected(allowed.error());
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> kill_task(Services& s, std::any principal, task::TaskRecord record,
                                        bool from_root) {
  const auto user = require_user(principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto first = from_root && !record.ancestors.empty() ? record.ancestors.front() : record.id;
  if (s.ledger.cluster().family_of(first).empty()) co_return Result<void>{};
  const auto allowed = co_await may_command_family(s, principal, first);
  if (!allowed) co_return tl::unexpected(allowed.error());
  cluster::Event event = cluster::TaskKilled{first, fmt::format("killed by user {}", user->username)};
  auto by = principal_name(principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  // It may have ended by itself meanwhile.
  if (!done && done.error().code() != ErrorCode::NotFound) co_return tl::unexpected(done.error());
  co_return Result<void>{};
}

std::string task_of(const std::string& allocation_id) {
  const auto dot = allocation_id.rfind('.');
  if (dot == std::string::npos || dot + 1 == allocation_id.size() ||
      allocation_id.find_first_not_of("0123456789", dot + 1) != std::string::npos)
    return allocation_id;
  return allocation_id.substr(0, dot);
}

}  // namespace det::master
