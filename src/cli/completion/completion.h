#pragma once

#include <functional>
#include <string>
#include <vector>

#include "det/cli/cli.h"
#include "det/cli/command.h"
#include "det/cli/session/auth.h"

namespace det::cli {

/// A word that may come next, and what it means.
struct Candidate {
  std::string word, help;
};

/// Answers what only a master knows: things of this kind. `kind` is the argument's placeholder ("TRIAL_ID"),
/// of arguments called NAME or ID with the group of the command before it ("model NAME").
using AskMaster = std::function<std::vector<Candidate>(const std::string& kind, const std::string& prefix)>;

/// What the last of `words` may become, given those before it (without `det` itself): commands, options, and
/// what `ask` knows. Nothing where a file or a value is expected: the shell then completes files.
std::vector<Candidate> complete(const Command& root, const std::vector<ExtraCommand>& extra,
                                std::vector<std::string> words, const AskMaster& ask);

/// Asks the master that these words name, else the one at `address`, with a token that is kept here already,
/// for at most a second, and says nothing where that fails: who presses Tab wants neither errors nor
/// questions.
AskMaster ask_over_http(const Variables& variables, const std::string& address,
                        const std::vector<std::string>& words);

/// The script with which `shell` ("bash", "zsh" or "fish") asks `det` for candidates.
Result<std::string> completion_script(const std::string& shell);

/// The command by which that script asks; its arguments are those of `complete`.
constexpr const char* kCompleteWords = "complete-words";

}  // namespace det::cli
