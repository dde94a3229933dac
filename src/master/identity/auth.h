#pragma once

#include <any>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "det/http/message.h"
#include "det/master/ledger/ledger.h"

namespace det::master {

/// A person, logged in.
struct UserPrincipal {
  UserId id;
  std::string username;
  bool admin = false;
  std::string token_hash;     ///< empty: no session
  std::string allocation_id;  ///< not empty: a task speaks in the user's name
};
/// The processes of one allocation. They may report for it, and nothing else.
struct TaskPrincipal {
  std::string allocation_id;
  bool live = false;  ///< false: the allocation is over, and its token dead
};
/// An agent. With the token of `agent.token` it is whichever agent it says; a pilot is the one that its own
/// token names, and has the work of its pool alone.
struct AgentPrincipal {
  std::string agent_id{};  ///< empty: any
  std::string allotment{}, resource_pool{};
};
/// A program on a machine of an allotment, which is no agent yet.
struct PilotPrincipal {
  std::string allotment;
};

using Principal = std::variant<UserPrincipal, TaskPrincipal, AgentPrincipal, PilotPrincipal>;

/// Who a request comes from.
///
/// Users: passwords arrive hashed once by the client (or are, here) and are kept as
/// argon2id; session tokens are random, kept as hashes, and last seven days. Task tokens
/// are a keyed hash of the allocation's id: they need no row, and die with the allocation; so
/// does the token with which a task acts as its owner.
/// Agents show the token of the file `agent.token` in the master's directory.
class Auth {
 public:
  struct Options {
    std::string task_key;  ///< secret of this cluster
    std::string agent_token;
    std::string first_password{};  ///< of the users that the first start creates
  };

  Auth(Ledger& ledger, store::Store& store, Options options);

  /// Who counts as an administrator; without this, users whose record says so.
  void administrators(std::function<bool(const store::UserRecord&)> is_one) {
    is_administrator_ = std::move(is_one);
  }

  /// Users from the store; the first start creates `admin` and `determined` with empty passwords.
  void load();

  std::string task_token(const std::string& allocation_id) const;
  /// What the pilots of an allotment show once, each for its node, to become agents.
  std::string pilot_token(const std::string& allotment) const;
  /// The token of such an agent, which dies with the allotment.
  std::string pilot_agent_token(const std::string& allotment, int node, const std::string& secret) const;
  static std::string pilot_agent_id(const std::string& pool, const std::string& allotment, int node);
  /// The token with which the processes of an allocation act for its owner while it lives: with the owner's
  /// permissions, but not those of administrators, and without anything that outlasts the allocation
  /// (passwords, tokens).
  std::string owner_token(const std::string& allocation_id) const;
  asio::awaitable<Result<std::any>> authenticate(const http::Request& request);

  struct Login {
    std::string token;
    store::UserRecord user;
  };
  /// `password` as in the API: hashed by the client when `is_hashed`. It is checked on the pool: that is slow
  /// on purpose.
  asio::awaitable<Result<Login>> login(asio::thread_pool& pool, std::string username, std::string password,
                                       bool is_hashed);
  asio::awaitable<void> logout(std::string token_hash);

  /// Tokens that users made for their programs.
  const std::map<store::AccessTokenId, store::AccessTokenRecord>& access_tokens() const { return tokens_; }
  struct AccessToken {
    store::AccessTokenId id;
    std::string token;  ///< shown this once; only its hash is kept
  };
  asio::awaitable<AccessToken> create_access_token(UserId user, std::string description, Time expires);
  /// Requires: the token exists. A revoked token stays revoked and no longer logs anyone in.
  asio::awaitable<store::AccessTokenRecord> change_access_token(store::AccessTokenId id,
                                                                std::optional<std::string> description,
                                                                bool revoke);

  const std::map<UserId, store::UserRecord>& users() const { return users_; }
  const store::UserRecord* user(const std::string& username) const;
  /// InvalidArgument: the name is not valid, or a user other than `own` has it.
  Result<void> check_name(const std::string& name, UserId own) const;
  Result<void> check_display_name(const std::string& name, UserId own) const;
  /// `record` gets its id.
  asio::awaitable<Result<store::UserRecord>> create_user(store::UserRecord record, std::string password,
                                                         bool is_hashed);
  /// A new password ends the user's sessions except the one with that hash; so does deactivating the user.
  asio::awaitable<Result<store::UserRecord>> change_user(store::UserRecord record,
                                                         std::optional<std::string> password, bool is_hashed,
                                                         std::string kept_session = "");
  /// Names of active users whose password is empty.
  std::vector<std::string> users_without_password() const;

 private:
  Ledger& ledger_;
  store::Store& store_;
  Options options_;
  std::function<bool(const store::UserRecord&)> is_administrator_;
  std::map<UserId, store::UserRecord> users_;
  std::map<store::AccessTokenId, store::AccessTokenRecord> tokens_;
  Result<std::any> owner_of_task(const std::string& token) const;
  Result<std::any> pilot(const std::string& token) const;
  Result<std::any> agent_of_pilot(const std::string& token) const;
  void make_room();  // in sessions_
  void forget_sessions(UserId user, const std::string& kept);
  std::map<std::string, store::SessionRecord> sessions_;  // some of those seen since the start
};

/// "user 2", "allocation 1.….1" or "agent", as events remember it.
std::string principal_name(const std::any& principal);

/// The principal that the call requires, or an error that says who can make it.
Result<UserPrincipal> require_user(const std::any& principal);
/// A user who logged in; a task that acts for its owner is refused.
Result<UserPrincipal> require_person(const std::any& principal);
Result<UserPrincipal> require_admin(const std::any& principal);
/// The live allocation that makes the call. Gone if it is over; PermissionDenied for any other caller.
Result<std::string> require_task(const std::any& principal);
Result<AgentPrincipal> require_agent(const std::any& principal);
/// The same, which may speak for this agent.
Result<AgentPrincipal> require_agent(const std::any& principal, const std::string& agent_id);
Result<PilotPrincipal> require_pilot(const std::any& principal);

}  // namespace det::master
