#include "det/master/rights/role_book.h"

#include <algorithm>

namespace det::master {
namespace {

constexpr const char* kBegun = "role_assignments_begun";

bool is_administrator(const RoleBook::Record& record) {
  return record.role == access::kClusterAdmin.value() && record.workspace == 0;
}

}  // namespace

RoleBook::RoleBook(store::Store& store, access::Mode mode)
    : mode_(mode), begun_(store.setting(kBegun).has_value()), groups_(store) {
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
  const auto add = [&grants](const Record& record) {
    access::Grant grant{access::RoleId(record.role), std::nullopt};
    if (record.workspace != 0) grant.workspace = record.workspace;
    grants.push_back(grant);
  };
  auto it = assignments_.begin();
  for (; it != assignments_.end() && it->group; ++it)  // of groups: they have no user, so they come first
    if (groups_.has(it->group, user)) add(*it);
  it = assignments_.lower_bound(Record{user, 0, 0});
  for (; it != assignments_.end() && it->user == user; ++it) add(*it);
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

RoleBook::Changes RoleBook::forget_group(GroupId group) {
  std::vector<Record> of_it;
  for (const auto& record : assignments_)
    if (record.group == group) of_it.push_back(record);
  auto changes = remove(of_it);
  for (auto& change : groups_.remove(group)) changes.push_back(std::move(change));
  return changes;
}

bool RoleBook::has_administrator(const std::map<UserId, store::UserRecord>& users) const {
  return std::ranges::any_of(assignments_, [&](const Record& record) {
    return is_administrator(record) && std::ranges::any_of(users, [&](const auto& entry) {
             const auto& [id, user] = entry;
             return user.active && (record.user == id || groups_.has(record.group, id));
           });
  });
}

}  // namespace det::master
