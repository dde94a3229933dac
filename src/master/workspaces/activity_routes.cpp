// The projects that somebody looked at, or submitted into, last.

#include <algorithm>
#include <set>

#include "det/master/administration/kept_setting.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::size_t kLooksKept = 50;  // of one user, the newest
constexpr std::size_t kProjectsShown = 5;

struct LookRequest {
  std::string activity_type, entity_type;
  std::int64_t entity_id = 0;
  static bool required(std::string_view name) { return name == "entity_id"; }
};
BOOST_DESCRIBE_STRUCT(LookRequest, (), (activity_type, entity_type, entity_id))
struct RecentQuery {
  std::int32_t limit = 0;
};
BOOST_DESCRIBE_STRUCT(RecentQuery, (), (limit))
struct RecentReply {
  std::vector<ProjectObject> projects;
};
BOOST_DESCRIBE_STRUCT(RecentReply, (), (projects))

struct ProjectLook {
  std::int64_t project = 0;
  Time at;
};
BOOST_DESCRIBE_STRUCT(ProjectLook, (), (project, at))

std::string looks_key(UserId user) {
  return fmt::format("projects looked at by user {}", user);
}

std::vector<ProjectLook> read_looks(store::Store& store, UserId user) {
  return kept_setting<std::vector<ProjectLook>>(store, looks_key(user)).value_or(std::vector<ProjectLook>{});
}

bool is_or_absent(std::string_view given, std::string_view name) {
  return given.empty() || given == name || given == "1";
}

asio::awaitable<Result<Empty>> remember_look(Services& s, Context context, LookRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (!is_or_absent(request.activity_type, "ACTIVITY_TYPE_GET"))
    co_return invalid_argument("activityType is '{}'; it must be ACTIVITY_TYPE_GET", request.activity_type);
  if (!is_or_absent(request.entity_type, "ENTITY_TYPE_PROJECT"))
    co_return invalid_argument("entityType is '{}'; it must be ENTITY_TYPE_PROJECT", request.entity_type);
  const auto project = find_project(s, ProjectId(request.entity_id));
  if (!project) co_return tl::unexpected(project.error());
  const auto turn = co_await s.settings.take(user->id);
  auto read = [&s, id = user->id] { return read_looks(s.store, id); };
  auto looks = co_await offload(s, std::move(read));
  std::erase_if(looks, [&](const auto& look) { return look.project == request.entity_id; });
  looks.insert(looks.begin(), {request.entity_id, s.ledger.now()});
  if (looks.size() > kLooksKept) looks.resize(kLooksKept);
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{looks_key(user->id), json::serialize(json::to_json(looks))});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

/// The newest of each project first.
std::vector<ProjectLook> read_recent(store::Store& store, UserId user, const store::ExperimentQuery& own) {
  auto recent = read_looks(store, user);
  for (const auto& one : store.list_experiments(own).experiments)
    recent.push_back({one.project_id, one.start_time});
  std::ranges::stable_sort(recent, std::greater{}, &ProjectLook::at);
  std::set<std::int64_t> seen;
  std::erase_if(recent, [&](const auto& look) { return !seen.insert(look.project).second; });
  return recent;
}

asio::awaitable<Result<RecentReply>> recent_projects(Services& s, Context context, RecentQuery q) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  store::ExperimentQuery query;
  query.owners = {user->id};
  query.page.descending = true;
  query.page.limit = 10'000;
  auto read = [&s, id = user->id, query] { return read_recent(s.store, id, query); };
  const auto recent = co_await offload(s, std::move(read));
  const auto counts = co_await count_projects(s);
  const Sight seen(s, context.principal, access::Permission::ViewProject);
  const std::size_t most = q.limit > 0 ? static_cast<std::size_t>(q.limit) : kProjectsShown;
  RecentReply reply;
  for (const auto& look : recent) {
    if (reply.projects.size() >= most) break;
    const auto* project = s.workspaces.project(ProjectId(look.project));
    if (project != nullptr && seen.workspace(project->workspace.value()))
      reply.projects.push_back(to_object(s, *project, counts));
  }
  co_return reply;
}

}  // namespace

void add_activity_routes(http::Router& router, Services& s) {
  const std::string tag = "Projects";
  router.add<LookRequest, Empty>(
      Verb::Post, "/api/v1/users/activity",
      [&s](Context c, LookRequest r) { return remember_look(s, std::move(c), std::move(r)); },
      Doc{.summary = "Record that the caller viewed a project",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::InvalidArgument}});
  router.add<RecentQuery, RecentReply>(
      Verb::Get, "/api/v1/user/projects/activity",
      [&s](Context c, RecentQuery q) { return recent_projects(s, std::move(c), q); },
      Doc{.summary = "List the projects that the caller viewed or submitted to last", .tag = tag});
}

}  // namespace det::master
