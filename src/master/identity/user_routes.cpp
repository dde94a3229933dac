// Users and log-in.

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>

#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/rights/role_book.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct LoginRequest {
  std::string username, password;
  bool is_hashed = false;
  static bool required(std::string_view name) { return name == "username"; }
};
BOOST_DESCRIBE_STRUCT(LoginRequest, (), (username, password, is_hashed))
struct LoginReply {
  std::string token;
  api::User user;
};
BOOST_DESCRIBE_STRUCT(LoginReply, (), (token, user))
struct UserReply {
  api::User user;
};
BOOST_DESCRIBE_STRUCT(UserReply, (), (user))
struct UsersQuery {
  std::int32_t offset = 0, limit = 0;
  std::optional<bool> active, admin;
  std::string name, sort_by, order_by;
};
BOOST_DESCRIBE_STRUCT(UsersQuery, (), (offset, limit, active, admin, name, sort_by, order_by))
struct UsersReply {
  std::vector<api::User> users;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(UsersReply, (), (users, pagination))
struct NewUser {
  std::string username, display_name;
  bool admin = false, active = true;
  std::optional<config::AgentUserGroup> agent_user_group;
  static bool required(std::string_view name) { return name == "username"; }
};
BOOST_DESCRIBE_STRUCT(NewUser, (), (username, display_name, admin, active, agent_user_group))
struct UserCreateRequest {
  NewUser user;
  std::string password;
  bool is_hashed = false;
  static bool required(std::string_view name) { return name == "user"; }
};
BOOST_DESCRIBE_STRUCT(UserCreateRequest, (), (user, password, is_hashed))
struct ByUser {
  UserId user_id;
};
BOOST_DESCRIBE_STRUCT(ByUser, (), (user_id))
struct ByName {
  std::string username;
};
BOOST_DESCRIBE_STRUCT(ByName, (), (username))
struct UserPatchRequest {
  UserId user_id;
  std::optional<std::string> username, display_name, password;
  std::optional<bool> admin, active;
  bool is_hashed = false;
  std::optional<json::value> agent_user_group;  ///< null: none
};
BOOST_DESCRIBE_STRUCT(UserPatchRequest, (),
                      (user_id, username, display_name, password, admin, active, is_hashed, agent_user_group))
struct UserFilters {
  std::string name;  ///< a part of the user's or the display name, in any case
  std::optional<bool> admin;
};
BOOST_DESCRIBE_STRUCT(UserFilters, (), (name, admin))
struct PatchManyRequest {
  std::vector<UserId> user_ids;
  std::optional<bool> activate;
  std::optional<UserFilters> filters;  ///< instead of ids
};
BOOST_DESCRIBE_STRUCT(PatchManyRequest, (), (user_ids, activate, filters))
struct UserResult {
  std::string error;
  UserId id;
};
BOOST_DESCRIBE_STRUCT(UserResult, (), (error, id))
struct PatchManyReply {
  std::vector<UserResult> results;
};
BOOST_DESCRIBE_STRUCT(PatchManyReply, (), (results))

struct PasswordRequest {
  UserId user_id;
  std::string password;
};
BOOST_DESCRIBE_STRUCT(PasswordRequest, (), (user_id, password))

/// By the id, or what is named; equal ones by their ids.
void sort_users(std::vector<api::User>& users, std::string_view sort_by) {
  const auto by = [&](auto member) { std::ranges::stable_sort(users, {}, member); };
  if (sort_by == "SORT_BY_USER_NAME" || sort_by == "2") by(&api::User::username);
  if (sort_by == "SORT_BY_ADMIN" || sort_by == "3") by(&api::User::admin);
  if (sort_by == "SORT_BY_ACTIVE" || sort_by == "4") by(&api::User::active);
  if (sort_by == "SORT_BY_MODIFIED_TIME" || sort_by == "5")
    by([](const api::User& user) { return user.modified_at; });
  if (sort_by == "SORT_BY_DISPLAY_NAME" || sort_by == "1") by(&api::User::display_name);
  if (sort_by == "SORT_BY_NAME" || sort_by == "6")
    by([](const api::User& user) { return user.display_name.empty() ? user.username : user.display_name; });
}

bool is_active_administrator(const store::UserRecord& user) {
  return user.admin && user.active;
}

asio::awaitable<Result<UserReply>> patch(Services& s, Context context, UserPatchRequest request) {
  const auto caller = require_person(context.principal);
  if (!caller) co_return tl::unexpected(caller.error());
  const auto found = s.auth.users().find(request.user_id);
  if (found == s.auth.users().end()) co_return not_found("user {} not found", request.user_id);
  const bool own = caller->id == request.user_id;
  const bool only_own_things =
      !request.username && !request.admin && !request.active && !request.agent_user_group;
  if (!caller->admin && !(own && only_own_things))
    co_return fail(ErrorCode::PermissionDenied, "user '{}' is not an administrator", caller->username);
  auto record = found->second;
  if (request.username) record.username = *request.username;
  if (request.display_name) record.display_name = *request.display_name;
  if (request.admin) record.admin = *request.admin;
  if (request.active) record.active = *request.active;
  if (request.agent_user_group) {
    record.agent_user_group.reset();
    if (!request.agent_user_group->is_null()) {
      auto group = http::from_wire<config::AgentUserGroup>(*request.agent_user_group);
      if (!group) co_return tl::unexpected(group.error());
      if (auto wrong = config::problem(*group, true)) co_return tl::unexpected(*wrong);
      record.agent_user_group = *std::move(group);
    }
  }
  if (s.roles.enforced() && found->second.active && !record.active) {
    auto users = s.auth.users();
    users.at(request.user_id).active = false;
    if (!s.roles.has_administrator(users))
      co_return failed_precondition(
          "user '{}' is the last active ClusterAdmin; assign that role to another user first",
          record.username);
  }
  if (!s.roles.enforced() && is_active_administrator(found->second) && !is_active_administrator(record)) {
    const auto others = std::ranges::count_if(
        s.auth.users(), [&](const auto& user) { return is_active_administrator(user.second); });
    if (others == 1)
      co_return failed_precondition(
          "user '{}' is the last active administrator; make another user an administrator first",
          found->second.username);
  }
  const auto changed =
      co_await s.auth.change_user(std::move(record), request.password, request.is_hashed, caller->token_hash);
  if (!changed) co_return tl::unexpected(changed.error());
  co_return UserReply{to_api(*changed)};
}

bool matches(const UserFilters& filters, const store::UserRecord& user) {
  return (!filters.admin || user.admin == *filters.admin) &&
         (boost::algorithm::icontains(user.username, filters.name) ||
          boost::algorithm::icontains(user.display_name, filters.name));
}

/// Each on its own. By a filter, never the caller: who deactivates everybody wants to go on.
asio::awaitable<Result<PatchManyReply>> patch_many(Services& s, Context context, PatchManyRequest request) {
  const auto caller = require_admin(context.principal);
  if (!caller) co_return tl::unexpected(caller.error());
  if (!request.activate)
    co_return invalid_argument(
        "activate is required; give true to activate the users, or false to deactivate them");
  auto ids = std::move(request.user_ids);
  if (request.filters) {
    ids.clear();
    for (const auto& [id, user] : s.auth.users())
      if (id != caller->id && matches(*request.filters, user)) ids.push_back(id);
  }
  PatchManyReply reply;
  for (const auto id : ids) {
    UserPatchRequest change{.user_id = id, .active = request.activate};
    const auto done = co_await patch(s, context, std::move(change));
    reply.results.push_back({done ? "" : done.error().message(), id});
  }
  co_return reply;
}

constexpr std::size_t kLoginsMax = 200;  // that wait to be checked

/// What browsers may do with our cookie: never without encryption where there is some.
std::string_view cookie_rules(const Services& s, const http::Request& request) {
  return is_encrypted(s, request) ? "; Path=/; HttpOnly; SameSite=Lax; Secure"
                                  : "; Path=/; HttpOnly; SameSite=Lax";
}

}  // namespace

void add_user_routes(http::Router& router, Services& s) {
  const std::string tag = "Users";
  router.add<LoginRequest, LoginReply>(
      Verb::Post, "/api/v1/auth/login",
      [&s](Context c, LoginRequest r) -> asio::awaitable<Result<LoginReply>> {
        const auto address = c.request->remote.substr(0, c.request->remote.rfind(':'));
        const bool crowded = s.logins.waiting() >= kLoginsMax;
        auto wait = crowded ? 1 : s.throttle.wait(r.username, address, s.ledger.now());
        std::optional<Turns::Turn> turn;
        if (wait == 0) {
          auto taken = co_await s.logins.take();
          turn.emplace(std::move(taken));
          wait = s.throttle.wait(r.username, address, s.ledger.now());  // others may have failed meanwhile
        }
        if (crowded) {
          c.reply_headers->add("Retry-After", "1");
          co_return fail(ErrorCode::ResourceExhausted, "{} logins are being checked; retry in a moment",
                         s.logins.waiting());
        }
        if (wait > 0) {
          c.reply_headers->add("Retry-After", std::to_string(wait));
          co_return fail(ErrorCode::ResourceExhausted,
                         "too many failed logins as user '{}' from {}; retry in {} s", r.username, address,
                         wait);
        }
        auto login = co_await s.auth.login(s.pool, r.username, r.password, r.is_hashed);
        if (!login) {
          s.throttle.failed(r.username, address, s.ledger.now());
          co_return tl::unexpected(login.error());
        }
        s.throttle.succeeded(r.username, address);
        c.reply_headers->add("Set-Cookie", fmt::format("auth={}{}; Max-Age=604800", login->token,
                                                       cookie_rules(s, *c.request)));
        co_return LoginReply{login->token, to_api(login->user)};
      },
      Doc{.summary = "Log in",
          .tag = tag,
          .errors = {ErrorCode::Unauthenticated, ErrorCode::PermissionDenied, ErrorCode::ResourceExhausted},
          .open = true});
  router.add<Empty, Empty>(
      Verb::Post, "/api/v1/auth/logout",
      [&s](Context c, Empty) -> asio::awaitable<Result<Empty>> {
        const auto user = require_user(c.principal);
        if (!user) co_return tl::unexpected(user.error());
        co_await s.auth.logout(user->token_hash);
        c.reply_headers->add("Set-Cookie", fmt::format("auth={}; Max-Age=0", cookie_rules(s, *c.request)));
        co_return Empty{};
      },
      Doc{.summary = "Log out", .tag = tag});
  router.add<Empty, UserReply>(
      Verb::Get, "/api/v1/me",
      [&s](Context c, Empty) -> asio::awaitable<Result<UserReply>> {
        // A task acts as its owner.
        if (const auto task = require_task(c.principal)) {
          const auto& allocation = *s.ledger.cluster().allocation(*task);
          const auto owner = s.ledger.cluster().owner_of(cluster::Cluster::job_of(allocation));
          co_return UserReply{to_api(s.auth.users().at(owner))};
        }
        const auto user = require_user(c.principal);
        if (!user) co_return tl::unexpected(user.error());
        co_return UserReply{to_api(s.auth.users().at(user->id))};
      },
      Doc{.summary = "Get the user who makes the call", .tag = tag});
  router.add<UsersQuery, UsersReply>(
      Verb::Get, "/api/v1/users",
      [&s](Context, UsersQuery q) -> asio::awaitable<Result<UsersReply>> {
        std::vector<api::User> all;
        for (const auto& [id, user] : s.auth.users()) {
          if (q.active && user.active != *q.active) continue;
          if (q.admin && user.admin != *q.admin) continue;
          if (user.username.find(q.name) != std::string::npos) all.push_back(to_api(user));
        }
        if (const auto known = check_order(q.sort_by, q.order_by); !known)
          co_return tl::unexpected(known.error());
        sort_users(all, q.sort_by);
        if (is_descending(q.order_by)) std::ranges::reverse(all);
        const auto span = page_of(all.size(), q.offset, q.limit);
        UsersReply reply{.users = {all.begin() + static_cast<std::ptrdiff_t>(span.begin),
                                   all.begin() + static_cast<std::ptrdiff_t>(span.end)},
                         .pagination = span.pagination};
        co_return reply;
      },
      Doc{.summary = "List users", .tag = tag});
  router.add<UserCreateRequest, UserReply>(
      Verb::Post, "/api/v1/users",
      [&s](Context c, UserCreateRequest r) -> asio::awaitable<Result<UserReply>> {
        if (const auto admin = require_admin(c.principal); !admin) co_return tl::unexpected(admin.error());
        if (r.user.agent_user_group)
          if (auto wrong = config::problem(*r.user.agent_user_group, true)) co_return tl::unexpected(*wrong);
        const store::UserRecord record{.username = std::move(r.user.username),
                                       .display_name = std::move(r.user.display_name),
                                       .admin = r.user.admin,
                                       .active = r.user.active,
                                       .agent_user_group = r.user.agent_user_group};
        const auto user = co_await s.auth.create_user(record, std::move(r.password), r.is_hashed);
        if (!user) co_return tl::unexpected(user.error());
        co_return UserReply{to_api(*user)};
      },
      Doc{.summary = "Create a user", .tag = tag, .errors = {ErrorCode::PermissionDenied}});
  router.add<PatchManyRequest, PatchManyReply>(
      Verb::Patch, "/api/v1/users",
      [&s](Context c, PatchManyRequest r) { return patch_many(s, std::move(c), std::move(r)); },
      Doc{.summary = "Activate or deactivate several users: those listed, or all others that match "
                     "`filters`; reports one result for each",
          .tag = tag,
          .errors = {ErrorCode::PermissionDenied, ErrorCode::InvalidArgument}});
  router.add<ByUser, UserReply>(
      Verb::Get, "/api/v1/users/{userId}",
      [&s](Context, ByUser q) -> asio::awaitable<Result<UserReply>> {
        const auto found = s.auth.users().find(q.user_id);
        if (found == s.auth.users().end()) co_return not_found("user {} not found", q.user_id);
        co_return UserReply{to_api(found->second)};
      },
      Doc{.summary = "Get a user", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<ByName, UserReply>(
      Verb::Get, "/api/v1/users/{username}/by-username",
      [&s](Context, ByName q) -> asio::awaitable<Result<UserReply>> {
        const auto* user = s.auth.user(q.username);
        if (user == nullptr) co_return not_found("user '{}' not found", q.username);
        co_return UserReply{to_api(*user)};
      },
      Doc{.summary = "Get a user by name", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<PasswordRequest, UserReply>(
      Verb::Post, "/api/v1/users/{userId}/password",
      [&s](Context c, PasswordRequest r) {
        return patch(s, std::move(c),
                     UserPatchRequest{.user_id = r.user_id, .password = std::move(r.password)});
      },
      Doc{.summary = "Set the password of a user (for older clients)",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied},
          .body_member = "password"});
  router.add<UserPatchRequest, UserReply>(
      Verb::Patch, "/api/v1/users/{userId}",
      [&s](Context c, UserPatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change a user",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
}

}  // namespace det::master
