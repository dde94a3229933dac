#include "det/scheduler/shares.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace det::scheduler {

namespace {

/// Weights as whole numbers, so that sums do not depend on their order; small enough that millions of slots
/// times a weight are one, too.
std::int64_t whole(double weight) {
  constexpr double kUnit = 1'000, kMax = 1e9;
  return std::max<std::int64_t>(1, std::llround(std::min(weight, kMax) * kUnit));
}

class Sharing {
 public:
  Sharing(std::int64_t slots, std::span<Claim* const> claims) : capacity_(slots) {
    for (auto* claim : claims) {
      claim->offered = std::min(claim->held, claim->demand);
      capacity_ -= claim->offered;
      newest_.push_back(entries_.size());
      entries_.push_back({.claim = claim, .weight = whole(claim->weight), .advance = claim->offered});
    }
    capacity_ = std::max<std::int64_t>(0, capacity_);
    std::ranges::sort(newest_, std::greater<>(), [&](std::size_t at) {
      const auto& claim = *entries_[at].claim;
      return std::tie(claim.age, claim.group);
    });
    for (std::size_t at = 0; at < entries_.size(); ++at) open_.push_back(at);
    std::ranges::sort(open_, {}, [&](std::size_t at) {
      const auto& claim = *entries_[at].claim;
      return std::tie(claim.demand, claim.age, claim.group);
    });
    std::erase_if(open_, [&](std::size_t at) { return !is_open(entries_[at]); });
    for (const auto at : open_) {
      weight_ += entries_[at].weight;
      advance_ += entries_[at].advance;
    }
  }

  void run() {
    do {
      while (capacity_ > 0 && round()) {
      }
    } while (capacity_ == 0 && disable_one());
  }

 private:
  struct Entry {
    Claim* claim = nullptr;
    std::int64_t weight = 1;
    std::int64_t advance = 0;  ///< offered before the first round, and not yet counted against its share
    bool disabled = false;
  };

  static bool is_open(const Entry& entry) {
    return !entry.disabled && entry.claim->offered < entry.claim->demand;
  }

  void leave(Entry& entry) {
    weight_ -= entry.weight;
    advance_ -= entry.advance;
  }

  void drop_closed() {
    std::erase_if(open_, [&](std::size_t at) { return !is_open(entries_[at]); });
  }

  /// Once over the groups that want more; whether anything was given.
  bool round() {
    const auto begin = capacity_ + advance_;  // what was given in advance counts as given in this round
    bool progress = false, closed = false;
    for (const auto at : open_) {
      if (capacity_ == 0) break;
      auto& entry = entries_[at];
      auto& claim = *entry.claim;
      const auto share = begin * entry.weight / weight_;
      auto due = std::max<std::int64_t>(1, share);
      const auto had = std::min(due, entry.advance);
      entry.advance -= had;
      advance_ -= had;
      due = std::min({due - had, capacity_, claim.demand - claim.offered});
      claim.offered += due;
      capacity_ -= due;
      progress = progress || due > 0 || had > 0;
      if (!is_open(entry)) {
        leave(entry);
        closed = true;
      }
    }
    if (closed) drop_closed();
    return progress && !open_.empty();
  }

  /// Takes everything from the newest group that cannot use what it is offered; false if there is none.
  /// Offers of the others only grow, so that a group once passed over need not be looked at again.
  bool disable_one() {
    for (; next_ < newest_.size(); ++next_) {
      auto& entry = entries_[newest_[next_]];
      auto& claim = *entry.claim;
      if (!is_open(entry)) continue;
      const auto held = std::min(claim.held, claim.demand);
      if (claim.smallest <= claim.offered - held) continue;
      entry.disabled = true;
      leave(entry);
      const auto back = claim.offered - held;
      claim.offered -= back;
      capacity_ += back;
      if (back == 0) continue;  // gives nobody anything: look on
      drop_closed();
      return true;
    }
    return false;
  }

  std::int64_t capacity_;
  std::int64_t weight_ = 0;   // of open_
  std::int64_t advance_ = 0;  // likewise
  std::vector<Entry> entries_;
  std::vector<std::size_t> open_;    // want more, smallest demand first
  std::vector<std::size_t> newest_;  // all, newest first
  std::size_t next_ = 0;
};

}  // namespace

void share_out(std::int64_t slots, std::span<Claim* const> claims) {
  Sharing(slots, claims).run();
}

}  // namespace det::scheduler
