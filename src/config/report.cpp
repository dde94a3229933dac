#include "det/config/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace det::config {

namespace {

constexpr std::size_t kErrorsMax = 1000;
constexpr std::size_t kEntriesMax = 100'000;

// Master's defaults last: users can change the others.
std::size_t rank_of(std::string_view name) {
  constexpr std::array<std::string_view, 3> kOrder = {"<config>", "<template>", "<master>"};
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), name) - kOrder.begin());
}

}  // namespace

std::string shown_value(const json::value& value) {
  if (!value.is_double()) return shown(json::serialize(value));
  const auto number = value.get_double();
  // 4.0 is no 4 where whole numbers are asked for.
  if (std::isfinite(number) && number == std::trunc(number) && std::abs(number) < 1e15)
    return fmt::format("{:.1f}", number);
  return std::isfinite(number) ? fmt::format("{}", number)
                               : shown(json::serialize(json::from_double(value.get_double())));
}

void Report::add(const Path& path, const Path& culprit, std::string text) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (const auto line = sources_[i].document->line(culprit); line && !culprit.empty()) {
      add(i, {path, *line, std::move(text)});
      return;
    }
  }
  // Nobody wrote it: the nearest section that somebody wrote is where to look.
  auto section = culprit;
  while (section.size() > 1) {
    section.pop_back();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (const auto line = sources_[i].document->line(section)) {
        add(i, {path, *line, std::move(text)});
        return;
      }
    }
  }
  const auto users = std::ranges::find(sources_, "<config>", &Source::name);
  add(users == sources_.end() ? 0 : static_cast<std::size_t>(users - sources_.begin()),
      {path, 0, std::move(text)});
}

void Report::add(std::size_t source, Problem problem) {
  if (entries_.size() >= kEntriesMax) return;
  const auto name = sources_[source].name;
  auto text = to_text(name, problem);
  // What has no line is about the whole: after everything that has one.
  const int line = problem.line > 0 ? problem.line : std::numeric_limits<int>::max();
  entries_.push_back({rank_of(name), line, std::move(text)});
}

void Report::absorb(const Report& other) {
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
}

std::vector<Error> Report::errors() const {
  auto sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.rank, a.line) < std::tie(b.rank, b.line);
  });
  std::vector<Error> errors;
  std::size_t left_out = 0;
  std::set<std::string_view> seen;
  for (const auto& entry : sorted) {
    if (!seen.insert(entry.text).second) continue;
    if (errors.size() < kErrorsMax)
      errors.emplace_back(ErrorCode::InvalidArgument, entry.text);
    else
      ++left_out;
  }
  if (left_out > 0)
    errors.emplace_back(ErrorCode::InvalidArgument, fmt::format("and {} more problems", left_out));
  return errors;
}

}  // namespace det::config
