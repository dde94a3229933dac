#include "det/cli/cli.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "det/base/text.h"
#include "det/cli/command.h"
#include "det/cli/completion/completion.h"
#include "det/cli/tasks/terminal.h"
#include "det/version.h"

extern char** environ;

namespace det::cli {
namespace {

constexpr const char* kGlobalHelp = R"(
options, before the command:
  -m, --master ADDRESS  Address of the master, or of several: A,B (default: DET_MASTER, DET_MASTER_ADDR,
                        or localhost:8080)
  -u, --user NAME       Run as this user
  -v, --version         Print the version and exit
  -h, --help            Print this help and exit
)";

using Words = std::vector<std::string>;

bool wants_help(const std::string& word) {
  return word == "-h" || word == "--help";
}

int usage_error(Console& console, const std::string& path, const std::string& message,
                const std::string& usage = "") {
  if (!usage.empty()) console.warn("usage: " + usage);
  console.fail(fmt::format("{}: {}", path, message));
  console.warn(fmt::format("For help, run: {} --help", path));
  return kExitUsage;
}

int report(Console& console, const Command& command, const Error& error) {
  if (error.code() == ErrorCode::Unauthenticated) {
    console.fail(error.message());
    return kExitFailure;
  }
  const auto lines = split(trim(error.message()), '\n');
  if (lines.size() == 1) {
    console.fail(fmt::format("Failed to {}: {}", action_of(command), lines[0]));
  } else {
    console.fail(fmt::format("Failed to {}:", action_of(command)));
    for (const auto& line : lines) console.fail("  " + line);
  }
  return kExitFailure;
}

// The positional part of a command's usage line.
std::string usage_of(const CLI::App& app, const std::string& path) {
  auto text = path + " [OPTIONS]";
  for (const auto* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    const auto name = option->get_type_name();
    const bool many = option->get_items_expected_max() > 1;
    text += option->get_required() ? fmt::format(" {}{}", name, many ? "..." : "")
                                   : fmt::format(" [{}{}]", name, many ? "..." : "");
  }
  if (app.get_prefix_command()) text += " [ENTRYPOINT...]";
  return text;
}

std::string command_help(const CLI::App& app, const Command& command, const std::string& path) {
  auto text = fmt::format("usage: {}\n\n{}\n", usage_of(app, path), command.help);
  const auto section = [&](const char* title, bool positional) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto* option : options_of(app)) {
      if (option->get_positional() != positional || option->get_group().empty()) continue;
      auto name = positional ? option->get_type_name() : option->get_name(false, true);
      if (!positional && option->get_items_expected_max() > 0) name += ' ' + option->get_type_name();
      for (std::size_t at = 0; (at = name.find(',', at)) != std::string::npos; at += 2)
        name.insert(at + 1, " ");
      if (const auto values = name.find(":{"); values != std::string::npos)
        name.erase(values);  // in the text
      rows.emplace_back(name, option->get_description());
    }
    if (rows.empty()) return;
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, std::min<std::size_t>(row.first.size(), 28));
    text += fmt::format("\n{}:\n", title);
    for (const auto& row : rows) {
      text += "  " + row.first;
      if (!row.second.empty() && row.first.size() > width)
        text += '\n' + std::string(width + 2, ' ');
      else if (!row.second.empty())
        text.append(width - row.first.size(), ' ');
      text += row.second.empty() ? "\n" : "  " + row.second + '\n';
    }
  };
  section("arguments", true);
  section("options", false);
  if (!command.example.empty()) {
    text += "\nexamples:\n";
    for (const auto& line : split(command.example, '\n')) text += "  " + line + '\n';
  }
  return text;
}

int run_command(const Command& command, const std::string& path, Words words, Console& console,
                const Variables& variables, const Globals& globals) {
  CLI::App app;
  app.set_help_flag("-h,--help", "Print this help and exit");
  const auto action = command.define(app);
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    console.write(command_help(app, command, path));
    return 0;
  } catch (const CLI::ExtrasError& error) {
    std::string message = error.what();
    if (const auto extras = app.remaining(); !extras.empty()) {
      message = fmt::format("unexpected argument '{}'", extras[0]);
      for (const auto* global : {"-m", "--master", "-u", "--user"})
        if (extras[0] == global)
          message +=
              fmt::format("; {} goes before the command: det {} ... {}", global, global, path.substr(4));
    }
    return usage_error(console, path, message, usage_of(app, path));
  } catch (const CLI::ParseError& error) {
    return usage_error(console, path, error.what(), usage_of(app, path));
  }
  Session session(console, variables, globals);
  const auto code = action(session);
  console.clear_status();
  console.flush();
  return code ? *code : report(console, command, code.error());
}

std::string root_help(const Command& root, const std::vector<ExtraCommand>& extra) {
  auto shown = root;
  for (const auto& command : extra) {
    if (command.hidden) continue;
    auto* group = const_cast<Command*>(find_child(shown, command.name));
    if (group != nullptr)
      group->help = fmt::format("{}; {}{}", command.help, static_cast<char>(std::tolower(group->help[0])),
                                group->help.substr(1));
    else
      shown.children.push_back({.names = {command.name}, .help = command.help, .example = ""});
  }
  return group_help(shown, "det") + kGlobalHelp;
}

// Walks down the tree from `root` as far as the words go.
int dispatch(const Command& root, Words words, Console& console, const Variables& variables,
             const Globals& globals, const std::vector<ExtraCommand>& extra) {
  const auto* here = &root;
  std::string path = "det";
  while (here->define == nullptr) {
    const bool at_root = here == &root;
    if (words.size() > 1 && words.front() == "help") {  // det help experiment: det experiment --help
      words.erase(words.begin());
      words.emplace_back("--help");
    }
    const auto word = words.empty() ? std::string() : words.front();
    const auto* child = word.empty() ? nullptr : find_child(*here, word);
    const auto program =
        std::find_if(extra.begin(), extra.end(), [&](const auto& e) { return at_root && e.name == word; });
    if (program != extra.end()) {
      // `det master` starts one, `det master info` asks one; the help is of both.
      const auto second = words.size() > 1 ? words[1] : std::string();
      const bool asks = child != nullptr && !second.empty() && !second.starts_with('-');
      const bool helps = child != nullptr && (wants_help(second) || (second == "help" && words.size() == 2));
      if (helps) console.write(group_help(*child, path + ' ' + word) + '\n');
      if (helps || !asks) {
        console.flush();
        ::signal(SIGINT, SIG_DFL);  // a daemon ends in its own way
        return program->run(helps ? Words{"--help"} : Words(words.begin() + 1, words.end()));
      }
    }
    if (wants_help(word) || word == "help") {
      console.write(at_root ? root_help(root, extra) : group_help(*here, path));
      return 0;
    }
    if (child != nullptr) {
      words.erase(words.begin());
    } else if ((word.empty() || word.starts_with('-')) && !here->default_child.empty()) {
      child = find_child(*here, here->default_child);
    } else if (at_root && word.empty()) {
      console.warn("usage: det [-m ADDRESS] [-u NAME] COMMAND ...");
      console.fail("det: no subcommand specified");
      console.warn("For help, run: det --help");
      return kExitUsage;
    } else if (word.empty()) {
      console.write(group_help(*here, path));
      return 0;
    } else {
      auto known = *here;
      if (at_root)
        for (const auto& e : extra)
          if (!e.hidden) known.children.push_back({.names = {e.name}, .help = e.help, .example = ""});
      const auto instead = at_root ? instead_of(word) : "";
      return usage_error(console, path, instead.empty() ? unknown_command(known, path, word) : instead);
    }
    here = child;
    path += ' ' + child->names[0];
  }
  return run_command(*here, path, std::move(words), console, variables, globals);
}

int run_line(const Words& arguments, Console& console, const Variables& variables,
             const std::vector<ExtraCommand>& extra) {
  if (!arguments.empty() && arguments[0] == kCompleteWords) {
    const Words typed(arguments.begin() + 1, arguments.end());
    const auto ask = ask_over_http(variables, master_address(variables), typed);
    for (const auto& [word, help] : complete(root_command(), extra, typed, ask))
      console.line("{}\t{}", word, help);
    return 0;
  }
  Globals globals{.master = master_address(variables), .user = std::nullopt};
  Words words = arguments;
  while (!words.empty() && words.front().starts_with('-')) {
    const auto word = words.front();
    if (wants_help(word)) break;
    if (word == "-v" || word == "--version") {
      console.line("det {}", DET_VERSION);
      return 0;
    }
    std::string name = word;
    std::optional<std::string> value;
    if (const auto equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
      name = word.substr(0, equals);
      value = word.substr(equals + 1);
    } else if (!word.starts_with("--") && word.size() > 2) {
      name = word.substr(0, 2);
      value = word.substr(2);
    }
    const bool master = name == "-m" || name == "--master";
    if (!master && name != "-u" && name != "--user")
      return usage_error(console, "det", fmt::format("no such option: {}", name));
    words.erase(words.begin());
    if (!value) {
      if (words.empty())
        return usage_error(console, "det",
                           fmt::format("{} needs a value: {}", name, master ? "an address" : "a user name"));
      value = words.front();
      words.erase(words.begin());
    }
    if (master)
      globals.master = *value;
    else
      globals.user = *value;
  }
  return dispatch(root_command(), std::move(words), console, variables, globals, extra);
}

}  // namespace

int run(const Words& arguments, Console& console, const Variables& variables,
        const std::vector<ExtraCommand>& extra) {
  const int code = run_line(arguments, console, variables, extra);
  console.flush();
  if (code != 0 || console.written()) return code;
  console.fail("Failed to write the result: standard output is full or closed; the output is incomplete");
  return kExitFailure;
}

int run(int argc, char** argv, const std::vector<ExtraCommand>& extra) {
  Console console(process_streams());
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  end_on_interrupt();
  try {
    return run(Words(argv + std::min(argc, 1), argv + argc), console, variables, extra);
  } catch (const std::exception& error) {
    console.fail(fmt::format("Failed: {}", error.what()));
    return kExitFailure;
  }
}

}  // namespace det::cli
