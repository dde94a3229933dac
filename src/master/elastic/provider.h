#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/time.h"
#include "det/master/elastic/provider_settings.h"

namespace det::master {

/// What an engine is asked for: one allotment.
struct EngineRequest {
  std::string name;   ///< by which it is found again: "det-3f2a1b77-17"
  std::string id;     ///< of the allotment
  int nodes = 1;      ///< each runs a pilot
  std::string token;  ///< of the pilots: secret
  // Where each task has an allotment of its own:
  std::string task{};
  std::string owner{};  ///< the account of whose it is
};

/// What an engine has under such a name.
struct EngineJob {
  enum class State { Pending, Running, Ended };
  std::string name;
  std::string id;  ///< in the engine
  State state = State::Pending;
  std::string reason;  ///< in words: why it waits, or how it ended
  std::optional<Time> ends;
  std::string user{};  ///< whose it is, where that may be somebody else than the master's user
};

/// An engine that gives machines. Its functions block, and are called from one thread at a time.
///
/// All it needs to know of the past is in the engine: after a restart the master lists what there is.
class Provider {
 public:
  virtual ~Provider() = default;

  /// Whether the engine could serve the pool at all, at the start. An error says what is wrong, in words.
  virtual Result<void> check() = 0;
  /// Returns the engine's id of the job. Unavailable: nobody answers, and it may be tried again; every other
  /// error is a refusal, in the engine's words.
  virtual Result<std::string> submit(const EngineRequest& request) = 0;
  /// Every job whose name begins with `prefix`, also those that ended a short while ago.
  virtual Result<std::vector<EngineJob>> list(const std::string& prefix) = 0;
  /// Ends them; what is over already is no error.
  virtual Result<void> cancel(const std::vector<EngineJob>& jobs) = 0;
  /// Where people find what the pilots of such a name print: a file, or a command; with NODE where each node
  /// has its own.
  virtual std::string log_of(const std::string& name) const = 0;
  /// How many calls a minute the engine's controller shall see at most; 0: any number.
  virtual int calls_per_minute() const { return 0; }
};

/// What pilots have in common, whatever the engine.
struct PilotSettings {
  std::string master_url;
  std::string certificate;  ///< of the master (PEM), which pilots trust alone; empty: plain HTTP
  std::string certificate_name;
  std::string log_dir;
};

std::unique_ptr<Provider> make_provider(const ProviderSettings& settings, const PilotSettings& pilot);

/// What the shell of a node runs: it becomes the pilot. It expects DET_PILOT_TOKEN in its environment, and
/// has nothing secret in it. `options` are further ones of the agent.
std::string pilot_script(const ProviderSettings& settings, const PilotSettings& pilot,
                         const EngineRequest& request, const std::string& options = "");
/// Commands of the shell that start pilots by `launcher`, pass signals on to it, and end with it.
std::string job_script(const std::string& launcher, const std::string& pilot);
/// The text as one word of the shell.
std::string shell_quoted(const std::string& text);

std::unique_ptr<Provider> make_slurm(const ProviderSettings& settings, const PilotSettings& pilot);
std::unique_ptr<Provider> make_ray(const ProviderSettings& settings, const PilotSettings& pilot);
std::unique_ptr<Provider> make_kubernetes(const ProviderSettings& settings, const PilotSettings& pilot);
std::unique_ptr<Provider> make_ssh(const ProviderSettings& settings, const PilotSettings& pilot);
std::unique_ptr<Provider> make_processes(const ProviderSettings& settings, const PilotSettings& pilot);

}  // namespace det::master
