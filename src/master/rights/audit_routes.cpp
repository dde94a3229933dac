// Who changed what, from where, and with which answer.

#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::int32_t kMost = 10'000;

struct Query {
  std::string username, text;
  std::optional<Time> after, before;
  bool refused = false;
  std::int64_t before_id = 0;
  std::int32_t limit = 0;
};
BOOST_DESCRIBE_STRUCT(Query, (), (username, text, after, before, refused, before_id, limit))
struct AuditEntry {
  std::int64_t id = 0;
  Time time;
  UserId user_id;  ///< 0: nobody who is known
  std::string username, by_task, address, operation, path, about;
  std::int32_t status = 0;
};
BOOST_DESCRIBE_STRUCT(AuditEntry, (),
                      (id, time, user_id, username, by_task, address, operation, path, about, status))
struct AuditReply {
  std::vector<AuditEntry> entries;
};
BOOST_DESCRIBE_STRUCT(AuditReply, (), (entries))

asio::awaitable<Result<AuditReply>> list(Services& s, Query in) {
  if (in.limit < 0 || in.limit > kMost)
    co_return invalid_argument("limit is {}; it must be from 0 to {}", in.limit, kMost);
  store::AuditQuery query{.username = std::move(in.username),
                          .text = std::move(in.text),
                          .after = in.after,
                          .before = in.before,
                          .only_refused = in.refused,
                          .before_id = in.before_id};
  if (in.limit > 0) query.limit = in.limit;
  auto read = [&s, query] { return s.store.audit(query); };
  const auto found = co_await offload(s, std::move(read));
  AuditReply reply;
  for (const auto& r : found)
    reply.entries.push_back(
        {r.id, r.time, r.user, r.username, r.by_task, r.address, r.operation, r.path, r.about, r.status});
  co_return reply;
}

}  // namespace

void add_audit_routes(http::Router& router, Services& s) {
  router.add<Query, AuditReply>(
      Verb::Get, "/api/v1/audit", [&s](Context, Query q) { return list(s, std::move(q)); },
      Doc{.summary = "List the audit log, the newest entries first: logins, and what users changed or tried "
                     "to change; `beforeId` pages to older entries",
          .tag = "Cluster",
          .errors = {ErrorCode::PermissionDenied}});
}

}  // namespace det::master
