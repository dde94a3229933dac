#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace det::config {

/// The way from a document's root to a value: keys of maps, positions in lists.
using Step = std::variant<std::string, std::size_t>;
using Path = std::vector<Step>;

Path operator/(Path path, std::string_view key);
Path operator/(Path path, std::size_t position);

/// "searcher.bracket_rungs[2]"; a key that is not a plain word is quoted: data["odd key"].
std::string to_text(const Path& path);

/// Something that the writer of a document has to change.
struct Problem {
  Path path;
  int line = 0;  ///< Where in the text, from 1; 0: nowhere in particular.
  std::string text;
};

/// "<config>.searcher.max_trials (line 7): max_trials must be > 0: 0 is not at least 1"
std::string to_text(std::string_view document, const Problem& problem);

/// Text of the user as an error message may show it: one line, printable, not too long.
std::string shown(std::string_view text);

}  // namespace det::config
