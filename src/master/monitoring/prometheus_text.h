#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace det::master {

/// How long things took, counted in buckets from 1 ms to 60 s.
class Histogram {
 public:
  static constexpr std::array<double, 12> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,   0.25,   0.5,   1,    5,     60};

  void add(double seconds);
  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }
  /// How many took at most kBounds[i].
  std::int64_t at_most(std::size_t i) const;

 private:
  std::array<std::int64_t, kBounds.size()> buckets_{};
  std::int64_t count_ = 0;
  double sum_ = 0;
};

/// Writes the text format of Prometheus, version 0.0.4: families one after the other, each with its samples.
class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Begins a family. `type`: counter, gauge or histogram.
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the family. Values of labels may hold any bytes.
  void sample(Labels labels, double value);
  void sample(Labels labels, const Histogram& histogram);
  std::string take() { return std::move(text_); }

 private:
  void write(std::string_view suffix, Labels labels, std::string_view bound, double value);

  std::string name_;
  std::string text_;
};

}  // namespace det::master
