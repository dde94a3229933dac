#include "det/master/elastic/engines/ssh_text.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "det/base/text.h"

namespace det::master {
namespace {

// The directories of a machine; `started PID` prints when a process started, or nothing where it has ended.
constexpr std::string_view kHead =
    "state=\"${XDG_STATE_HOME:-$HOME/.local/state}/det/pilots\"\n"
    "programs=\"${XDG_CACHE_HOME:-$HOME/.cache}/det/programs\"\n"
    "boot=$(cat /proc/sys/kernel/random/boot_id)\n"
    "started() { set -- $(sed 's/.*) //' \"/proc/$1/stat\" 2>/dev/null); [ \"$1\" = Z ] || echo \"${20}\"; "
    "}\n"
    "alive() { [ \"$3\" = \"$boot\" ] && [ -n \"$2\" ] && [ \"$(started \"$1\")\" = \"$2\" ]; }\n";

std::string file_name(const std::string& name, int node) {
  return fmt::format("{}.{}", name, node);
}

}  // namespace

std::vector<std::string> ssh_words(const ProviderSettings& settings, const std::string& host,
                                   const std::string& command) {
  // ssh takes the first value that it finds: the pool's own options come before these.
  std::vector<std::string> words = {"ssh", "-T"};
  words.insert(words.end(), settings.ssh_options.begin(), settings.ssh_options.end());
  for (const auto* option :
       {"BatchMode=yes", "ConnectTimeout=5", "ServerAliveInterval=5", "ServerAliveCountMax=3"}) {
    words.emplace_back("-o");
    words.emplace_back(option);
  }
  words.insert(words.end(), {"--", host, command});
  return words;
}

std::string ssh_list_script() {
  return std::string(kHead) +
         "for file in \"$state\"/det-*.pid; do\n"
         "  [ -s \"$file\" ] || continue\n"
         "  name=${file##*/}; name=${name%.pid}\n"
         "  read -r pid start booted < \"$file\"\n"
         "  if alive \"$pid\" \"$start\" \"$booted\"; then\n"
         "    printf '%s\\trunning\\t%s\\t\\n' \"$name\" \"$pid\"\n"
         "  elif [ \"$booted\" = \"$boot\" ]; then\n"
         "    printf '%s\\tended\\t%s\\t%s\\n' \"$name\" \"$pid\" \"$(tail -n 1 \"$state/$name.log\" | tr "
         "'\\t' ' ')\"\n"
         "  else\n"
         "    printf '%s\\trestarted\\t%s\\t\\n' \"$name\" \"$pid\"\n"
         "  fi\n"
         "done\n"
         "find \"$state\" -name 'det-*' -mmin +1440 -exec sh -c 'for file; do\n"
         "  read -r pid _ < \"${file%.*}.pid\"; [ -d \"/proc/$pid\" ] || rm -f \"$file\"; done' sh {} + "
         "2>/dev/null\n"
         "echo end\n"
         "exit 0\n";
}

std::string ssh_start_script(const ProviderSettings& settings, const PilotSettings& pilot,
                             const EngineRequest& request, int node, const std::string& copy) {
  const auto name = file_name(request.name, node);
  auto own = settings;
  std::string options = fmt::format("--node {}", node), script(kHead);
  if (!copy.empty()) {
    script += fmt::format("[ -x \"$programs/{}/bin/det\" ] || exit {}\n", copy, kNotCopied);
    own.program = "bin/det";
    if (std::ranges::find(settings.agent_options, "--python-path") == settings.agent_options.end())
      options += " --python-path \"$PWD/python\"";
  }
  script += fmt::format("umask 077\nmkdir -p \"$state\" || exit 1\nfile=\"$state/{}\"\n", name);
  script +=
      "if [ -s \"$file.pid\" ]; then\n"
      "  read -r pid start booted < \"$file.pid\"\n"
      "  if alive \"$pid\" \"$start\" \"$booted\"; then echo \"$pid\"; exit 0; fi\n"
      "  rm -f \"$file.pid\"\n"
      "fi\n"
      "for other in \"$state\"/det-*.pid; do\n"
      "  [ -s \"$other\" ] || continue\n"
      "  read -r pid start booted < \"$other\"\n"
      "  if alive \"$pid\" \"$start\" \"$booted\"; then other=${other##*/}; echo \"${other%.*.pid}\"; exit " +
      std::to_string(kBusy) +
      "; fi\n"
      "done\n"
      "cat > \"$file.sh\" <<'END_OF_PILOT'\n";
  script += kHead;
  script += fmt::format(
      "echo \"$$ $(started $$) $boot\" > \"$state/{0}.new\"\n"
      "mv \"$state/{0}.new\" \"$state/{0}.pid\"\n",
      name);
  script += copy.empty() ? std::string("cd /\n") : fmt::format("cd \"$programs/{}\" || exit 1\n", copy);
  script += pilot_script(own, pilot, request, options);
  script +=
      fmt::format("END_OF_PILOT\nDET_PILOT_TOKEN={}\nexport DET_PILOT_TOKEN\n", shell_quoted(request.token));
  script +=
      "cd /\n"
      "setsid bash \"$file.sh\" > \"$file.log\" 2>&1 < /dev/null &\n"
      "tries=0\n"
      "while [ ! -s \"$file.pid\" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done\n"
      "[ -s \"$file.pid\" ] || { tail -n 1 \"$file.log\" >&2; exit 1; }\n"
      "read -r pid _ < \"$file.pid\"\n"
      "echo \"$pid\"\n"
      "exit 0\n";
  return script;
}

std::string ssh_copy_command(const std::string& copy) {
  return "exec /bin/sh -c " +
         shell_quoted(
             fmt::format("umask 077; programs=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/det/programs\"; "
                         "mkdir -p \"$programs/{0}.$$\" && tar -xzf - -C \"$programs/{0}.$$\" || exit 1; "
                         "mv -T \"$programs/{0}.$$\" \"$programs/{0}\" || rm -rf \"$programs/{0}.$$\"; "
                         "test -x \"$programs/{0}/bin/det\"",
                         copy));
}

std::string ssh_end_script(const std::vector<SshPilot>& pilots) {
  std::string script(kHead);
  for (const auto& pilot : pilots)
    script += fmt::format(
        "file=\"$state/{}.pid\"\n"
        "if [ -s \"$file\" ]; then\n"
        "  read -r pid start booted < \"$file\"\n"
        "  if alive \"$pid\" \"$start\" \"$booted\"; then\n"
        "    kill -TERM \"$pid\"\n"
        "    ( sleep 30; alive \"$pid\" \"$start\" \"$booted\" && kill -TERM \"$pid\"\n"
        "      sleep 30; alive \"$pid\" \"$start\" \"$booted\" && kill -KILL \"$pid\" ) > /dev/null 2>&1 < "
        "/dev/null &\n"
        "  fi\n"
        "fi\n",
        file_name(pilot.name, pilot.node));
  return script + "exit 0\n";
}

Result<std::vector<SshPilot>> read_ssh_pilots(const std::string& text) {
  std::vector<SshPilot> pilots;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "end") return pilots;
    std::istringstream fields(line);
    std::string name, state, pid, why;
    std::getline(fields, name, '\t');
    std::getline(fields, state, '\t');
    std::getline(fields, pid, '\t');
    std::getline(fields, why);
    const auto dot = name.rfind('.');
    if (!name.starts_with("det-") || dot == std::string::npos || state.empty())
      continue;  // a greeting of the shell
    SshPilot pilot{.name = name.substr(0, dot), .running = state == "running"};
    std::from_chars(name.data() + dot + 1, name.data() + name.size(), pilot.node);
    std::from_chars(pid.data(), pid.data() + pid.size(), pilot.pid);
    if (state == "restarted")
      pilot.why = "the machine was restarted";
    else if (state == "ended")
      pilot.why = why.empty() ? "the pilot ended" : "the pilot ended: " + why;
    pilots.push_back(std::move(pilot));
  }
  return fail(ErrorCode::Unavailable, "it answered '{}'", trim(text).substr(0, 200));
}

std::string ssh_error(const std::string& text) {
  std::string said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto words = trim(line);
    // What OpenSSH adds to say where it happened, and how a session ended.
    if (words.empty() || words.starts_with("Warning: Permanently added") ||
        words.starts_with("Connection to ") || words.starts_with("Connection closed by"))
      said = said.empty() ? std::string(words) : said;
    else
      said = words;
  }
  if (said.starts_with("ssh: ")) said.erase(0, 5);
  return said;
}

}  // namespace det::master
