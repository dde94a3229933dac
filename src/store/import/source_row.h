#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/json.h"
#include "det/base/time.h"

namespace det::store {

/// A row of the source by the names of its columns, each as PostgreSQL writes it: times in UTC, arrays as
/// JSON. A column that is NULL, or that the release of the source does not have, is not there.
class SourceRow {
 public:
  SourceRow() = default;
  explicit SourceRow(std::map<std::string, std::string, std::less<>> values) : values_(std::move(values)) {}

  void set(std::string_view name, std::string value) { values_[std::string(name)] = std::move(value); }
  bool has(std::string_view name) const { return values_.contains(name); }
  std::string text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::optional<Time> time(std::string_view name) const;
  /// Null: it is not there, or no JSON.
  json::value document(std::string_view name) const;
  /// Empty: it is not there, or no object.
  json::object object(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

 private:
  friend class SourceDigest;
  std::map<std::string, std::string, std::less<>> values_;
};

/// A hash of rows: tells whether something has changed in the source since it was imported.
class SourceDigest {
 public:
  void add(const SourceRow& row);
  std::string text() const;

 private:
  void add(std::string_view bytes);
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// "2026-01-02 03:04:05.123+00", as PostgreSQL writes it; without an offset it is UTC.
std::optional<Time> parse_postgres_time(std::string_view text);

/// The original writes numbers that JSON does not have as the texts "NaN", "Infinity" and "-Infinity". They
/// become numbers, however deep they are.
void restore_numbers(json::value& value);

}  // namespace det::store
