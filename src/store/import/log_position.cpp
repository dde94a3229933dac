#include "det/store/import/log_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace det::store {

namespace {

std::int64_t take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);  // ' ' or '-'
  return number;
}

}  // namespace

LogPosition LogPosition::parse(std::string_view text) {
  LogPosition position;
  position.last_ = take_number(text);
  while (!text.empty()) {
    const auto first = take_number(text);
    position.missing_[first] = take_number(text);
  }
  return position;
}

void LogPosition::saw(std::int64_t id) {
  if (id > last_) {
    if (const auto first = std::max({last_ + 1, id - kWindow, std::int64_t{1}}); first < id)
      missing_[first] = id - 1;
    last_ = id;
    return forget_old();
  }
  auto range = missing_.upper_bound(id);
  if (range == missing_.begin()) return;
  --range;
  const auto [first, last] = *range;
  if (id > last) return;
  missing_.erase(range);
  if (first < id) missing_[first] = id - 1;
  if (id < last) missing_[id + 1] = last;
}

void LogPosition::forget_old() {
  while (!missing_.empty() && missing_.begin()->second < last_ - kWindow) missing_.erase(missing_.begin());
}

std::string LogPosition::text() const {
  auto text = std::to_string(last_);
  for (const auto& [first, last] : missing_) text += fmt::format(" {}-{}", first, last);
  return text;
}

std::string LogPosition::unseen(std::string_view column) const {
  auto condition = fmt::format("{} > {}", column, last_);
  for (const auto& [first, last] : missing_)
    condition += fmt::format(" OR {} BETWEEN {} AND {}", column, first, last);
  return "(" + condition + ")";
}

}  // namespace det::store
