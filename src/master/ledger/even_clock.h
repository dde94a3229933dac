#pragma once

#include <algorithm>
#include <functional>

#include "det/base/time.h"

namespace det::master {

/// Time that neither jumps nor stands still: the wall's when it is made, and from then on it passes as on a
/// clock that no one sets. Where somebody sets the wall's clock it follows slowly, so that no deadline is
/// over for that and no duration is wrong by more than a twentieth. A restart takes the wall's at once.
class EvenClock {
 public:
  using Read = std::function<Time()>;
  EvenClock(Read wall, Read steady)
      : wall_(std::move(wall)), steady_(std::move(steady)), now_(wall_()), seen_(steady_()) {}

  Time operator()() {
    const auto steady = steady_();
    const auto passed = std::max<std::int64_t>(steady - seen_, 0);
    seen_ = steady;
    const auto behind = wall_() - (now_ + passed);
    const auto most = passed / kSlowness;
    now_ = now_ + passed + std::clamp(behind, -most, most);
    return now_;
  }

 private:
  static constexpr std::int64_t kSlowness = 20;

  Read wall_, steady_;
  Time now_, seen_;
};

}  // namespace det::master
