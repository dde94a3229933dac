#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/master/mlflow/records.h"

/// The filters and orders of MLflow's searches, without I/O.
namespace det::master::mlflow {

/// What a filter compares: runs and experiments alike.
struct Subject {
  Words attributes;  ///< run_id, run_name, status, start_time …; numbers as text
  const Words* params = nullptr;
  const Words* tags = nullptr;
  const std::map<std::string, Latest>* metrics = nullptr;
};

enum class Field { Attribute, Param, Tag, Metric };

struct Condition {
  Field field = Field::Attribute;
  std::string key;
  std::string op;  ///< "=", "!=", ">", ">=", "<", "<=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", …
  std::vector<std::string> values;
};

/// "metrics.loss < 0.5 AND tags.`mlflow.user` LIKE 'a%'". InvalidArgument: what is wrong, and where.
Result<std::vector<Condition>> parse_filter(std::string_view text);
bool matches(const std::vector<Condition>& conditions, const Subject& subject);

struct Order {
  Field field = Field::Attribute;
  std::string key;
  bool descending = false;
};
/// "metrics.loss DESC".
Result<Order> parse_order(std::string_view text);
/// Whether `a` goes before `b`. What has no value goes last.
bool goes_before(const std::vector<Order>& orders, const Subject& a, const Subject& b);

}  // namespace det::master::mlflow
