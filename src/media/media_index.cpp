#include "det/media/media_index.h"

#include <algorithm>

#include "det/base/error.h"

namespace det::media {

void Index::add(const Found& found, const Entry& entry) {
  const Key key{found.kind, found.tag};
  if (values_.size() == kTagsMax && !values_.contains(key)) return;
  auto& [kept, seen, stride, extra] = values_[key];
  if (extra && entry.step > kept.back().step) kept.pop_back();
  const auto place = std::lower_bound(kept.begin(), kept.end(), entry.step,
                                      [](const Entry& one, std::int64_t step) { return one.step < step; });
  if (place != kept.end() && place->step == entry.step) {
    if (place->wall_time <= entry.wall_time) *place = entry;
    return;
  }
  const bool newest = place == kept.end();
  kept.insert(place, entry);
  if (newest) extra = seen % stride != 0;
  ++seen;
  if (kept.size() <= kValuesMax) return;
  for (std::size_t i = 1; 2 * i < kept.size(); ++i) kept[i] = kept[2 * i];
  kept.resize((kept.size() + 1) / 2);
  stride *= 2;
}

std::vector<Index::Key> Index::keys() const {
  std::vector<Key> keys;
  for (const auto& [key, values] : values_) keys.push_back(key);
  return keys;
}

const std::vector<Entry>& Index::entries(const Key& key) const {
  static const std::vector<Entry> none;
  const auto found = values_.find(key);
  return found == values_.end() ? none : found->second.kept;
}

const Entry& nearest(const std::vector<Entry>& entries, std::int64_t step) {
  DET_ASSERT(!entries.empty());
  const auto after =
      std::upper_bound(entries.begin(), entries.end(), step,
                       [](std::int64_t wanted, const Entry& one) { return wanted < one.step; });
  return after == entries.begin() ? *after : *(after - 1);
}

std::vector<Entry> spaced(const std::vector<Entry>& entries, std::size_t limit) {
  DET_ASSERT(limit > 0);
  if (entries.size() <= limit) return entries;
  if (limit == 1) return {entries.back()};
  std::vector<Entry> some;
  for (std::size_t i = 0; i < limit; ++i) some.push_back(entries[i * (entries.size() - 1) / (limit - 1)]);
  return some;
}

}  // namespace det::media
