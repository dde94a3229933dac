#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "det/store/store.h"

namespace det::master {

using store::GroupId;

/// The groups of users, completely in memory. Changes are made here at once and returned for the store, as in
/// RoleBook, of which this is a part. To see the effect of a change beforehand, make it in a copy.
class GroupBook {
 public:
  using Record = store::GroupRecord;
  using Changes = std::vector<store::Change>;

  explicit GroupBook(store::Store& store);  ///< Reads the store.

  const std::map<GroupId, Record>& all() const { return groups_; }
  /// Null: there is none.
  const Record* find(GroupId id) const;
  bool has(GroupId group, UserId user) const;

  /// AlreadyExists for a name that is taken, InvalidArgument for one that cannot be. `record` gets its id.
  Result<Changes> create(Record& record);
  /// Replaces what has this id; the same errors.
  Result<Changes> change(Record record);
  Changes remove(GroupId id);

 private:
  Result<void> check(const Record& record) const;

  std::map<GroupId, Record> groups_;
  std::int64_t next_ = 1;
};

}  // namespace det::master
