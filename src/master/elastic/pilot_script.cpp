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
                         const EngineRequest& request, const std::string& options) {
  const auto base = settings.work_dir.empty() ? "${TMPDIR:-/tmp}" : shell_quoted(settings.work_dir);
  std::string script =
      fmt::format("umask 077\nwork={}/{}.$$\nmkdir -p \"$work\" || exit 1\n", base, request.name);
  std::string agent = fmt::format("{} agent --pilot {} --master {}", shell_quoted(settings.program),
                                  shell_quoted(request.id), shell_quoted(pilot.master_url));
  if (!pilot.certificate.empty()) {
    script += fmt::format("cat > \"$work.pem\" <<'END_OF_CERTIFICATE'\n{}\nEND_OF_CERTIFICATE\n",
                          trim(pilot.certificate));
    agent += " --master-cert-file \"$work.pem\"";
    if (!pilot.certificate_name.empty())
      agent += " --master-cert-name " + shell_quoted(pilot.certificate_name);
  }
  if (!settings.gpus) agent += fmt::format(" --slots {}", settings.limits.slots_per_node);
  for (const auto& option : settings.agent_options) agent += " " + shell_quoted(option);
  if (!options.empty()) agent += " " + options;
  if (!settings.prologue.empty()) script += settings.prologue + "\n";
  return script + "exec " + agent + " --dir \"$work\" < /dev/null\n";
}

std::string job_script(const std::string& launcher, const std::string& pilot) {
  // A shell that waits is woken by the signal that it passes on, and waits again.
  return fmt::format(
      "{} bash -s <<'END_OF_PILOT' &\n{}END_OF_PILOT\n"
      "pilot=$!\n"
      "trap 'kill -USR1 $pilot' USR1\n"
      "trap 'kill -TERM $pilot' TERM INT\n"
      "while true; do\n"
      "  wait $pilot\n"
      "  status=$?\n"
      "  kill -0 $pilot 2>/dev/null || exit $status\n"
      "done\n",
      launcher, pilot);
}

}  // namespace det::master
