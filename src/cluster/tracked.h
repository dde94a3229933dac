#pragma once

#include <map>
#include <set>
#include <utility>

namespace det::cluster {

/// A map that knows which of its values may have changed: they are reached for that through `change`, `put`
/// and `take` alone, so that what is derived from them can be kept up to date without looking at all.
template <class Key, class Value>
class Tracked {
 public:
  const std::map<Key, Value>& all() const { return values_; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  auto find(const Key& key) const { return values_.find(key); }
  bool contains(const Key& key) const { return values_.contains(key); }
  const Value& at(const Key& key) const { return values_.at(key); }

  /// To be changed; nullptr if it is not there.
  Value* change(const Key& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return nullptr;
    changed_.insert(key);
    return &found->second;
  }
  Value& put(const Key& key, Value value) {
    changed_.insert(key);
    return values_.insert_or_assign(key, std::move(value)).first->second;
  }
  /// Requires: it is there.
  Value take(const Key& key) {
    changed_.insert(key);
    return std::move(values_.extract(key).mapped());
  }

  /// Those that were changed, came or went since it was asked last.
  std::set<Key> take_changed() { return std::exchange(changed_, {}); }
  void all_changed() {
    for (const auto& [key, _] : values_) changed_.insert(key);
  }

 private:
  std::map<Key, Value> values_;
  std::set<Key> changed_;
};

}  // namespace det::cluster
