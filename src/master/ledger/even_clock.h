#pragma once

#include <algorithm>
#include <functional>

#include "det/base/time.h"

namespace det::master {

/// A clock that neither jumps nor stops. It starts with the wall clock's time and then advances with the
/// steady clock. If the wall clock is set, it follows slowly: no deadline passes because of that, and no
/// duration is off by more than a twentieth. After a restart it starts with the wall clock's time again.
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
