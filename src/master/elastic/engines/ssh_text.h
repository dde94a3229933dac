#pragma once

#include <string>
#include <vector>

#include "det/master/elastic/provider.h"

/// What machines by SSH are told, and what they say. Pure. What is secret goes through standard input.
namespace det::master {

/// A pilot on a machine.
struct SshPilot {
  std::string name;  ///< of its allotment
  int node = 0;
  int pid = 0;
  bool running = false;
  std::string why;  ///< how it ended
  friend bool operator==(const SshPilot&, const SshPilot&) = default;
};

/// The program that runs the script on its standard input on a machine.
std::vector<std::string> ssh_words(const ProviderSettings& settings, const std::string& host,
                                   const std::string& command = "/bin/sh -s");
std::string ssh_list_script();
/// Answers with the pid. `copy` names the copied program; empty: the pool names one. Exits with kNotCopied
/// where there is no such copy, and with kBusy where another pilot runs.
std::string ssh_start_script(const ProviderSettings& settings, const PilotSettings& pilot,
                             const EngineRequest& request, int node, const std::string& copy);
/// Unpacks standard input, a tar file, as such a copy. It is the command, as the files are its input.
std::string ssh_copy_command(const std::string& copy);
/// Gives pilots some time to leave.
std::string ssh_end_script(const std::vector<SshPilot>& pilots);
Result<std::vector<SshPilot>> read_ssh_pilots(const std::string& text);
/// The sentence for people in what ssh wrote to stderr.
std::string ssh_error(const std::string& text);

constexpr int kNotCopied = 41;
constexpr int kBusy = 42;        ///< another pilot runs there; its name was written
constexpr int kSshFailed = 255;  ///< ssh exits with it when it does not reach the machine

}  // namespace det::master
