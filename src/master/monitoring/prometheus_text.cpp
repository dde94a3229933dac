#include "det/master/monitoring/prometheus_text.h"

#include <fmt/format.h>

#include "det/base/text.h"

namespace det::master {
namespace {

/// Backslash, quote and newline as the format wants them; bytes that are no UTF-8 become '?'.
std::string escaped(std::string_view value) {
  const bool valid = is_utf8(value);
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"')
      (text += '\\') += c;
    else if (c == '\n')
      text += "\\n";
    else
      text += valid || static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return text;
}

std::string number(double value) {
  return fmt::format("{}", value);  // the shortest that reads back the same; whole numbers without a point
}

}  // namespace

void Histogram::add(double seconds) {
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    if (seconds <= kBounds[i]) {
      ++buckets_[i];
      break;
    }
  ++count_;
  sum_ += seconds;
}

std::int64_t Histogram::at_most(std::size_t i) const {
  std::int64_t sum = 0;
  for (std::size_t bucket = 0; bucket <= i; ++bucket) sum += buckets_[bucket];
  return sum;
}

void PrometheusText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void PrometheusText::write(std::string_view suffix, Labels labels, std::string_view bound, double value) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  const auto add = [&](std::string_view key, std::string_view of) {
    text_ += before;
    before = ',';
    text_ += fmt::format("{}=\"{}\"", key, escaped(of));
  };
  for (const auto& [key, of] : labels) add(key, of);
  if (!bound.empty()) add("le", bound);
  if (before == ',') text_ += '}';
  text_ += ' ' + number(value) + '\n';
}

void PrometheusText::sample(Labels labels, double value) {
  write("", labels, "", value);
}

void PrometheusText::sample(Labels labels, const Histogram& histogram) {
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i)
    write("_bucket", labels, number(Histogram::kBounds[i]), static_cast<double>(histogram.at_most(i)));
  write("_bucket", labels, "+Inf", static_cast<double>(histogram.count()));
  write("_sum", labels, "", histogram.sum());
  write("_count", labels, "", static_cast<double>(histogram.count()));
}

}  // namespace det::master
