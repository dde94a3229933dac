#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "det/media/media_values.h"

namespace det::media {

/// Where a value is.
struct Entry {
  std::int64_t step = 0;
  double wall_time = 0;  ///< seconds since 1970
  std::size_t file = 0;  ///< the caller's number of a file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// The values of a trial by kind and tag, in the order of their steps. Of values with one step the newest
/// counts: a trial that was restarted repeats steps. Of many values only every second, fourth, … is kept, and
/// the newest.
class Index {
 public:
  static constexpr std::size_t kValuesMax = 1000;  ///< of a tag
  static constexpr std::size_t kTagsMax = 1000;    ///< later ones are left out

  using Key = std::pair<Kind, std::string>;

  void add(const Found& found, const Entry& entry);

  /// The tags of these values, in the order of kinds and names; `entries` is empty for others.
  std::vector<Key> keys() const;
  const std::vector<Entry>& entries(const Key& key) const;

 private:
  struct Values {
    std::vector<Entry> kept;
    std::uint64_t seen = 0, stride = 1;  ///< every so many are kept
    bool extra = false;                  ///< the last one is kept only as the newest
  };
  std::map<Key, Values> values_;
};

/// The last entry at or before `step`, else the first. Requires: not empty.
const Entry& nearest(const std::vector<Entry>& entries, std::int64_t step);

/// At most `limit` entries, the first and the last among them, evenly spaced. Requires: limit > 0.
std::vector<Entry> spaced(const std::vector<Entry>& entries, std::size_t limit);

}  // namespace det::media
