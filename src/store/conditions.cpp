#include "det/store/conditions.h"

#include <algorithm>

namespace det::store {

namespace {

std::string without_nul(std::string text) {
  std::erase(text, '\0');
  return text;
}

}  // namespace

void Conditions::add(std::string_view sql, Value value) {
  begin();
  text_ += fmt::format("{}\n", sql);
  values_.push_back(std::move(value));
}

void Conditions::add_all(std::string_view sql, std::vector<Value> values) {
  begin();
  text_ += fmt::format("{}\n", sql);
  for (auto& value : values) values_.push_back(std::move(value));
}

void Conditions::add_in(std::string_view column, std::vector<Value> values, bool negated) {
  if (values.empty()) return;
  begin();
  const bool numbers = std::holds_alternative<std::int64_t>(values.front());
  text_ += fmt::format("{} {}IN {}\n", column, negated ? "NOT " : "",
                       numbers ? dialect_->integers : dialect_->texts);
  json::array list;
  for (const auto& value : values) {
    if (const auto* number = std::get_if<std::int64_t>(&value))
      list.emplace_back(*number);
    else
      list.emplace_back(dialect_->stores_nul ? std::get<std::string>(value)
                                             : without_nul(std::get<std::string>(value)));
  }
  values_.emplace_back(boost::json::serialize(list));
}

void Conditions::bind(Query& query) const {
  for (const auto& value : values_)
    if (const auto* raw = std::get_if<Raw>(&value))
      query.bind(Bytes{raw->bytes});
    else if (const auto* number = std::get_if<std::int64_t>(&value))
      query.bind(*number);
    else
      query.bind(std::get<std::string>(value));
}

std::int64_t count_rows(Connection& connection, std::string_view table, const Conditions& conditions) {
  Query query(connection, OneTimeSql{fmt::format("SELECT COUNT(*) FROM {}\n{}", table, conditions.where())});
  conditions.bind(query);
  query.next();
  return query.get<std::int64_t>();
}

std::string order_by(std::string_view column, bool descending) {
  const char* direction = descending ? "DESC" : "ASC";
  return column == "id" ? fmt::format("ORDER BY id {}", direction)
                        : fmt::format("ORDER BY {0} {1} NULLS {2}, id {1}", column, direction,
                                      descending ? "LAST" : "FIRST");
}

void bind_page(Query& query, const Page& page, std::int64_t total) {
  const auto offset = page.offset < 0 ? std::max<std::int64_t>(0, total + page.offset) : page.offset;
  query.bind(limit_or_all(page.limit), offset);
}

}  // namespace det::store
