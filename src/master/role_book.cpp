#include "det/master/role_book.h"

#include <algorithm>

namespace det::master {
namespace {

constexpr const char* kBegun = "role_assignments_begun";

bool is_administrator(const RoleBook::Record& record) {
  return record.role == access::kClusterAdmin.value() && record.workspace == 0;
}

}  // namespace

RoleBook::RoleBook(store::Store& store, access::Mode mode)
    : mode_(mode), begun_(store.setting(kBegun).has_value()) {
  for (const auto& record : store.role_assignments()) assignments_.insert(record);
}

RoleBook::Changes RoleBook::begin(const std::map<UserId, store::UserRecord>& users) {
  if (begun_) return {};
  begun_ = true;
  std::vector<Record> first;
  for (const auto& [id, user] : users)
    if (user.admin) first.push_back({id, access::kClusterAdmin.value(), 0});
  auto changes = assign(first);
  changes.push_back(store::PutSetting{kBegun, "yes"});
  return changes;
}

std::vector<access::Grant> RoleBook::grants(UserId user) const {
  std::vector<access::Grant> grants;
  for (auto it = assignments_.lower_bound(Record{user, 0, 0}); it != assignments_.end() && it->user == user;
       ++it) {
    access::Grant grant{access::RoleId(it->role), std::nullopt};
    if (it->workspace != 0) grant.workspace = it->workspace;
    grants.push_back(grant);
  }
  return grants;
}

RoleBook::Changes RoleBook::assign(const std::vector<Record>& records) {
  Changes changes;
  for (const auto& record : records)
    if (assignments_.insert(record).second) changes.push_back(store::PutRoleAssignment{record});
  return changes;
}

RoleBook::Changes RoleBook::remove(const std::vector<Record>& records) {
  Changes changes;
  for (const auto& record : records)
    if (assignments_.erase(record) > 0) changes.push_back(store::DeleteRoleAssignment{record});
  return changes;
}

RoleBook::Changes RoleBook::forget_workspace(std::int64_t workspace) {
  std::vector<Record> in_it;
  for (const auto& record : assignments_)
    if (record.workspace == workspace) in_it.push_back(record);
  return remove(in_it);
}

bool RoleBook::has_administrator(const std::map<UserId, store::UserRecord>& users,
                                 const std::vector<Record>& without) const {
  return std::any_of(assignments_.begin(), assignments_.end(), [&](const Record& record) {
    const auto user = users.find(record.user);
    return is_administrator(record) && user != users.end() && user->second.active &&
           std::find(without.begin(), without.end(), record) == without.end();
  });
}

}  // namespace det::master
