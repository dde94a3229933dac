#include "det/store/metrics/metric_sums.h"

#include <cmath>

namespace det::store {

namespace {

// A total order in which NaN is greater than every number.
bool less(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

const char* type_name(const json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::string: return "string";
    case boost::json::kind::bool_: return "boolean";
    case boost::json::kind::array: return "array";
    case boost::json::kind::object: return "object";
    case boost::json::kind::null: return "null";
    default: return "number";
  }
}

}  // namespace

void Sums::add(const json::value& value) {
  const auto number = json::to_double(value);
  Sums one{1, number.value_or(0), number.value_or(0), number.value_or(0), value, number.has_value()};
  add(one);
}

void Sums::add(const Sums& later) {
  last = later.last;
  numeric = numeric && later.numeric;
  if (!numeric || later.count == 0) return;
  if (count == 0 || less(later.min, min)) min = later.min;
  if (count == 0 || less(max, later.max)) max = later.max;
  sum += later.sum;
  count += later.count;
}

void add(SumsByName& sums, const MetricRecord& report) {
  for (const auto& [name, value] : report.avg_metrics) sums[std::string(name)].add(value);
}

void add(SumsByName& sums, const SumsByName& later) {
  for (const auto& [name, of_name] : later) sums[name].add(of_name);
}

json::object to_short(const SumsByName& sums) {
  json::object names;
  for (const auto& [name, s] : sums) {
    json::array a;
    if (s.numeric)
      a = {s.count, json::from_double(s.sum), json::from_double(s.min), json::from_double(s.max)};
    a.push_back(s.last);
    names.emplace(name, std::move(a));
  }
  return names;
}

SumsByName from_short(const json::object& names) {
  const auto number = [](const json::value& value) { return json::to_double(value).value_or(NAN); };
  SumsByName sums;
  for (const auto& [name, value] : names) {
    const auto& a = value.as_array();
    auto& s = sums[std::string(name)];
    s.last = a.back();
    s.numeric = a.size() == 5;
    if (!s.numeric) continue;
    s.count = json::to_int64(a[0]).value_or(0);
    s.sum = number(a[1]);
    s.min = number(a[2]);
    s.max = number(a[3]);
  }
  return sums;
}

json::object to_summary(const Sums& sums) {
  json::object o;
  if (sums.numeric) {
    o["count"] = sums.count;
    o["sum"] = json::from_double(sums.sum);
    o["min"] = json::from_double(sums.min);
    o["max"] = json::from_double(sums.max);
    o["mean"] = json::from_double(sums.sum / static_cast<double>(sums.count));
  }
  o["last"] = sums.last;
  o["type"] = sums.numeric ? "number" : type_name(sums.last);
  return o;
}

}  // namespace det::store
