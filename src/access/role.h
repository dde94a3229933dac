#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>

#include "det/access/permission.h"
#include "det/base/id.h"

namespace det::access {

using RoleId = Id<struct RoleTag>;

inline constexpr RoleId kClusterAdmin{1};
inline constexpr RoleId kWorkspaceAdmin{2};

/// Permissions under one name. The roles are fixed: ids and names are the original's.
struct Role {
  RoleId id;
  std::string_view name;
  std::string_view summary;
  std::set<Permission> permissions;
  bool cluster_only = false;  ///< can be assigned for the whole cluster only
};

/// From the least to the most.
std::span<const Role> roles();
/// Null: there is none.
const Role* find_role(RoleId id);
const Role* find_role(std::string_view name);

}  // namespace det::access
