#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace det::cli {

/// Patterns as in .gitignore: the last one that matches decides.
///
/// A pattern with a slash before its end belongs to the top directory, any
/// other matches at every depth; a final slash means directories only; `!`
/// takes a name back; `*` and `?` stop at slashes, `**` does not; `[a-z]`,
/// `[!a]`, backslash, comments and escaped trailing spaces work as in git.
class IgnoreRules {
 public:
  /// Adds the patterns of a text, one a line, after those that are there.
  void add(std::string_view text);

  /// Whether `path` ("data/train.csv", relative to the top) itself is ignored.
  /// Whoever walks the tree does not enter ignored directories, so that nothing
  /// below one can be taken back, as in git.
  bool ignored(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::vector<std::string> segments;
    bool negated = false;
    bool directories_only = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace det::cli
