// Users and log-in.

#include "det/master/identity/login_rules.h"
#include "det/master/identity/user_rules.h"
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
struct UsersReply {
  std::vector<api::User> users;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(UsersReply, (), (users, pagination))
struct NewUser {
  std::string username, display_name;
  bool admin = false, active = true, remote = false;
  std::optional<config::AgentUserGroup> agent_user_group;
  static bool required(std::string_view name) { return name == "username"; }
};
BOOST_DESCRIBE_STRUCT(NewUser, (), (username, display_name, admin, active, remote, agent_user_group))
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

asio::awaitable<Result<UserReply>> patch(Services& s, Context context, UserPatchRequest request) {
  const auto caller = require_person(context.principal);
  if (!caller) co_return tl::unexpected(caller.error());
  const auto found = s.auth.users().find(request.user_id);
  if (found == s.auth.users().end()) co_return not_found("user {} not found", request.user_id);
  if (const auto allowed = check_user_change(*caller, request); !allowed)
    co_return tl::unexpected(allowed.error());
  DET_CO_TRY(auto record, patched_user(found->second, request));
  const auto& users = s.auth.users();
  const auto has_administrator = [&s](const UsersById& all) { return s.roles.has_administrator(all); };
  const auto remains = s.roles.enforced() ? check_cluster_admin_remains(users, record, has_administrator)
                                          : check_administrator_remains(users, record);
  if (!remains) co_return tl::unexpected(remains.error());
  const auto changed =
      co_await s.auth.change_user(std::move(record), request.password, request.is_hashed, caller->token_hash);
  if (!changed) co_return tl::unexpected(changed.error());
  co_return UserReply{to_api(*changed)};
}

/// Each on its own.
asio::awaitable<Result<PatchManyReply>> patch_many(Services& s, Context context, PatchManyRequest request) {
  const auto caller = require_admin(context.principal);
  if (!caller) co_return tl::unexpected(caller.error());
  if (!request.activate)
    co_return invalid_argument(
        "activate is required; give true to activate the users, or false to deactivate them");
  auto ids = std::move(request.user_ids);
  if (request.filters) ids = filtered_users(s.auth.users(), *request.filters, caller->id);
  PatchManyReply reply;
  for (const auto id : ids) {
    UserPatchRequest change{.user_id = id, .active = request.activate};
    const auto done = co_await patch(s, context, std::move(change));
    reply.results.push_back({done ? "" : done.error().message(), id});
  }
  co_return reply;
}

/// Logins are checked one at a time; what is refused is refused before its password is checked.
asio::awaitable<Result<LoginReply>> log_in(Services& s, Context context, LoginRequest request) {
  const auto address = login_address(context.request->remote);
  const auto throttled = [&] {
    const auto seconds = s.throttle.wait(request.username, address, s.ledger.now());
    return refuse_when_throttled(request.username, address, seconds);
  };
  auto refusal = refuse_when_crowded(s.logins.waiting());
  if (!refusal) refusal = throttled();
  std::optional<Turns::Turn> turn;
  if (!refusal) {
    auto taken = co_await s.logins.take();
    turn.emplace(std::move(taken));
    refusal = throttled();  // others may have failed meanwhile
  }
  if (refusal) {
    context.reply_headers->add("Retry-After", std::to_string(refusal->retry_after));
    co_return tl::unexpected(refusal->error);
  }
  auto login = co_await s.auth.login(s.pool, request.username, request.password, request.is_hashed);
  if (!login) {
    s.throttle.failed(request.username, address, s.ledger.now());
    co_return tl::unexpected(login.error());
  }
  s.throttle.succeeded(request.username, address);
  context.reply_headers->add("Set-Cookie", session_cookie(login->token, is_encrypted(s, *context.request)));
  co_return LoginReply{login->token, to_api(login->user)};
}

}  // namespace

void add_user_routes(http::Router& router, Services& s) {
  const std::string tag = "Users";
  router.add<LoginRequest, LoginReply>(
      Verb::Post, "/api/v1/auth/login",
      [&s](Context c, LoginRequest r) { return log_in(s, std::move(c), std::move(r)); },
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
        c.reply_headers->add("Set-Cookie", expired_session_cookie(is_encrypted(s, *c.request)));
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
        DET_CO_TRY(const auto all, list_users(s.auth.users(), q));
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
                                       .agent_user_group = r.user.agent_user_group,
                                       .remote = r.user.remote};
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
