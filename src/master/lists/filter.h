#pragma once

#include <functional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/base/time.h"

/// Filters and orders of lists, as the original's browser pages write them. Pure.
namespace det::master {

/// The value that a row has in a column: a text, a number, a list of texts, or null for none.
using Row = std::function<json::value(const std::string& column)>;

/// A condition on one column, or several conditions that are all true, or one of them.
struct Condition {
  enum class Join { None, And, Or };  ///< None: one column
  enum class Type { Text, Number, Date, Array };
  Join join = Join::None;
  std::vector<Condition> children{};
  std::string column{}, comparison{};
  Type type = Type::Text;
  json::value value{};

  bool any_column(const std::function<bool(const std::string&)>& is) const;
};
struct Filter {
  Condition root{.join = Condition::Join::And};
  bool show_archived = false;
};

/// {"filterGroup":{"kind":"group","conjunction":"and","children":[{"kind":"field","columnName":"id",
/// "operator":"=","type":"COLUMN_TYPE_NUMBER","value":1},…]},"showArchived":false}; an empty text is no
/// condition. Operators: = != < <= > >= contains notContains isEmpty notEmpty; a condition without a value
/// that needs one is left out, as in pages where it is being typed. A `state` may have the prefix STATE_, and
/// ACTIVE is also what is queued, pulling, starting or running.
Result<Filter> parse_filter(const std::string& text);
bool matches(const Condition& condition, const Row& row);
/// Of a condition on `state`: without the prefix STATE_, and ACTIVE as said above.
Condition of_state(Condition condition);

struct SortKey {
  std::string column;
  bool descending = false;
};
/// "startTime=desc,name=asc"
Result<std::vector<SortKey>> parse_sort(const std::string& text);
/// Whether the first value comes before the second; null is last in either direction.
bool before(const json::value& a, const json::value& b, bool descending);

}  // namespace det::master
