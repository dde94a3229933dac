#include <fmt/format.h>

#include "det/base/text.h"
#include "det/master/elastic/provider.h"

namespace det::master {

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string pilot_script(const ProviderSettings& settings, const PilotSettings& pilot,
                         const EngineRequest& request, const std::string& launcher,
                         const std::string& options) {
  std::string script = "#!/bin/bash\n";
  script += fmt::format("# The pilots of allotment {}: agents of Determined on machines that it was given.\n",
                        request.id);
  const auto base = settings.work_dir.empty() ? "${TMPDIR:-/tmp}" : shell_quoted(settings.work_dir);
  script += fmt::format("work={}/{}.$$\numask 077\nmkdir -p \"$work\"\ntrap 'rm -rf \"$work\"' EXIT\n", base,
                        request.name);
  std::string agent = fmt::format("{} agent --pilot {} --master {} --leave-after {}",
                                  shell_quoted(settings.program), shell_quoted(request.id),
                                  shell_quoted(pilot.master_url), 600);
  if (!pilot.certificate.empty()) {
    script += fmt::format("cat > \"$work/master.pem\" <<'END'\n{}\nEND\n", trim(pilot.certificate));
    agent += " --master-cert-file \"$work/master.pem\"";
    if (!pilot.certificate_name.empty())
      agent += " --master-cert-name " + shell_quoted(pilot.certificate_name);
  }
  if (!settings.gpus) agent += fmt::format(" --slots {}", settings.limits.slots_per_node);
  for (const auto& option : settings.agent_options) agent += " " + shell_quoted(option);
  if (!settings.prologue.empty()) script += settings.prologue + "\n";
  script += fmt::format("{}{}{} --dir \"$work/agent\" &\npilot=$!\n", launcher,
                        launcher.empty() ? "" : " ", agent + (options.empty() ? "" : " " + options));
  // A shell that waits is woken by the signal that it passes on, and waits again.
  script +=
      "trap 'kill -USR1 $pilot' USR1\n"
      "trap 'kill -TERM $pilot' TERM INT\n"
      "while true; do\n"
      "  wait $pilot\n"
      "  status=$?\n"
      "  kill -0 $pilot 2>/dev/null || exit $status\n"
      "done\n";
  return script;
}

}  // namespace det::master
