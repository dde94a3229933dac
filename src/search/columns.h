#pragma once

#include <functional>

#include "det/base/json.h"

namespace det::search {

/// Calls `take` with the name of each member of a described struct and what gets it; what is no struct is one
/// member, "value".
template <typename Row, typename Take>
void each_member(Take take) {
  if constexpr (json::Described<Row>)
    boost::mp11::mp_for_each<json::Members<Row>>([&](auto member) {
      take(member.name, [](auto& row) -> auto& { return row.*decltype(member)::pointer; });
    });
  else
    take("value", std::identity{});
}

/// Many rows as one list a member, {"rung": [0, 1], "exited": [false, true]}: of a million, half of the text
/// of a million objects and a fraction of their time and memory. `row_of` gets the row out of one of `all`.
template <typename Row, typename All, typename RowOf = std::identity>
json::object to_columns(const All& all, RowOf row_of = {}) {
  std::vector<std::pair<const char*, json::array>> lists;
  each_member<Row>(
      [&](const char* name, auto) { lists.emplace_back(name, json::array()).second.reserve(all.size()); });
  for (const auto& one : all) {
    const auto& row = row_of(one);
    auto list = lists.begin();
    each_member<Row>(
        [&](const char*, auto member_of) { (list++)->second.push_back(json::to_json(member_of(row))); });
  }
  json::object columns;
  for (auto& [name, list] : lists) columns.emplace(name, std::move(list));
  return columns;
}

/// Fills `rows`. A member without a column keeps its default; each column is as long as there are rows.
template <typename Row>
std::optional<Error> read_columns(const json::object& columns, std::vector<Row>& rows,
                                  const std::string& path) {
  std::optional<Error> error;
  each_member<Row>([&](const char* name, auto member_of) {
    const auto* found = columns.if_contains(name);
    if (error || found == nullptr) return;
    const auto where = json::member_path(path, name);
    const auto* column = found->if_array();
    if (column == nullptr || column->size() != rows.size())
      error = json::path_error(where, "is not a list as long as the others");
    for (std::size_t i = 0; i < rows.size() && !error; ++i)
      error = json::read((*column)[i], member_of(rows[i]), where);
  });
  return error;
}

}  // namespace det::search
