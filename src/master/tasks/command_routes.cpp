// Commands, notebooks, shells and TensorBoards as users see and command them.

#include <algorithm>

#include "det/config/experiment_config.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;
using task::TaskRecord;

struct ListQuery {
  std::int32_t offset = 0, limit = 0;
  std::string order_by, sort_by;
  std::vector<std::string> users;
  std::vector<UserId> user_ids;
  std::optional<std::int32_t> workspace_id;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (), (offset, limit, order_by, sort_by, users, user_ids, workspace_id))
/// The list under the name of the kind, which is the only one that is set.
struct LaunchedTaskListReply {
  std::optional<std::vector<api::Task>> commands, notebooks, shells, tensorboards;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(LaunchedTaskListReply, (), (commands, notebooks, shells, tensorboards, pagination))
struct ById {
  std::string task_id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (task_id))
struct LaunchedTaskReply : TaskReply {
  json::value config;
};
BOOST_DESCRIBE_STRUCT(LaunchedTaskReply, (TaskReply), (config))
struct PriorityRequest {
  std::string task_id;
  std::int32_t priority = 0;
};
BOOST_DESCRIBE_STRUCT(PriorityRequest, (), (task_id, priority))

/// Of whom the list is: nobody in particular, or these; a name that nobody has is nobody's.
std::vector<UserId> owners_of(Services& s, const Context& context, const ListQuery& query) {
  auto owners = query.user_ids;
  for (auto name : query.users) {
    if (name == "me")
      if (const auto me = require_user(context.principal)) name = me->username;
    const auto* user = s.auth.user(name);
    owners.push_back(user != nullptr ? user->id : UserId{-1});
  }
  return owners;
}

void sort(std::vector<TaskRecord>& tasks, const ListQuery& query) {
  const auto by = [&](auto member) { std::ranges::stable_sort(tasks, {}, member); };
  if (query.sort_by == "SORT_BY_ID") by(&TaskRecord::id);
  if (query.sort_by == "SORT_BY_DESCRIPTION") by(&TaskRecord::description);
  if (query.sort_by == "SORT_BY_WORKSPACE_ID") by(&TaskRecord::workspace_id);
  if (query.order_by == "ORDER_BY_DESC") std::ranges::reverse(tasks);
}

asio::awaitable<Result<LaunchedTaskListReply>> list(Services& s, TaskKind kind, Context context,
                                                    ListQuery query) {
  const auto owners = owners_of(s, context, query);
  store::TaskQuery wanted{.type = kind.type};
  if (query.workspace_id && *query.workspace_id != 0) wanted.workspace_id = *query.workspace_id;
  co_await s.ledger.durable();
  auto read = [&s, wanted] { return s.store.list_tasks(wanted); };
  auto tasks = co_await offload(s, std::move(read));
  const Sight sight(s, context.principal, access::Permission::ViewNsc);
  std::erase_if(tasks, [&](const TaskRecord& record) {
    if (!sight.workspace(record.workspace_id)) return true;
    return !owners.empty() && std::ranges::find(owners, record.owner) == owners.end();
  });
  sort(tasks, query);
  const auto span = page_of(tasks.size(), query.offset, query.limit);
  std::vector<api::Task> shown;
  for (auto i = span.begin; i < span.end; ++i) shown.push_back(to_api(s, tasks[i]));
  LaunchedTaskListReply reply{.pagination = span.pagination};
  (kind.type == task::Type::Command    ? reply.commands
   : kind.type == task::Type::Notebook ? reply.notebooks
   : kind.type == task::Type::Shell    ? reply.shells
                                       : reply.tensorboards) = std::move(shown);
  co_return reply;
}

/// The task, if it is of that kind.
asio::awaitable<Result<TaskRecord>> find(Services& s, TaskKind kind, std::string id) {
  auto record = co_await find_task(s, id);
  if (!record || record->type != kind.type) co_return not_found("{} '{}' not found", kind.word, id);
  co_return record;
}

asio::awaitable<Result<LaunchedTaskReply>> get(Services& s, TaskKind kind, Context context, ById query) {
  auto record = co_await find(s, kind, query.task_id);
  if (!record) co_return tl::unexpected(record.error());
  LaunchedTaskReply reply;
  reply.config = config::masked(record->config);
  auto shown = to_api(s, *record);
  show_key(shown, *record, context.principal);
  put(reply, kind, std::move(shown));
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<TaskReply>> newest(Services& s, TaskKind kind, std::string id) {
  const auto record = co_await find(s, kind, id);
  if (!record) co_return tl::unexpected(record.error());
  TaskReply reply;
  put(reply, kind, to_api(s, *record));
  co_return reply;
}

asio::awaitable<Result<TaskReply>> kill(Services& s, TaskKind kind, Context context, ById request) {
  auto record = co_await find(s, kind, request.task_id);
  if (!record) co_return tl::unexpected(record.error());
  const auto done = co_await kill_task(s, context.principal, *std::move(record));
  if (!done) co_return tl::unexpected(done.error());
  co_return co_await newest(s, kind, request.task_id);
}

asio::awaitable<Result<TaskReply>> set_priority(Services& s, TaskKind kind, Context context,
                                                PriorityRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto record = co_await find(s, kind, request.task_id);
  if (!record) co_return tl::unexpected(record.error());
  if (const auto fine = check_policies(s, WorkspaceId(record->workspace_id), request.priority); !fine)
    co_return tl::unexpected(fine.error());
  cluster::Event event = cluster::TaskPrioritySet{request.task_id, request.priority};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return co_await newest(s, kind, request.task_id);
}

}  // namespace

void add_command_routes(http::Router& router, Services& s) {
  const std::string tag = "Tasks";
  for (const auto& kind : kTaskKinds) {
    const auto path = fmt::format("/api/v1/{}", kind.plural);
    router.add<ListQuery, LaunchedTaskListReply>(
        Verb::Get, path,
        [&s, kind](Context c, ListQuery q) { return list(s, kind, std::move(c), std::move(q)); },
        Doc{.summary = fmt::format("List {}, including finished ones", kind.plural), .tag = tag});
    router.add<ById, LaunchedTaskReply>(
        Verb::Get, path + "/{taskId}",
        [&s, kind](Context c, ById q) { return get(s, kind, std::move(c), std::move(q)); },
        Doc{.summary = fmt::format("Get a {}", kind.word), .tag = tag, .errors = {ErrorCode::NotFound}});
    router.add<ById, TaskReply>(
        Verb::Post, path + "/{taskId}/kill",
        [&s, kind](Context c, ById r) { return kill(s, kind, std::move(c), std::move(r)); },
        Doc{.summary = fmt::format("Kill a {}", kind.word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
    router.add<PriorityRequest, TaskReply>(
        Verb::Post, path + "/{taskId}/set_priority",
        [&s, kind](Context c, PriorityRequest r) {
          return set_priority(s, kind, std::move(c), std::move(r));
        },
        Doc{.summary = fmt::format(
                "Set the priority of a {}, from 1 to 99; a smaller number means more important", kind.word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  }
}

}  // namespace det::master
