#include "det/search/halving/ranking.h"

namespace det::search {

std::optional<Error> Ranking::read_json(const json::value& value, const std::string& path) {
  std::vector<Entry> all;
  if (const auto* columns = value.if_object()) {
    const auto* trials = columns->if_contains("trial");
    if (trials == nullptr || !trials->is_array())
      return json::path_error(json::member_path(path, "trial"), "expected a list");
    all.resize(trials->get_array().size());
    if (auto error = read_columns(*columns, all, path)) return error;
  } else if (auto error = json::read(value, all, path)) {  // as earlier releases wrote: a list of entries
    return error;
  }
  *this = {};
  for (const auto& entry : all) next_ = std::max(next_, std::abs(entry.arrival) + 1);
  others_ = std::move(all);
  std::ranges::make_heap(others_, goes_last);
  return std::nullopt;
}

}  // namespace det::search
