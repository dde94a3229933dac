#pragma once

#include <algorithm>
#include <utility>

#include "det/search/columns.h"
#include "det/search/search_method.h"

namespace det::search {

/// The trials that have validated in a rung, best first; ties in the order chosen.
///
/// Whoever promotes asks only who is among the best so many. So the best and the others are two heaps, on
/// either side of a line: to add a trial takes a step or two, to move the line by one a logarithm of steps,
/// and a trial takes 32 bytes.
class Ranking {
 public:
  struct Entry {
    Uuid trial;
    double metric = 0;
    std::int32_t arrival = 0;  ///< ties: the lesser goes first
    bool promoted = false;
    BOOST_DESCRIBE_CLASS(Entry, (), (trial, metric, arrival, promoted), (), ())
  };
  enum class Ties { OldestFirst, NewestFirst };

  std::int64_t size() const { return static_cast<std::int64_t>(best_.size() + others_.size()); }

  /// Adds a trial, and draws the line below the `count` best of all. True if the trial is among them; with
  /// `promotes` it is then promoted.
  bool insert(const Uuid& trial, double metric, Ties ties, std::int64_t count, bool promotes = false) {
    draw_line(count);
    Entry entry{.trial = trial, .metric = metric, .arrival = ties == Ties::OldestFirst ? next_ : -next_};
    DET_ASSERT(next_ < std::numeric_limits<std::int32_t>::max());
    ++next_;
    const bool room = std::ssize(best_) < count;
    const bool among = room || (!best_.empty() && goes_first(entry, best_.front()));
    if (!among) {
      push(others_, entry, goes_last);
      return false;
    }
    if (!room) push(others_, pop(best_, goes_first), goes_last);
    entry.promoted = promotes;
    push(best_, entry, goes_first);
    return true;
  }

  /// The last of those above the line. Requires: there are some.
  Entry& last_of_best() { return best_.front(); }

  /// All, the best first.
  std::vector<Entry> in_order() const {
    auto all = best_;
    all.insert(all.end(), others_.begin(), others_.end());
    std::ranges::sort(all, goes_first);
    return all;
  }
  /// Visits all, in no order, and may change whether they are promoted.
  template <typename Visit>
  void each(Visit visit) {
    std::ranges::for_each(best_, visit);
    std::ranges::for_each(others_, visit);
  }
  /// Looks through all.
  template <typename Condition>
  void erase_if(Condition condition) {
    if (std::erase_if(best_, condition) > 0) std::ranges::make_heap(best_, goes_first);
    if (std::erase_if(others_, condition) > 0) std::ranges::make_heap(others_, goes_last);
  }

  json::value to_json() const { return to_columns<Entry>(in_order()); }
  std::optional<Error> read_json(const json::value& value, const std::string& path);

 private:
  static constexpr auto goes_first = [](const Entry& a, const Entry& b) {
    return a.metric < b.metric || (a.metric == b.metric && a.arrival < b.arrival);
  };
  static constexpr auto goes_last = [](const Entry& a, const Entry& b) { return goes_first(b, a); };

  template <typename Order>
  static void push(std::vector<Entry>& heap, const Entry& entry, Order order) {
    heap.push_back(entry);
    std::ranges::push_heap(heap, order);
  }
  template <typename Order>
  static Entry pop(std::vector<Entry>& heap, Order order) {
    std::ranges::pop_heap(heap, order);
    const auto entry = heap.back();
    heap.pop_back();
    return entry;
  }
  void draw_line(std::int64_t count) {
    while (!best_.empty() && std::ssize(best_) > count) push(others_, pop(best_, goes_first), goes_last);
    while (!others_.empty() && std::ssize(best_) < count) push(best_, pop(others_, goes_last), goes_first);
  }

  std::vector<Entry> best_;    // the last of them in front
  std::vector<Entry> others_;  // the first of them in front
  std::int32_t next_ = 0;
};

}  // namespace det::search
