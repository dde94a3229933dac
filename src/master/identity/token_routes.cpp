// Access tokens: sessions that users make for their programs.

#include <algorithm>

#include "det/master/identity/token_rules.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;
using store::AccessTokenId;
using store::AccessTokenRecord;

struct TokenObject {
  AccessTokenId id;
  UserId user_id;
  std::optional<Time> expiry, created_at;
  std::string token_type = "TOKEN_TYPE_ACCESS_TOKEN";
  bool revoked = false;
  std::string description;
};
BOOST_DESCRIBE_STRUCT(TokenObject, (), (id, user_id, expiry, created_at, token_type, revoked, description))
struct ListQuery {
  std::vector<AccessTokenId> token_ids;
  std::string username, sort_by, order_by;
  bool show_inactive = false;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (), (token_ids, username, sort_by, order_by, show_inactive, offset, limit))
struct TokenListReply {
  std::vector<TokenObject> token_info;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(TokenListReply, (), (token_info, pagination))
struct TokenCreateRequest {
  UserId user_id;
  std::string lifespan;  ///< "48h"; "-1h": as long as possible; empty: 30 days
  std::string description;
};
BOOST_DESCRIBE_STRUCT(TokenCreateRequest, (), (user_id, lifespan, description))
struct CreateReply {
  std::string token;
  AccessTokenId token_id;
};
BOOST_DESCRIBE_STRUCT(CreateReply, (), (token, token_id))
struct TokenPatchRequest {
  AccessTokenId token_id;
  std::optional<std::string> description;
  bool set_revoked = false;
};
BOOST_DESCRIBE_STRUCT(TokenPatchRequest, (), (token_id, description, set_revoked))
struct TokenPatchReply {
  TokenObject token_info;
};
BOOST_DESCRIBE_STRUCT(TokenPatchReply, (), (token_info))

TokenObject to_object(const AccessTokenRecord& r) {
  return {.id = r.id,
          .user_id = r.user,
          .expiry = r.expires,
          .created_at = r.creation_time,
          .revoked = r.revoked,
          .description = r.description};
}

asio::awaitable<Result<TokenListReply>> list(Services& s, Context context, ListQuery q) {
  const auto user = require_person(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  std::optional<UserId> named;
  if (!q.username.empty()) {
    const auto* found = s.auth.user(q.username);
    if (found == nullptr) co_return not_found("user '{}' not found", q.username);
    named = found->id;
  }
  DET_CO_TRY(const auto owner, listed_owner(*user, named));
  const TokenSelection selection{owner, std::move(q.token_ids), q.show_inactive};
  const auto now = s.ledger.now();
  std::vector<TokenObject> found;
  for (const auto& [id, record] : s.auth.access_tokens())
    if (is_selected(selection, record, now)) found.push_back(to_object(record));
  if (q.order_by == "ORDER_BY_DESC") std::reverse(found.begin(), found.end());
  const auto span = page_of(found.size(), q.offset, q.limit);
  TokenListReply reply{.token_info = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.token_info.push_back(std::move(found[i]));
  co_return reply;
}

asio::awaitable<Result<CreateReply>> create(Services& s, Context context, TokenCreateRequest request) {
  const auto user = require_person(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto owner = request.user_id.value() == 0 ? user->id : request.user_id;
  if (!s.auth.users().contains(owner)) co_return not_found("user {} not found", owner);
  if (const auto allowed = check_token_owner(*user, owner); !allowed)
    co_return tl::unexpected(allowed.error());
  const auto permission = access::Permission::CreateToken;
  const auto makes = co_await may(s, context.principal, permission, Kind::Cluster, json::value(""));
  if (!makes) co_return tl::unexpected(makes.error());
  const auto hours = lifespan_hours(request.lifespan);
  if (!hours) co_return tl::unexpected(hours.error());
  const auto expires = s.ledger.now() + *hours * 3600 * kSecond;
  auto description = std::move(request.description);
  auto made = co_await s.auth.create_access_token(owner, std::move(description), expires);
  co_return CreateReply{.token = std::move(made.token), .token_id = made.id};
}

asio::awaitable<Result<TokenPatchReply>> patch(Services& s, Context context, TokenPatchRequest request) {
  const auto user = require_person(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto found = s.auth.access_tokens().find(request.token_id);
  if (found == s.auth.access_tokens().end()) co_return not_found("token {} not found", request.token_id);
  if (const auto allowed = check_token_owner(*user, found->second.user); !allowed)
    co_return tl::unexpected(allowed.error());
  auto description = std::move(request.description);
  const auto changed =
      co_await s.auth.change_access_token(request.token_id, std::move(description), request.set_revoked);
  co_return TokenPatchReply{to_object(changed)};
}

}  // namespace

void add_token_routes(http::Router& router, Services& s) {
  const std::string tag = "Tokens";
  router.add<ListQuery, TokenListReply>(
      Verb::Get, "/api/v1/tokens",
      [&s](Context c, ListQuery q) { return list(s, std::move(c), std::move(q)); },
      Doc{.summary = "List access tokens; administrators see those of all users",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  router.add<TokenCreateRequest, CreateReply>(
      Verb::Post, "/api/v1/tokens",
      [&s](Context c, TokenCreateRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Create an access token; administrators can create one for any user",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  router.add<TokenPatchRequest, TokenPatchReply>(
      Verb::Patch, "/api/v1/tokens/{tokenId}",
      [&s](Context c, TokenPatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change the description of an access token, or revoke it",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
}

}  // namespace det::master
