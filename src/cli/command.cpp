#include "det/cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "det/base/text.h"

namespace det::cli {

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  auto options = app.get_options();
  for (const auto* group : app.get_subcommands([](const CLI::App* part) { return part->get_name().empty(); }))
    for (const auto* option : group->get_options())
      if (option != group->get_help_ptr()) options.push_back(option);
  return options;
}

const Command* find_child(const Command& group, std::string_view name) {
  for (const auto& child : group.children)
    if (std::find(child.names.begin(), child.names.end(), name) != child.names.end()) return &child;
  return nullptr;
}

std::string unknown_command(const Command& group, const std::string& path, const std::string& word) {
  auto text = fmt::format("'{}' is not a command of {}.", word, path);
  const std::string* nearest = nullptr;
  int distance_min = static_cast<int>(word.size() + 2) / 3 + 1;
  for (const auto& child : group.children) {
    for (const auto& name : child.names) {
      const int distance = name.starts_with(word) && word.size() > 1 ? 1 : edit_distance(word, name);
      if (distance >= distance_min) continue;
      distance_min = distance;
      nearest = &name;
    }
  }
  if (nearest != nullptr) text += fmt::format(" Did you mean '{}'?", *nearest);
  return text;
}

std::string instead_of(std::string_view word) {
  if (word == "deploy" || word == "d")
    return fmt::format(
        "'{}' does not exist here, because nothing runs in containers. 'det up' starts a master and an agent "
        "on this machine; 'det master' and 'det agent' start them separately.",
        word);
  if (word == "auth" || word == "oauth")
    return fmt::format(
        "'{}' does not exist here, because there is no single sign-on. Users log in with 'det user login "
        "NAME', programs with a token from 'det token create'.",
        word);
  return "";
}

std::string action_of(const Command& command) {
  std::string text;
  for (const auto& word : split(command.help, ' '))
    if (word != "a" && word != "an" && word != "the") text += (text.empty() ? "" : " ") + word;
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string group_help(const Command& group, const std::string& path) {
  auto children = group.children;
  std::sort(children.begin(), children.end(),
            [](const auto& a, const auto& b) { return a.names[0] < b.names[0]; });
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const auto& child : children) {
    auto name = child.names[0];
    for (std::size_t i = 1; i < child.names.size(); ++i) name += (i == 1 ? " (" : ", ") + child.names[i];
    if (child.names.size() > 1) name += ')';
    width = std::max(width, name.size());
    names.push_back(std::move(name));
  }
  std::string text = fmt::format("usage: {} COMMAND ...\n\n{}\n\ncommands:\n", path, group.help);
  for (std::size_t i = 0; i < children.size(); ++i) {
    const bool is_default = children[i].names[0] == group.default_child;
    text +=
        fmt::format("  {:<{}}  {}{}\n", names[i], width, children[i].help, is_default ? " (default)" : "");
  }
  if (!group.example.empty()) {
    text += "\nexamples:\n";
    for (const auto& line : split(group.example, '\n')) text += "  " + line + '\n';
  }
  text += fmt::format("\nFor help with a command, run: {} COMMAND --help\n", path);
  return text;
}

void add_refused(CLI::App& app, const std::string& names, const std::string& why, bool has_value) {
  const auto refuse = [name = names.substr(names.rfind(',') + 1), why](const std::string&) -> std::string {
    throw CLI::ValidationError(name, why);
  };
  if (has_value)
    app.add_option_function<std::string>(names, [refuse](const std::string& value) { refuse(value); })
        ->group("");
  else
    app.add_flag_callback(names, [refuse] { refuse(""); })->group("");
}

Command root_command() {
  return {
      .names = {"det"},
      .help = "Train deep-learning models on a cluster",
      .example =
          "det up                                 start a master and an agent on this machine\n"
          "det experiment create const.yaml . -f  train, and follow the log\n"
          "det experiment list",
      .children = {
          experiment_commands(),    trial_commands(),       checkpoint_commands(), model_commands(),
          agent_commands(),         slot_commands(),        master_commands(),     user_commands(),
          template_commands(),      workspace_commands(),   project_commands(),    token_commands(),
          rbac_commands(),          audit_commands(),       webhook_commands(),    resources_commands(),
          job_commands(),           task_commands(),        command_commands(),    notebook_commands(),
          shell_commands(),         tensorboard_commands(), dev_commands(),        preview_search_command(),
          simulate_command(),       version_command(),      user_group_commands(), config_policies_commands(),
          resource_pool_commands(), tunnel_command(),       completion_command()}};
}

}  // namespace det::cli
