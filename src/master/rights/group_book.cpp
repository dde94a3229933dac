#include "det/master/rights/group_book.h"

#include "det/base/text.h"

namespace det::master {
namespace {

constexpr const char* kNext = "next_group_id";
constexpr std::size_t kNameMax = 128;

}  // namespace

GroupBook::GroupBook(store::Store& store) {
  for (auto& group : store.groups()) groups_.emplace(group.id, std::move(group));
  // Ids are not given again, even when the newest group was deleted before a restart.
  if (const auto kept = store.setting(kNext)) next_ = std::stoll(*kept);
}

const GroupBook::Record* GroupBook::find(GroupId id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

bool GroupBook::has(GroupId group, UserId user) const {
  const auto* found = find(group);
  return found != nullptr && found->members.contains(user);
}

Result<void> GroupBook::check(const Record& record) const {
  if (record.name.empty() || record.name.size() > kNameMax || trim(record.name) != record.name)
    return invalid_argument(
        "group name '{}' is not valid; it must have 1 to {} characters and not begin or end with a space",
        record.name, kNameMax);
  for (const auto& [id, other] : groups_)
    if (id != record.id && other.name == record.name)
      return fail(ErrorCode::AlreadyExists, "group '{}' already exists; choose another name", record.name);
  return {};
}

Result<GroupBook::Changes> GroupBook::create(Record& record) {
  record.id = GroupId(next_);
  if (auto good = check(record); !good) return tl::unexpected(good.error());
  ++next_;
  groups_[record.id] = record;
  Changes changes;
  changes.push_back(store::PutGroup{record});
  changes.push_back(store::PutSetting{kNext, std::to_string(next_)});
  return changes;
}

Result<GroupBook::Changes> GroupBook::change(Record record) {
  if (auto good = check(record); !good) return tl::unexpected(good.error());
  groups_[record.id] = record;
  Changes changes;
  changes.push_back(store::PutGroup{std::move(record)});
  return changes;
}

GroupBook::Changes GroupBook::remove(GroupId id) {
  Changes changes;
  if (groups_.erase(id) > 0) changes.push_back(store::DeleteGroup{id});
  return changes;
}

}  // namespace det::master
