#pragma once

#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <utility>

#include "det/search/search_method.h"

namespace det::search {

/// The trials that have validated in a rung, best first; ties in the order chosen. Every
/// operation takes logarithmic time, so that a rung of a million trials costs no more than twenty steps.
class Ranking {
 public:
  /// A trial's place in a rung, as a snapshot has it.
  struct Entry {
    RequestId trial;
    double metric = 0;
    std::int64_t arrival = 0;  ///< ties: the lesser goes first
    bool promoted = false;
    BOOST_DESCRIBE_CLASS(Entry, (), (trial, metric, arrival, promoted), (), ())
  };
  struct Standing {
    RequestId trial;
    bool promoted = false;
  };
  enum class Ties { OldestFirst, NewestFirst };

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }

  /// Adds a trial and returns its place, counted from 0.
  std::int64_t insert(const RequestId& trial, double metric, Ties ties) {
    const auto arrival = ties == Ties::OldestFirst ? next_++ : -next_++;
    const Key key{metric, arrival};
    entries_.insert({key, Standing{trial}});
    return static_cast<std::int64_t>(entries_.order_of_key(key));
  }
  /// Requires: 0 <= place < size().
  Standing& at(std::int64_t place) { return entries_.find_by_order(static_cast<std::size_t>(place))->second; }
  /// Forgets a trial, wherever it stands. Looks through all: for what is rare.
  bool erase(const RequestId& trial) {
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.trial != trial) continue;
      entries_.erase(it);
      return true;
    }
    return false;
  }

  std::vector<Entry> entries() const {
    std::vector<Entry> all;
    all.reserve(entries_.size());
    for (const auto& [key, standing] : entries_)
      all.push_back({standing.trial, key.first, key.second, standing.promoted});
    return all;
  }
  void assign(const std::vector<Entry>& all) {
    entries_.clear();
    next_ = 0;
    for (const auto& entry : all) {
      entries_.insert({Key{entry.metric, entry.arrival}, Standing{entry.trial, entry.promoted}});
      next_ = std::max(next_, std::abs(entry.arrival) + 1);
    }
  }
  template <typename Visit>
  void each(Visit visit) {
    for (auto& [key, standing] : entries_) visit(standing);
  }
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [key, standing] : entries_) visit(standing);
  }

 private:
  using Key = std::pair<double, std::int64_t>;
  using Tree = __gnu_pbds::tree<Key, Standing, std::less<Key>, __gnu_pbds::rb_tree_tag,
                                __gnu_pbds::tree_order_statistics_node_update>;
  Tree entries_;
  std::int64_t next_ = 0;
};

}  // namespace det::search
