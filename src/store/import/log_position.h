#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace det::store {

/// Which lines of a table have been imported, by their ids. Ids are given before lines are committed, so a
/// line can appear after one with a higher id: near the last one, the ids that were missing are remembered.
class LogPosition {
 public:
  static constexpr std::int64_t kWindow = 10'000;

  LogPosition() = default;
  /// From `text()`; empty: from the beginning.
  static LogPosition parse(std::string_view text);

  void saw(std::int64_t id);
  std::string text() const;
  /// SQL: the ids in `column` that were not seen.
  std::string unseen(std::string_view column) const;

 private:
  void forget_old();

  std::int64_t last_ = 0;
  std::map<std::int64_t, std::int64_t> missing_;  // first -> last of each range
};

}  // namespace det::store
