#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "det/scheduler/draft.h"

namespace det::scheduler {

/// Who gives way to whom, while a plan is made from the most to the least important request.
///
/// Three pools, each with at least the free slots of the one before it:
///
///     now      what is free
///     soon     … and what becomes free as others go; less what is promised of it
///     thought  … and what the least important ones hold that could be asked
///
/// Those that an earlier plan asked are asked once more, in the same order as then, and not told: so the same
/// requests are promised the same slots again, and nobody else has to go for them.
///
/// The requests must come in order of importance. Then those that could be asked only become fewer, and each
/// enters and leaves `thought` at most once: all of them together cost O((requests + running) log agents).
class Preemption {
 public:
  /// `running` in order of importance, all of the same class: with slots, or without. `draft` has the pool
  /// `now`; it must outlive this.
  Preemption(Draft& draft, std::span<const Queued> running);

  /// `request` started on these; they are free nowhere any more.
  void started(const std::vector<Share>& shares);
  /// Promises `request` slots that become free, and asks others to give way if it must; the least important
  /// ones, and none whose slots would not help. Returns how many are asked for it; nullopt: it cannot be
  /// helped.
  std::optional<int> make_room(const Queued& request);

 private:
  struct Victim {
    const Request* request = nullptr;
    bool asked = false;    // by this plan
    bool thought = false;  // its slots are free in thought_
  };
  bool consider_more(const Queued& request);
  bool consider_all_asked();
  void think(Victim& victim);
  void promise(const Queued& request, const std::vector<Share>& shares);
  Share free_on(const Pool::Part& part, int& asked);
  void ask(Victim& victim);
  void unask(Victim& victim);

  Draft& draft_;
  Pool soon_, thought_;
  std::vector<Victim> victims_;                                              // least important first
  std::unordered_map<std::string_view, std::vector<std::size_t>> on_agent_;  // only looked up
  std::size_t considered_ = 0;  // so many of them, from the front
  bool all_asked_ = false;
};

}  // namespace det::scheduler
