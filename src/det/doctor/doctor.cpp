// `det doctor`: what this machine has and lacks for training, and what to do about it.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "det/base/json.h"
#include "det/det/commands.h"
#include "det/det/doctor/probe.h"
#include "det/det/paths.h"

namespace det::commands {
namespace {

const char* name_of(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::Ok: return "ok";
    case doctor::Verdict::Note: return "note";
    case doctor::Verdict::Problem: return "problem";
  }
  return "";
}

void print_line(const doctor::Check& check, bool colored) {
  const bool problem = check.verdict == doctor::Verdict::Problem;
  const char* color = check.verdict == doctor::Verdict::Ok ? "\033[32m" : problem ? "\033[31m" : "\033[33m";
  std::printf("%s%-8s%s %-12s %s\n", colored ? color : "", name_of(check.verdict), colored ? "\033[0m" : "",
              check.name.c_str(), check.found.c_str());
  if (!check.advice.empty()) std::printf("%22s-> %s\n", "", check.advice.c_str());
}

}  // namespace

int doctor_command(std::vector<std::string> arguments) {
  CLI::App app("Check what this machine has for training, and say what to do about what it lacks.",
               "det doctor");
  auto directory = default_directory();
  int port = 8080;
  std::string config_file;
  bool as_json = false;
  app.add_option("--dir", directory, "Where det up would keep its state")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--port", port, "Where det up would listen")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_option("--config", config_file,
                 "Also try the checkpoint_storage of this configuration of a master or an experiment (YAML)")
      ->type_name("FILE");
  app.add_flag("--json", as_json, "Print a JSON list");
  if (const auto code = parse(app, std::move(arguments))) return *code;

  const auto checks = doctor::checks_of(doctor::look(directory.string(), port, config_file));
  int problems = 0;
  json::array list;
  const bool colored = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  for (const auto& check : checks) {
    problems += check.verdict == doctor::Verdict::Problem ? 1 : 0;
    if (as_json)
      list.push_back({{"name", check.name},
                      {"verdict", name_of(check.verdict)},
                      {"found", check.found},
                      {"advice", check.advice}});
    else
      print_line(check, colored);
  }
  if (as_json)
    std::printf("%s\n", json::serialize(list).c_str());
  else if (problems == 0)
    std::printf("\nThis machine can train. Start with: det init; det up\n");
  else
    std::printf("\n%d problem%s to solve first.\n", problems, problems == 1 ? "" : "s");
  return problems == 0 ? 0 : 1;
}

}  // namespace det::commands
