#include "det/access/throttle.h"

#include <algorithm>

namespace det::access {
namespace {

// A space is in no address, so the two kinds of keys cannot meet.
std::string key_of(const std::string& user, const std::string& address) {
  return address + " " + user;
}

}  // namespace

std::int64_t Throttle::wait(const std::string& user, const std::string& address, Time now) const {
  std::int64_t left = 0;
  for (const auto& key : {key_of(user, address), address})
    if (const auto found = failures_.find(key); found != failures_.end() && now < found->second.until)
      left = std::max(left, found->second.until - now);
  return (left + kSecond - 1) / kSecond;
}

void Throttle::failed(const std::string& user, const std::string& address, Time now) {
  count(key_of(user, address), limits_.free_per_user, now);
  count(address, limits_.free_per_address, now);
}

void Throttle::count(const std::string& key, int free, Time now) {
  if (failures_.size() >= limits_.remembered && !failures_.contains(key)) make_room(now);
  auto& failures = failures_[key];
  // Who was quiet for long begins anew.
  if (failures.count > 0 && now - failures.last > 2 * limits_.longest_seconds * kSecond) failures.count = 0;
  ++failures.count;
  failures.last = now;
  if (failures.count <= free) return;
  const int doublings = std::min(failures.count - free - 1, 30);
  failures.until = now + std::min(limits_.longest_seconds, std::int64_t{1} << doublings) * kSecond;
}

void Throttle::succeeded(const std::string& user, const std::string& address) {
  failures_.erase(key_of(user, address));
}

void Throttle::make_room(Time now) {
  std::erase_if(failures_, [&](const auto& entry) { return entry.second.until < now; });
  while (failures_.size() >= limits_.remembered) {
    const auto oldest =
        std::min_element(failures_.begin(), failures_.end(),
                         [](const auto& a, const auto& b) { return a.second.last < b.second.last; });
    failures_.erase(oldest);
  }
}

}  // namespace det::access
