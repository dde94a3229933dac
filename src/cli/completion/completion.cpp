#include "det/cli/completion/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

namespace det::cli {
namespace {

// Each candidate is a line, `word TAB help`; bash has no use for the help.
constexpr const char* kBash = R"(# det: completion for bash. In ~/.bashrc: source <(det completion bash)
_det_complete() {
  local IFS=$'\n'
  COMPREPLY=($(det complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _det_complete det
)";
constexpr const char* kZsh = R"(#compdef det
# det: completion for zsh. In ~/.zshrc, after compinit: source <(det completion zsh)
_det_complete() {
  local -a candidates
  candidates=("${(@f)$(det complete-words "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t/:/')}")
  if [[ -n "${candidates[1]}" ]]; then _describe det candidates; else _files; fi
}
compdef _det_complete det
)";
constexpr const char* kFish =
    R"(# det: completion for fish. In ~/.config/fish/config.fish: det completion fish | source
complete -c det -a '(det complete-words (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
)";

using Candidates = std::vector<Candidate>;

void add(Candidates& candidates, const std::string& prefix, const std::string& word,
         const std::string& help) {
  if (word.starts_with(prefix)) candidates.push_back({word, help});
}

Candidates complete_option(const CLI::App& app, const std::string& prefix) {
  Candidates candidates;
  for (const auto* option : options_of(app)) {
    if (option->get_positional() || option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames())
      add(candidates, prefix, "--" + name, option->get_description());
    if (option->get_lnames().empty())
      for (const auto& name : option->get_snames())
        add(candidates, prefix, "-" + name, option->get_description());
  }
  return candidates;
}

/// The option whose value the next word is; null: it is another option or an argument.
const CLI::Option* option_before(const CLI::App& app, const std::string& word) {
  if (word.size() < 2 || !word.starts_with('-') || word.find('=') != std::string::npos) return nullptr;
  const auto* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
}

/// What the next word is for: an option's value, or the next of the arguments.
const CLI::Option* expected(const CLI::App& app, const std::vector<std::string>& typed) {
  std::size_t arguments = 0;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (const auto* option = option_before(app, typed[i])) {
      if (i + 1 == typed.size()) return option;
      ++i;
    } else if (!typed[i].starts_with('-')) {
      ++arguments;
    }
  }
  const auto positional = app.get_options([](const CLI::Option* o) { return o->get_positional(); });
  for (const auto* option : positional) {
    const auto most = static_cast<std::size_t>(std::max(option->get_items_expected_max(), 1));
    if (arguments < most) return option;
    arguments -= most;
  }
  return nullptr;
}

/// What a command's own words may become.
Candidates of_command(const Command& group, const Command& command, const std::vector<std::string>& typed,
                      const std::string& prefix, const AskMaster& ask) {
  CLI::App app;
  app.set_help_flag("-h,--help", "Print this help and exit");
  const auto action = command.define(app);
  if (prefix.starts_with('-')) return complete_option(app, prefix);
  const auto* option = expected(app, typed);
  // What is being made has no name yet.
  if (option == nullptr || !ask || (option->get_positional() && command.names[0] == "create")) return {};
  auto kind = option->get_type_name();
  if (kind == "NAME" || kind == "ID") kind = group.names[0] + ' ' + kind;
  return ask(kind, prefix);
}

Candidates children_of(const Command& group, const std::string& prefix) {
  Candidates candidates;
  for (const auto& child : group.children) add(candidates, prefix, child.names[0], child.help);
  // An alias only where it is being typed.
  if (!candidates.empty() || prefix.empty()) return candidates;
  for (const auto& child : group.children)
    for (const auto& name : child.names) add(candidates, prefix, name, child.help);
  return candidates;
}

Candidates globals(const std::string& prefix) {
  Candidates candidates;
  add(candidates, prefix, "--master", "Address of the master");
  add(candidates, prefix, "--user", "Run as this user");
  add(candidates, prefix, "--version", "Print the version and exit");
  add(candidates, prefix, "--help", "Print this help and exit");
  return candidates;
}

// Whether the word is one of the program's own options and its value the next word.
bool takes_value(const std::string& word) {
  return word == "-m" || word == "--master" || word == "-u" || word == "--user";
}

}  // namespace

std::vector<Candidate> complete(const Command& root, const std::vector<ExtraCommand>& extra,
                                std::vector<std::string> words, const AskMaster& ask) {
  const auto prefix = words.empty() ? std::string() : words.back();
  if (!words.empty()) words.pop_back();
  auto word = words.begin();
  while (word != words.end() && word->starts_with('-')) {
    if (takes_value(*word) && std::next(word) == words.end()) return {};
    word += takes_value(*word) ? 2 : 1;
  }
  const auto *here = &root, *group = &root;
  for (; word != words.end() && here->define == nullptr; ++word) {
    const auto* child = find_child(*here, *word);
    if (child == nullptr) return {};
    group = here;
    here = child;
  }
  if (here->define != nullptr) return of_command(*group, *here, {word, words.end()}, prefix, ask);
  if (prefix.starts_with('-')) {
    if (here == &root) return globals(prefix);
    const auto* child = find_child(*here, here->default_child);
    return child == nullptr || child->define == nullptr ? Candidates{}
                                                        : of_command(*here, *child, {}, prefix, ask);
  }
  auto candidates = children_of(*here, prefix);
  if (here == &root)
    for (const auto& command : extra)
      if (!command.hidden && find_child(root, command.name) == nullptr)
        add(candidates, prefix, command.name, command.help);
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.word < b.word; });
  return candidates;
}

Result<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return invalid_argument("shell is '{}'; it must be bash, zsh or fish", shell);
}

namespace {

Action define_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "Shell to print the script for: bash, zsh or fish")
      ->type_name("SHELL")
      ->required()
      ->check([](const std::string& name) {
        const auto script = completion_script(name);
        return script ? std::string() : script.error().message();
      });
  return [shell](Session& session) -> Result<int> {
    DET_TRY(const auto script, completion_script(*shell));
    session.console().write(script);
    return 0;
  };
}

}  // namespace

Command completion_command() {
  return {.names = {"completion"},
          .help = "Print a completion script for a shell",
          .example =
              "source <(det completion bash)      in ~/.bashrc\n"
              "source <(det completion zsh)       in ~/.zshrc\n"
              "det completion fish | source       in ~/.config/fish/config.fish",
          .define = define_completion};
}

}  // namespace det::cli
