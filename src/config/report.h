#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/config/yaml/yaml.h"

namespace det::config {

/// A document that a configuration is made from, as messages name it.
struct Source {
  std::string_view name;     ///< "<config>", "<template>" or "<master>"
  const Document* document;  ///< Outlives the report.
};

/// A value of the user as a message may show it: as JSON, on one line, not too long.
std::string shown_value(const json::value& value);

/// Collects the problems of one or more documents and says where each is.
class Report {
 public:
  /// The first source that has a path answers for it; for what nobody wrote, "<config>" or else the first.
  explicit Report(std::vector<Source> sources) : sources_(std::move(sources)) {}

  void add(const Path& path, std::string text) { add(path, path, std::move(text)); }
  /// Shown as being about `path`, but with the line of `culprit`.
  void add(const Path& path, const Path& culprit, std::string text);
  /// A problem whose place is known already.
  void add(std::size_t source, Problem problem);

  bool empty() const { return entries_.empty(); }
  /// By document, then by line; the same problem once; a limited number.
  std::vector<Error> errors() const;

  /// Takes over the problems of another report of the same sources.
  void absorb(const Report& other);

 private:
  struct Entry {
    std::size_t rank = 0;
    int line = 0;
    std::string text;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Source> sources_;
  std::vector<Entry> entries_;
};

}  // namespace det::config
