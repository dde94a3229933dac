#include "det/pytorch/run_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "det/pytorch/build.h"
#include "det/pytorch/library.h"
#include "det/pytorch/loop.h"
#include "det/pytorch/output.h"
#include "det/pytorch/sdk.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSharedRoot = "/determined_shared_fs";

const char* variable(const char* name) {
  return std::getenv(name);
}

/// Ends the process's work with an early exit that the master does not answer with a restart.
void give_up(trial::Client& client, const std::string& reason, const std::string& message) {
  print_error(message);
  if (auto told = client.report_early_exit(reason, message); !told)
    throw LoopFailure(std::move(told).error());
}

/// The trial class that the entry point names; nothing where the sources are at fault, which the master has
/// been told.
Result<std::optional<TrialClass>> load_trial(const Job& job, trial::Client& client,
                                             const fs::path& directory) {
  DET_TRY(const auto entrypoint, parse_entrypoint(job.config.entrypoint));
  const BuildOptions options{.directory = directory,
                             .file = entrypoint.file,
                             .cache = cache_directory(),
                             .sdk = own_sdk(),
                             .variable = variable,
                             .log = print_info,
                             .compiler_says = print_plain};
  DET_TRY(const auto built, build_model(options));
  if (const auto* failure = std::get_if<BuildFailure>(&built)) {
    give_up(client, "EXITED_REASON_ERRORED", failure->message);
    return std::optional<TrialClass>();
  }
  if (auto loaded = load_library(std::get<fs::path>(built)); !loaded) return tl::unexpected(loaded.error());
  auto found = find_trial(entrypoint.name);
  if (found) return std::optional<TrialClass>(*std::move(found));
  give_up(client, "EXITED_REASON_ERRORED", found.error().message());
  return std::optional<TrialClass>();
}

int run(trial::Client& client) {
  const char* given = variable("DET_WORKDIR");
  const fs::path directory = given != nullptr && *given != '\0' ? fs::path(given) : fs::current_path();
  fs::current_path(directory);
  auto job = job_from_environment(variable, print_info);
  if (!job) throw LoopFailure(std::move(job).error());
  if (job->environment.size > 1) {
    const auto why =
        fmt::format("resources.slots_per_trial is {}; this version trains a trial in C++ on one slot",
                    job->environment.size);
    if (job->environment.rank == 0)
      give_up(client, "EXITED_REASON_ERRORED", why);
    else
      print_error(why);
    return 0;
  }
  const Source source(directory);
  // Outside of containers nothing is mounted there, and host_path itself is meant.
  std::error_code ignored;
  const bool mounted = fs::is_directory(kSharedRoot, ignored);
  auto storage = checkpoint::open_storage(job->config.checkpoint_storage, mounted ? kSharedRoot : "");
  if (!storage) throw LoopFailure(std::move(storage).error());
  if (auto fine = (*storage)->probe(); !fine) throw LoopFailure(std::move(fine).error());
  auto found = load_trial(*job, client, directory);
  if (!found) throw LoopFailure(std::move(found).error());
  if (!*found) return 0;

  const auto master = remote_master(client);
  std::unique_ptr<Engine> engine;
  bool building = true;
  try {
    Engine::prepare_process(job->environment);
    engine = std::make_unique<Engine>((*found)->make, job->environment);
    Loop loop({.job = *job,
               .engine = *engine,
               .master = *master,
               .storage = **storage,
               .source = source,
               .log = print_info});
    loop.start();
    building = false;
    loop.run();
  } catch (const InvalidHP& error) {
    give_up(client, building ? "EXITED_REASON_INIT_INVALID_HP" : "EXITED_REASON_INVALID_HP",
            std::string("the trial refused its hyperparameters: ") + error.what());
  }
  if (engine) engine->close();
  return 0;
}

}  // namespace

int run_trial_process() {
  line_buffer_output();
  auto options = trial::options_from_environment(variable);
  if (!options) {
    print_error(options.error().message());
    return 1;
  }
  trial::Client client(*std::move(options));
  int status = 1;
  try {
    status = run(client);
    if (auto closed = client.close(); !closed) throw LoopFailure(std::move(closed).error());
  } catch (const LoopFailure& failure) {
    if (failure.error.code() == ErrorCode::Gone) return kExitGone;
    print_error(failure.error.message());
    return 1;
  } catch (...) {
    print_current_exception();
    return 1;
  }
  return status;
}

}  // namespace det::pytorch
