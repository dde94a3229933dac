#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "det/store/sql/sql.h"
#include "det/store/store.h"

namespace det::store {

/// The WHERE clause of a filtered list. Column names are ours and part of the
/// text; values are always parameters.
class Conditions {
 public:
  struct Raw {
    std::string bytes;
  };
  using Value = std::variant<std::int64_t, std::string, Raw>;

  explicit Conditions(const Connection& connection) : dialect_(&connection.dialect()) {}

  /// `sql` holds a `?` for the value.
  void add(std::string_view sql, Value value);
  /// `sql` holds a `?` for each value, in this order.
  void add_all(std::string_view sql, std::vector<Value> values);
  /// Nothing is added for an empty list: it means "any". All values are of one kind.
  void add_in(std::string_view column, std::vector<Value> values, bool negated = false);

  std::string where() const { return text_; }
  void bind(Query& query) const;

 private:
  void begin() { text_ += text_.empty() ? "WHERE " : "  AND "; }
  const Dialect* dialect_;
  std::string text_;
  std::vector<Value> values_;
};

template <class Enum>
std::vector<Conditions::Value> names_of(const std::vector<Enum>& values) {
  std::vector<Conditions::Value> names;
  for (const auto value : values)
    names.emplace_back(std::string(boost::describe::enum_to_string(value, "?")));
  return names;
}
template <class Tag>
std::vector<Conditions::Value> numbers_of(const std::vector<Id<Tag>>& ids) {
  std::vector<Conditions::Value> numbers;
  for (const auto id : ids) numbers.emplace_back(id.value());
  return numbers;
}

std::int64_t count_rows(Connection& connection, std::string_view table, const Conditions& conditions);

/// Ties by id, so that pages neither repeat nor miss a row.
std::string order_by(std::string_view column, bool descending);
/// Its parameters are bound by `bind_page`, after those of the conditions.
inline constexpr const char* kLimit = "\nLIMIT ? OFFSET ?";
/// A negative offset counts from the end of the `total` rows.
void bind_page(Query& query, const Page& page, std::int64_t total);

}  // namespace det::store
