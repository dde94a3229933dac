#include "det/master/identity/auth.h"

#include <crypt.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/api/agent.h"
#include "det/base/text.h"
#include "det/http/offload.h"
#include "det/master/identity/secret.h"

namespace det::master {
namespace {

constexpr std::size_t kUserNameBytesMax = 256;

constexpr std::int64_t kSessionSeconds = 7 * 24 * 3600;
constexpr std::string_view kTaskPrefix = "det_task_";
constexpr std::string_view kOwnerPrefix = "det_owner_";
constexpr std::string_view kPilotPrefix = "det_pilot_";
constexpr std::string_view kPilotAgentPrefix = "det_node_";
constexpr std::string_view kPasswordSalt = "GubPEmmotfiK9TMD6Zdw";  // of the API, not a secret

bool equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

// The form in which passwords travel; the empty one stays empty.
std::string prehashed(const std::string& password, bool is_hashed) {
  if (is_hashed || password.empty()) return password;
  const std::string salted = std::string(kPasswordSalt) + password;
  unsigned char hash[crypto_hash_sha512_BYTES];
  crypto_hash_sha512(hash, reinterpret_cast<const unsigned char*>(salted.data()), salted.size());
  return hex(hash);
}

std::string stored_hash(const std::string& prehash) {
  if (prehash.empty()) return "";
  char out[crypto_pwhash_STRBYTES];
  const int failed = crypto_pwhash_str(out, prehash.data(), prehash.size(), 2, std::size_t{64} << 20);
  if (failed != 0) throw std::bad_alloc();
  return out;
}

/// Of a user who was imported from the original.
bool is_bcrypt(const std::string& stored) {
  return stored.starts_with("$2");
}

bool verify_bcrypt(const std::string& stored, const std::string& prehash) {
  if (prehash.empty()) return false;  // the original has no hash of the empty password
  const auto data = std::make_unique<crypt_data>();
  const char* hashed = ::crypt_r(prehash.c_str(), stored.c_str(), data.get());
  return hashed != nullptr && std::strlen(hashed) == stored.size() &&
         sodium_memcmp(hashed, stored.data(), stored.size()) == 0;
}

bool verify(const std::string& stored, const std::string& prehash) {
  if (stored.empty()) return prehash.empty();
  if (is_bcrypt(stored)) return verify_bcrypt(stored, prehash);
  return crypto_pwhash_str_verify(stored.c_str(), prehash.data(), prehash.size()) == 0;
}

}  // namespace

Auth::Auth(Ledger& ledger, store::Store& store, Options options)
    : ledger_(ledger), store_(store), options_(std::move(options)) {}

void Auth::load() {
  for (auto& user : store_.users()) users_.emplace(user.id, std::move(user));
  for (auto& token : store_.access_tokens()) tokens_.emplace(token.id, std::move(token));
  if (!users_.empty()) return;
  std::vector<store::Change> changes;
  for (const auto& [id, name, admin] : {std::tuple{1, "admin", true}, std::tuple{2, "determined", false}}) {
    store::UserRecord user{.id = UserId{id}, .username = name, .admin = admin, .modified_at = ledger_.now()};
    user.password_hash = stored_hash(prehashed(options_.first_password, false));
    changes.push_back(store::PutUser{user});
    users_.emplace(user.id, std::move(user));
  }
  store_.commit(std::move(changes), [] {});
  store_.flush();
}

namespace {

std::string keyed_hash(const std::string& key, const std::string& text) {
  unsigned char mac[crypto_generichash_BYTES];
  crypto_generichash(mac, sizeof mac, reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return hex(mac);
}

/// The allocation that a token says it is of.
std::string allocation_in(const std::string& token, std::string_view prefix) {
  return token.substr(prefix.size(), token.rfind('.') - prefix.size());
}

}  // namespace

std::string Auth::task_token(const std::string& allocation_id) const {
  return fmt::format("{}{}.{}", kTaskPrefix, allocation_id, keyed_hash(options_.task_key, allocation_id));
}

std::string Auth::owner_token(const std::string& allocation_id) const {
  // No allocation's id begins so: neither token can be made of the other.
  return fmt::format("{}{}.{}", kOwnerPrefix, allocation_id,
                     keyed_hash(options_.task_key, "owner of " + allocation_id));
}

std::string Auth::pilot_token(const std::string& allotment) const {
  return fmt::format("{}{}.{}", kPilotPrefix, allotment,
                     keyed_hash(options_.task_key, "pilot of " + allotment));
}

std::string Auth::pilot_agent_token(const std::string& allotment, int node, const std::string& secret) const {
  const auto whom = fmt::format("node {} of {} with {}", node, allotment, secret);
  return fmt::format("{}{}-{}.{}", kPilotAgentPrefix, allotment, node, keyed_hash(options_.task_key, whom));
}

std::string Auth::pilot_agent_id(const std::string& pool, const std::string& allotment, int node) {
  return fmt::format("{}-{}-{}", api::is_name(pool) ? pool : "node", allotment, node);
}

Result<std::any> Auth::pilot(const std::string& token) const {
  const auto id = allocation_in(token, kPilotPrefix);
  if (!equal(token, pilot_token(id))) return fail(ErrorCode::Unauthenticated, "invalid credentials");
  return std::any(Principal(PilotPrincipal{id}));
}

Result<std::any> Auth::agent_of_pilot(const std::string& token) const {
  const auto name = allocation_in(token, kPilotAgentPrefix);  // "17-0"
  const auto dash = name.rfind('-');
  if (dash != std::string::npos) {
    const auto* allotment = ledger_.cluster().allotment(name.substr(0, dash));
    const int node = std::atoi(name.c_str() + dash + 1);
    if (allotment != nullptr)
      if (const auto claim = allotment->claims.find(node);
          claim != allotment->claims.end() &&
          equal(token, pilot_agent_token(allotment->id, node, claim->second)))
        return std::any(
            Principal(AgentPrincipal{.agent_id = pilot_agent_id(allotment->pool, allotment->id, node),
                                     .allotment = allotment->id,
                                     .resource_pool = allotment->pool}));
  }
  return fail(ErrorCode::Unauthenticated, "the machine was given back; its agent is unknown");
}

Result<std::any> Auth::owner_of_task(const std::string& token) const {
  const auto id = allocation_in(token, kOwnerPrefix);
  if (!equal(token, owner_token(id))) return fail(ErrorCode::Unauthenticated, "invalid credentials");
  const auto& cluster = ledger_.cluster();
  const auto* allocation = cluster.allocation(id);
  if (allocation == nullptr)
    return fail(ErrorCode::Gone, "allocation {} is over, so its processes can no longer act for its owner",
                id);
  const auto owner = users_.find(cluster.owner_of(cluster::Cluster::job_of(*allocation)));
  if (owner == users_.end() || !owner->second.active)
    return fail(ErrorCode::PermissionDenied, "the owner of allocation {} is deactivated", id);
  // Never as an administrator: whoever can submit code could become one.
  UserPrincipal principal{.id = owner->first,
                          .username = owner->second.username,
                          .admin = false,
                          .token_hash = "",
                          .allocation_id = id};
  return std::any(Principal(std::move(principal)));
}

namespace {

/// Whether a page of another site makes this call in the name of a user's cookie.
bool forged(const http::Request& request) {
  const bool only_reads = (request.method == "GET" || request.method == "HEAD") &&
                          !request.headers.contains("Upgrade");  // a WebSocket is open to every page
  if (only_reads || request.headers.contains("Authorization")) return false;
  const auto* site = request.headers.find("Sec-Fetch-Site");
  if (site != nullptr) return *site != "same-origin" && *site != "none";
  const auto* origin = request.headers.find("Origin");
  const auto* host = request.headers.find("Host");
  return origin != nullptr && host != nullptr && !origin->ends_with("://" + *host);
}

}  // namespace

asio::awaitable<Result<std::any>> Auth::authenticate(const http::Request& request) {
  if (forged(request))
    co_return fail(ErrorCode::PermissionDenied, "a page of another site cannot make this call");
  const auto token = http::bearer_token(request);
  if (!token || token->empty()) co_return fail(ErrorCode::Unauthenticated, "token missing");
  if (token->starts_with(kTaskPrefix)) {
    const auto id = allocation_in(*token, kTaskPrefix);
    if (!equal(*token, task_token(id))) co_return fail(ErrorCode::Unauthenticated, "invalid credentials");
    TaskPrincipal task{.allocation_id = id, .live = ledger_.cluster().allocation(id) != nullptr};
    co_return std::any(Principal(std::move(task)));
  }
  if (token->starts_with(kOwnerPrefix)) co_return owner_of_task(*token);
  if (token->starts_with(kPilotPrefix)) co_return pilot(*token);
  if (token->starts_with(kPilotAgentPrefix)) co_return agent_of_pilot(*token);
  if (equal(*token, options_.agent_token)) co_return std::any(Principal(AgentPrincipal{}));

  const auto hash = digest(*token);
  auto found = sessions_.find(hash);
  if (found == sessions_.end()) {
    const auto session = store_.session(hash);
    if (!session) co_return fail(ErrorCode::Unauthenticated, "invalid credentials");
    make_room();
    found = sessions_.insert_or_assign(hash, *session).first;
  }
  if (found->second.expires < ledger_.now())
    co_return fail(ErrorCode::Unauthenticated, "the session has expired; log in again");
  const auto user = users_.find(found->second.user);
  if (user == users_.end()) co_return fail(ErrorCode::Unauthenticated, "invalid credentials");
  if (!user->second.active)
    co_return fail(ErrorCode::PermissionDenied,
                   "user '{}' is deactivated; ask an administrator to activate it", user->second.username);
  UserPrincipal principal{.id = user->first,
                          .username = user->second.username,
                          .admin = user->second.admin,
                          .token_hash = hash,
                          .allocation_id = ""};
  if (is_administrator_) principal.admin = is_administrator_(user->second);
  co_return std::any(Principal(std::move(principal)));
}

void Auth::make_room() {
  constexpr std::size_t kRemembered = 10'000;
  if (sessions_.size() < kRemembered) return;
  std::erase_if(sessions_, [now = ledger_.now()](const auto& entry) { return entry.second.expires < now; });
  if (sessions_.size() >= kRemembered) sessions_.clear();  // the store still has them
}

const store::UserRecord* Auth::user(const std::string& username) const {
  const auto wanted = to_lower(username);
  const store::UserRecord* found = nullptr;
  for (const auto& [id, user] : users_) {
    if (user.username == username) return &user;
    if (to_lower(user.username) == wanted) found = &user;
  }
  return found;
}

asio::awaitable<Result<Auth::Login>> Auth::login(asio::thread_pool& pool, std::string username,
                                                 std::string password, bool is_hashed) {
  // An unknown user costs the same time as a wrong password.
  static const std::string kNobody = stored_hash("nobody");
  const auto* known = user(username);
  const auto hash = known != nullptr ? known->password_hash : kNobody;
  // What the original hashed costs a second; with the next log-in it does not.
  auto check = [hash, given = prehashed(password, is_hashed)]() -> std::pair<bool, std::string> {
    const bool right = verify(hash, given);
    return {right, right && is_bcrypt(hash) ? stored_hash(given) : ""};
  };
  auto [right, renewed] = co_await http::offload(pool, std::move(check));
  const auto* found = user(username);
  right = right && found != nullptr && found->password_hash == hash;  // nor was it changed meanwhile
  if (found != nullptr && found->remote)
    co_return fail(ErrorCode::PermissionDenied,
                   "user '{}' is remote and cannot log in with a password; use an access token, or ask an "
                   "administrator to make the user local",
                   found->username);
  if (found == nullptr || !right) co_return fail(ErrorCode::Unauthenticated, "invalid credentials");
  if (!found->active)
    co_return fail(ErrorCode::PermissionDenied,
                   "user '{}' is deactivated; ask an administrator to activate it", username);
  Login login{.token = "det_user_" + random_secret(), .user = *found};
  store::SessionRecord session{.token_hash = digest(login.token),
                               .user = found->id,
                               .expires = ledger_.now() + kSessionSeconds * kSecond};
  make_room();
  sessions_.insert_or_assign(session.token_hash, session);
  std::vector<store::Change> changes;
  changes.push_back(store::PutSession{std::move(session)});
  if (!renewed.empty()) {
    auto& record = users_.at(found->id);
    record.password_hash = std::move(renewed);
    changes.push_back(store::PutUser{record});
  }
  co_await ledger_.write(std::move(changes));
  co_return login;
}

asio::awaitable<void> Auth::logout(std::string token_hash) {
  if (token_hash.empty()) co_return;  // a task's, which ends with the task
  sessions_.erase(token_hash);
  std::vector<store::Change> changes;
  changes.push_back(store::DeleteSession{std::move(token_hash)});
  co_await ledger_.write(std::move(changes));
}

asio::awaitable<Auth::AccessToken> Auth::create_access_token(UserId user, std::string description,
                                                             Time expires) {
  const store::AccessTokenId id(tokens_.empty() ? 1 : tokens_.rbegin()->first.value() + 1);
  AccessToken made{.id = id, .token = "det_token_" + random_secret()};
  store::AccessTokenRecord record{.id = id,
                                  .user = user,
                                  .description = std::move(description),
                                  .creation_time = ledger_.now(),
                                  .expires = expires,
                                  .token_hash = digest(made.token)};
  tokens_.emplace(id, record);
  std::vector<store::Change> changes;
  changes.push_back(store::PutSession{{record.token_hash, user, expires}});
  changes.push_back(store::PutAccessToken{std::move(record)});
  co_await ledger_.write(std::move(changes));
  co_return made;
}

asio::awaitable<store::AccessTokenRecord> Auth::change_access_token(store::AccessTokenId id,
                                                                    std::optional<std::string> description,
                                                                    bool revoke) {
  auto& record = tokens_.at(id);
  std::vector<store::Change> changes;
  if (description) record.description = *std::move(description);
  if (revoke && !record.revoked) {
    record.revoked = true;
    sessions_.erase(record.token_hash);
    changes.push_back(store::DeleteSession{record.token_hash});
  }
  auto changed = record;
  changes.push_back(store::PutAccessToken{changed});
  co_await ledger_.write(std::move(changes));
  co_return changed;
}

namespace {

Error no_password(const std::string& username) {
  return Error(ErrorCode::InvalidArgument,
               fmt::format("user '{}' is remote and has no password; leave the password out", username));
}

}  // namespace

/// Names that differ only in the case of their letters are one.
Result<void> Auth::check_name(const std::string& name, UserId own) const {
  if (trim(name).empty())
    return invalid_argument("the user name is empty; it must have at least one character");
  if (trim(name).size() != name.size())
    return invalid_argument("user name '{}' begins or ends with a space; remove it", name);
  if (name.size() > kUserNameBytesMax)
    return invalid_argument("the user name has {} bytes; it can have at most {}", name.size(),
                            kUserNameBytesMax);
  if (std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    return invalid_argument("the user name has a control character; remove it");
  for (const auto& [id, user] : users_)
    if (id != own && to_lower(user.username) == to_lower(name))
      return invalid_argument("user '{}' already exists; choose another user name", user.username);
  return {};
}

Result<void> Auth::check_display_name(const std::string& name, UserId own) const {
  if (name.empty()) return {};
  for (const auto& [id, user] : users_)
    if (id != own &&
        (to_lower(user.display_name) == to_lower(name) || to_lower(user.username) == to_lower(name)))
      return invalid_argument("display name '{}' is taken by user '{}'; choose another one", name,
                              user.username);
  return {};
}

asio::awaitable<Result<store::UserRecord>> Auth::create_user(store::UserRecord record, std::string password,
                                                             bool is_hashed) {
  if (const auto fine = check_name(record.username, {}); !fine) co_return tl::unexpected(fine.error());
  if (const auto fine = check_display_name(record.display_name, {}); !fine)
    co_return tl::unexpected(fine.error());
  if (record.remote && !password.empty()) co_return tl::unexpected(no_password(record.username));
  record.id = UserId{users_.rbegin()->first.value() + 1};
  record.password_hash = stored_hash(prehashed(password, is_hashed));
  record.modified_at = ledger_.now();
  users_.emplace(record.id, record);
  std::vector<store::Change> changes;
  changes.push_back(store::PutUser{record});
  co_await ledger_.write(std::move(changes));
  co_return record;
}

asio::awaitable<Result<store::UserRecord>> Auth::change_user(store::UserRecord record,
                                                             std::optional<std::string> password,
                                                             bool is_hashed, std::string kept_session) {
  const auto known = users_.find(record.id);
  if (known == users_.end() || known->second.username != record.username)
    if (const auto fine = check_name(record.username, record.id); !fine)
      co_return tl::unexpected(fine.error());
  if (known == users_.end() || known->second.display_name != record.display_name)
    if (const auto fine = check_display_name(record.display_name, record.id); !fine)
      co_return tl::unexpected(fine.error());
  if (record.remote && password) co_return tl::unexpected(no_password(record.username));
  if (password) record.password_hash = stored_hash(prehashed(*password, is_hashed));
  const bool ends = password || (known != users_.end() && known->second.active && !record.active);
  record.modified_at = ledger_.now();
  users_.insert_or_assign(record.id, record);
  std::vector<store::Change> changes;
  changes.push_back(store::PutUser{record});
  if (ends) {
    changes.push_back(store::DeleteSessionsOf{record.id, kept_session});
    forget_sessions(record.id, kept_session);
  }
  co_await ledger_.write(std::move(changes));
  if (ends) forget_sessions(record.id, kept_session);  // one may have been read again meanwhile
  co_return record;
}

void Auth::forget_sessions(UserId user, const std::string& kept) {
  std::set<std::string> stay = {kept};
  for (const auto& [id, token] : tokens_) stay.insert(token.token_hash);
  std::erase_if(sessions_,
                [&](const auto& entry) { return entry.second.user == user && !stay.contains(entry.first); });
}

std::vector<std::string> Auth::users_without_password() const {
  std::vector<std::string> names;
  for (const auto& [id, user] : users_)
    if (user.active && !user.remote && user.password_hash.empty()) names.push_back(user.username);
  return names;
}

std::string principal_name(const std::any& principal) {
  const auto& who = std::any_cast<const Principal&>(principal);
  if (const auto* user = std::get_if<UserPrincipal>(&who)) return fmt::format("user {}", user->id);
  if (const auto* task = std::get_if<TaskPrincipal>(&who)) return "allocation " + task->allocation_id;
  if (const auto* agent = std::get_if<AgentPrincipal>(&who); agent != nullptr && !agent->agent_id.empty())
    return "agent " + agent->agent_id;
  if (const auto* pilot = std::get_if<PilotPrincipal>(&who)) return "pilot of allotment " + pilot->allotment;
  return "agent";
}

Result<UserPrincipal> require_user(const std::any& principal) {
  const auto& who = std::any_cast<const Principal&>(principal);
  if (const auto* user = std::get_if<UserPrincipal>(&who)) return *user;
  return fail(ErrorCode::PermissionDenied, "only users can make this call; tasks and agents cannot");
}

Result<UserPrincipal> require_person(const std::any& principal) {
  DET_TRY(auto user, require_user(principal));
  if (!user.allocation_id.empty())
    return fail(ErrorCode::PermissionDenied,
                "task {} cannot make this call for user '{}', because its effect outlasts the task; log in",
                user.allocation_id, user.username);
  return user;
}

Result<UserPrincipal> require_admin(const std::any& principal) {
  DET_TRY(auto user, require_user(principal));
  if (!user.admin)
    return fail(ErrorCode::PermissionDenied, "user '{}' is not an administrator", user.username);
  return user;
}

Result<std::string> require_task(const std::any& principal) {
  const auto& who = std::any_cast<const Principal&>(principal);
  const auto* task = std::get_if<TaskPrincipal>(&who);
  if (task == nullptr)
    return fail(ErrorCode::PermissionDenied, "only the processes of a trial can make this call");
  if (!task->live) return fail(ErrorCode::Gone, "allocation {} is over", task->allocation_id);
  return task->allocation_id;
}

Result<AgentPrincipal> require_agent(const std::any& principal) {
  const auto& who = std::any_cast<const Principal&>(principal);
  if (const auto* agent = std::get_if<AgentPrincipal>(&who)) return *agent;
  return fail(ErrorCode::PermissionDenied, "only agents can make this call");
}

Result<AgentPrincipal> require_agent(const std::any& principal, const std::string& agent_id) {
  DET_TRY(auto agent, require_agent(principal));
  if (!agent.agent_id.empty() && agent.agent_id != agent_id)
    return fail(ErrorCode::PermissionDenied, "the token of agent '{}' is not for agent '{}'", agent.agent_id,
                agent_id);
  return agent;
}

Result<PilotPrincipal> require_pilot(const std::any& principal) {
  const auto& who = std::any_cast<const Principal&>(principal);
  if (const auto* pilot = std::get_if<PilotPrincipal>(&who)) return *pilot;
  return fail(ErrorCode::PermissionDenied, "only the machines of an allotment can make this call");
}

}  // namespace det::master
