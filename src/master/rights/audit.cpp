#include "det/master/rights/audit.h"

#include "det/master/rights/access_rules.h"

namespace det::master {
namespace {

constexpr std::string_view kLogin = "POST /api/v1/auth/login";
constexpr std::size_t kLengthMax = 200;
constexpr int kTooManyRequests = 429;

/// What was typed as the name.
std::string attempted(const http::Request& request) {
  const auto body = json::parse_unambiguous(request.body);
  if (!body || !body->is_object()) return "";
  const auto* name = body->get_object().if_contains("username");
  return name != nullptr && name->is_string() ? std::string(name->get_string()).substr(0, kLengthMax) : "";
}

bool is_remembered(const http::Router::Call& call) {
  if (call.operation == kLogin) return call.status != kTooManyRequests;
  return call.principal.has_value() && changes_something(call.operation);
}

}  // namespace

asio::awaitable<void> audit(Services& s, const http::Router::Call& call) {
  if (!is_remembered(call)) co_return;
  store::AuditRecord record{.time = s.ledger.now(),
                            .address = call.request.remote,
                            .operation = call.operation,
                            .path = call.request.path.substr(0, 5 * kLengthMax),
                            .about = call.about,
                            .status = call.status};
  if (call.operation == kLogin) {
    record.username = attempted(call.request);
    if (const auto* user = s.auth.user(record.username)) record.user = user->id;
  } else if (const auto actor = require_actor(s, call.principal)) {
    record.user = actor->id;
    record.username = actor->username;
    record.by_task = actor->allocation_id;
  } else {
    co_return;
  }
  std::vector<store::Change> changes;
  changes.push_back(store::AppendAudit{std::move(record)});
  if (s.store.disk_full())  // Who is told so does not wait for space.
    s.store.commit(std::move(changes), [] {});
  else
    co_await s.ledger.write(std::move(changes));
}

}  // namespace det::master
