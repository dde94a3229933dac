#include "det/pytorch/program/run_process.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "det/pytorch/compile/build.h"
#include "det/pytorch/compile/library.h"
#include "det/pytorch/engine/machine_record.h"
#include "det/pytorch/engine/process.h"
#include "det/pytorch/loop/loop.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/program/sdk.h"
#include "det/pytorch/ranks/meeting.h"
#include "det/pytorch/ranks/network.h"
#include "det/pytorch/ranks/rank_end.h"
#include "det/pytorch/ranks/stacks.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSharedRoot = "/determined_shared_fs";

int flushed(int status) {
  std::fflush(stdout);
  std::fflush(stderr);
  return status;
}

/// Ranks count on the machines where they are, whatever order the agents were asked in.
void place_of(Environment& e, const std::vector<std::int64_t>& machines) {
  const auto mine = machines[static_cast<std::size_t>(e.rank)];
  e.local_rank = std::count(machines.begin(), machines.begin() + e.rank, mine);
  e.local_size = std::ranges::count(machines, mine);
  e.agents = static_cast<std::int64_t>(std::set<std::int64_t>(machines.begin(), machines.end()).size());
}

const char* variable(const char* name) {
  return std::getenv(name);
}

/// One process of a trial: what it knows of itself, of the master and of the other ranks.
struct Process {
  const Job& job;
  trial::Client& client;
  Ranks* ranks = nullptr;  ///< Absent in a trial of one process.

  bool is_chief() const { return job.environment.rank == 0; }
  Watch* watch() const { return ranks != nullptr ? &ranks->watch() : nullptr; }
};

/// Ends the process's work with an early exit that the master does not answer with a restart. Of several
/// ranks the first says so.
void give_up(const Process& process, const std::string& reason, const std::string& message) {
  if (!first_end(process.watch(), "stopped", message)) return;
  print_plain("ERROR: determined: " + message);
  if (process.is_chief()) {
    must(process.client.report_early_exit(reason, message));
  } else {
    trial::Client speaker(must(trial::options_from_environment(variable)));  // the other is the chief's alone
    must(speaker.report_early_exit(reason, message));
    must(speaker.close());
  }
  if (auto* watch = process.watch()) watch->told();
}

/// Records what this process finds where it runs, once for each machine of the trial. A record that cannot be
/// made is missed by nobody but its reader.
void record_machine(const Process& process) {
  const auto& e = process.job.environment;
  if (e.local_rank != 0) return;
  const auto rank = static_cast<int>(e.rank);
  if (process.is_chief()) {
    must(process.client.report_environment(rank, machine_record()));
    return;
  }
  auto options = trial::options_from_environment(variable);
  if (!options) return;
  trial::Client own(*std::move(options));  // the other is the chief's alone
  if (own.report_environment(rank, machine_record())) (void)own.close();
}

/// The trial class that the entry point names; nothing where the sources are at fault, which the master has
/// been told.
std::optional<TrialClass> load_trial(const Process& process, const fs::path& directory) {
  const auto entrypoint = must(parse_entrypoint(process.job.config.entrypoint));
  const BuildOptions options{.directory = directory,
                             .file = entrypoint.file,
                             .cache = cache_directory(),
                             .sdk = own_sdk(),
                             .variable = variable,
                             .log = print_info,
                             .compiler_says = print_plain};
  const auto built = must(build_model(options));
  if (const auto* failure = std::get_if<BuildFailure>(&built)) {
    give_up(process, "EXITED_REASON_ERRORED", failure->message);
    return std::nullopt;
  }
  must(load_library(std::get<fs::path>(built)));
  auto found = find_trial(entrypoint.name);
  if (found) return *std::move(found);
  give_up(process, "EXITED_REASON_ERRORED", found.error().message());
  return std::nullopt;
}

std::unique_ptr<checkpoint::Storage> storage_of(const Process& process) {
  // Outside of containers nothing is mounted there, and host_path itself is meant.
  std::error_code ignored;
  const bool mounted = fs::is_directory(kSharedRoot, ignored);
  auto storage =
      must(checkpoint::open_storage(process.job.config.checkpoint_storage, mounted ? kSharedRoot : ""));
  if (process.is_chief()) must(storage->probe());  // better now than after hours of training
  return storage;
}

int train(const Process& process, const fs::path& directory) {
  const auto& job = process.job;
  if (!process.is_chief())
    must(process.client.close());  // the chief alone talks with the master
  else if (auto* watch = process.watch())
    watch->last_act = [&client = process.client] { must(client.flush()); };
  const Source source(directory);
  const auto storage = storage_of(process);
  const auto found = load_trial(process, directory);
  if (!found) return 0;

  const auto master = remote_master(process.client);
  std::unique_ptr<Engine> engine;
  bool building = true;
  try {
    prepare_process(job.environment);
    engine = std::make_unique<Engine>(found->make, job.environment, process.ranks);
    if (process.is_chief()) {
      Loop loop({.job = job,
                 .engine = *engine,
                 .master = *master,
                 .storage = *storage,
                 .source = source,
                 .log = print_info,
                 .ranks = process.ranks});
      loop.start();
      building = false;
      record_machine(process);
      loop.run();
    } else {
      follow_chief(job, *engine, *storage, *process.ranks, [&] {
        building = false;
        record_machine(process);
      });
    }
  } catch (const InvalidHP& error) {
    give_up(process, building ? "EXITED_REASON_INIT_INVALID_HP" : "EXITED_REASON_INVALID_HP",
            std::string("the trial refused its hyperparameters: ") + error.what());
  } catch (...) {
    if (engine) engine->close_after_failure();
    throw;
  }
  if (engine) engine->close();
  return 0;
}

/// The same with the other ranks: meets them, trains, and ends as they do.
int train_together(Job& job, trial::Client& client, const fs::path& directory) {
  auto& e = job.environment;
  const auto limit = must(
      seconds_from(variable("DET_COLLECTIVE_TIMEOUT"), "DET_COLLECTIVE_TIMEOUT", std::chrono::minutes(30)));
  const auto patience = must(
      seconds_from(variable("DET_RENDEZVOUS_TIMEOUT"), "DET_RENDEZVOUS_TIMEOUT", std::chrono::minutes(10)));
  const char* name = variable("DET_ALLOCATION_ID");
  const auto options = must(trial::options_from_environment(variable));
  const auto meeting = meet({.rank = e.rank,
                             .size = e.size,
                             .local_size = e.local_size,
                             .cross_rank = e.cross_rank,
                             .name = name != nullptr ? name : "",
                             .master_host = options.master.host,
                             .patience = patience},
                            client);
  place_of(e, meeting.machines);
  Watch watch({.rank = e.rank,
               .size = e.size,
               .limit = limit,
               .store = meeting.store.get(),
               .own = meeting.another_connection(),
               .exit_with = {}});
  const char* chosen = variable("GLOO_SOCKET_IFNAME");
  const auto interface =
      chosen != nullptr && *chosen != '\0' ? std::string(chosen) : interface_towards(meeting.via);
  std::unique_ptr<Ranks> ranks;
  const auto status = shared_end(&watch, e.rank, e.size, [&] {
    // The watch speaks first: it knows what each rank does.
    ranks = std::make_unique<Ranks>(*meeting.store,
                                    Place{.rank = e.rank, .size = e.size, .machines = meeting.machines},
                                    watch, interface, 2 * limit + std::chrono::minutes(2));
    return train({.job = job, .client = client, .ranks = ranks.get()}, directory);
  });
  watch.leave();
  if (status != 0) ::_exit(flushed(status));  // the connections of those that are gone would be waited for
  return status;
}

int run(trial::Client& client) {
  const char* given = variable("DET_WORKDIR");
  const fs::path directory = given != nullptr && *given != '\0' ? fs::path(given) : fs::current_path();
  fs::current_path(directory);
  auto job = must(job_from_environment(variable, print_info));
  if (job.environment.size == 1) return train({.job = job, .client = client}, directory);
  try {
    return train_together(job, client, directory);
  } catch (const PreemptedEarly&) {
    if (job.environment.rank == 0) must(client.acknowledge_preemption());
    return 0;
  } catch (const RanksMissing& error) {
    print_error(error.what());
    return 1;
  } catch (const ChiefLost& error) {
    print_error(fmt::format("rank {} ends: {}", job.environment.rank, error.what()));
    return kExitFollowed;
  } catch (const StoreLost& error) {
    print_error(fmt::format("rank {} ends because it lost rank 0 while connecting ({})", job.environment.rank,
                            error.what()));
    return kExitFollowed;
  }
}

}  // namespace

int run_trial_process() {
  line_buffer_output();
  answer_stack_requests();
  tell_crashes();
  ::signal(SIGPIPE, SIG_IGN);  // a rank that is gone is an error to tell, not the end of this one
  ::setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);  // a lost rank is told once, by us
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
