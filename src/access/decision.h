#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/access/permission.h"
#include "det/access/role.h"

/// Decides who can do what. All inputs are arguments, so each decision is a row of a table in a test.
namespace det::access {

/// Whether roles are enforced.
enum class Mode {
  Basic,  ///< all users view, change and end everything; only owners and administrators delete
  Rbac,   ///< only what a role grants
};

/// A role somewhere.
struct Grant {
  RoleId role;
  std::optional<std::int64_t> workspace;  ///< none: everywhere
};

struct Caller {
  UserId user;
  std::string name;
  bool admin = false;         ///< counts in Mode::Basic only
  std::vector<Grant> grants;  ///< count in Mode::Rbac only
  bool is_task = false;       ///< a process that the user started, which never acts as administrator
};

/// What the call is about.
struct Object {
  std::string what;                       ///< for sentences: "experiment 7", "the cluster"
  std::optional<std::int64_t> workspace;  ///< none: it is the cluster's
  std::string workspace_name;
  std::vector<UserId> owners;  ///< empty: nobody's
  std::string owner_name{};    ///< of the first
};

enum class Answer {
  Yes,
  No,
  Hidden,  ///< no, and the caller may not even know that it exists
};

struct Decision {
  Answer answer = Answer::No;
  std::string reason;  ///< of a No: who, what, and which role would be needed
};

Decision decide(Mode mode, const Caller& caller, Permission permission, const Object& object);

/// Whether the answer is yes whatever the object.
bool always(Mode mode, const Caller& caller, Permission permission);

/// The workspaces in which the caller has the permission for what is its own; none: in all.
std::optional<std::set<std::int64_t>> where(Mode mode, const Caller& caller, Permission permission);

/// Whether the caller may do everything.
bool is_administrator(Mode mode, const Caller& caller);

}  // namespace det::access
