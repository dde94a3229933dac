#pragma once

#include <string>
#include <vector>

#include "det/cli/cli.h"
#include "det/cli/command.h"

namespace det::cli {

/// A word that may come next, and what it means.
struct Candidate {
  std::string word, help;
};

/// What the last of `words` may become, given those before it (without `det` itself): commands and options.
/// Nothing where a file or a value is expected: the shell then completes files.
std::vector<Candidate> complete(const Command& root, const std::vector<ExtraCommand>& extra,
                                std::vector<std::string> words);

/// The script with which `shell` ("bash", "zsh" or "fish") asks `det` for candidates.
Result<std::string> completion_script(const std::string& shell);

/// The command by which that script asks; its arguments are those of `complete`.
constexpr const char* kCompleteWords = "complete-words";

}  // namespace det::cli
