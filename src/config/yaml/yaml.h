#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "det/base/json.h"
#include "det/config/problem.h"

namespace det::config {

/// The shape of a value with the line of every part. Children are in the order
/// of the object's members or of the list's elements.
struct Lines {
  int line = 0;
  std::vector<Lines> children;
};

/// A decoded YAML text: plain JSON, and where each part of it was written.
struct Document {
  json::value value;
  Lines lines;

  /// The line of the member or element at `path`, if the document has it.
  std::optional<int> line(const Path& path) const;
};

struct YamlLimits {
  std::size_t bytes_max = 1 << 20;
  int depth_max = 64;
  std::size_t nodes_max = 100'000;  ///< After expansion of aliases.
};

/// Decodes one YAML document, within limits, and refuses what would be read
/// differently by different programs. Costs at most what its limits say: an
/// alias bomb is refused before it is expanded.
///
/// Plain scalars read as PyYAML reads them (YAML 1.1), for that is what the
/// users' configurations were written for, except that
///   - `1e-4` is a number (PyYAML takes it for text);
///   - `010` is refused (8 for PyYAML, 10 for others), and so is `.inf` and `.nan`,
///     which no JSON document can carry to a trial;
///   - `12:30` and dates are text (not the number 750, not a date).
/// Merge keys (`<<: *defaults`) work. Keys are always the text as written: `5`,
/// `yes` and `null` are the keys "5", "yes" and "null".
///
/// Refused, each with its line: duplicate keys, tags other than the core ones
/// (`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map`, `!!seq`), keys that
/// are not text, aliases that contain themselves, several documents in one text,
/// bytes that are not UTF-8, control characters, the character U+0000 however it
/// is written. An empty text is null.
tl::expected<Document, std::vector<Problem>> parse_yaml(std::string_view text, const YamlLimits& limits = {});

/// The same for those who look for further problems in what could be read: of
/// duplicate keys the first is kept, refused scalars have a likely value.
struct Decoded {
  std::optional<Document> document;  ///< None where the text could not be read to its end.
  std::vector<Problem> problems;
};
Decoded decode_yaml(std::string_view text, const YamlLimits& limits = {});

/// One value as written on a command line: "1e-4", "[1, 2]", "{batches: 100}", "some text".
Result<json::value> parse_yaml_value(std::string_view text);

/// Sets the value of a dotted path, "searcher.max_trials=16", making sections
/// on its way as needed.
Result<void> apply_option(json::object& document, std::string_view option);

/// YAML text in block style with keys in ascending order, readable by any YAML
/// program with the same result: what looks like another type is quoted.
std::string emit_yaml(const json::value& value);

/// What an unquoted scalar means. A string is what remains.
struct PlainScalar {
  json::value value;    ///< Of a refused scalar: what was probably meant.
  std::string refusal;  ///< Not empty: why the scalar is not accepted, and what to write instead.
};
PlainScalar read_plain_scalar(std::string_view text);

}  // namespace det::config
