#include "det/pytorch/program/run_local.h"

#include <cstdlib>

#include "det/checkpoint/scratch.h"
#include "det/pytorch/compile/build.h"
#include "det/pytorch/compile/library.h"
#include "det/pytorch/engine/process.h"
#include "det/pytorch/loop/loop.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/program/program.h"
#include "det/pytorch/program/sdk.h"
#include "det/pytorch/run.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

/// Runs once; the uuid of its newest checkpoint.
std::string run_once(const TrialClass& trial, const Job& job, const Source& source, std::int64_t batches,
                     checkpoint::Storage& storage) {
  std::string newest;
  const auto master = local_master({.batches = batches,
                                    .smaller_is_better = job.config.searcher.smaller_is_better,
                                    .print = print_info,
                                    .on_checkpoint = [&](const std::string& uuid) { newest = uuid; }});
  prepare_process(job.environment);
  Engine engine(trial.make, job.environment);
  Loop loop({.job = job,
             .engine = engine,
             .master = *master,
             .storage = storage,
             .source = source,
             .log = print_info});
  try {
    loop.start();
    loop.run();
  } catch (...) {
    engine.close_after_failure();
    throw;
  }
  engine.close();
  return newest;
}

/// While it lives, nobody may end the process with exit(): it would pass for a trial that was tested.
class NotOver {
 public:
  NotOver() {
    static const int kOnce = std::atexit([] {
      if (!g_running) return;
      print_plain("ERROR: determined: the trial called exit() before it was complete");
      std::_Exit(1);
    });
    (void)kOnce;
    g_running = true;
  }
  ~NotOver() { g_running = false; }
  NotOver(const NotOver&) = delete;
  NotOver& operator=(const NotOver&) = delete;

 private:
  static inline bool g_running = false;
};

struct Arguments {
  std::vector<std::string> words;
  std::string trial;
  LocalRun run;
};

Result<Arguments> parse(int argc, char** argv, int first) {
  Arguments parsed;
  for (int i = first; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> Result<std::string> {
      if (++i >= argc) return invalid_argument("{} needs a value", word);
      return std::string(argv[i]);
    };
    if (word == "--test") {
      parsed.run.batches = 0;
    } else if (word == "--batches") {
      DET_TRY(const auto text, value());
      const auto batches = json::to_int64(json::value(text));
      if (!batches || *batches < 1)
        return invalid_argument("--batches is {}; it must be a number of at least 1", text);
      parsed.run.batches = *batches;
    } else if (word == "--checkpoints") {
      DET_TRY(parsed.run.checkpoints, value());
    } else if (word == "--trial") {
      DET_TRY(parsed.trial, value());
    } else if (word.starts_with("-")) {
      return invalid_argument("unknown option {}", word);
    } else {
      parsed.words.push_back(word);
    }
  }
  return parsed;
}

Result<Job> read_job(const std::string& path, bool test) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return not_found("file {} not found", path);
  return job_from_config(read_file(path), test, print_info);
}

int failed(const Error& error) {
  print_error(error.message());
  return 1;
}

/// Runs `body` and says what went wrong.
template <typename Body>
int guarded(const Body& body) {
  try {
    return body();
  } catch (const LoopFailure& failure) {
    return failed(failure.error);
  } catch (const InvalidHP& error) {
    print_error(std::string("the trial refused its hyperparameters: ") + error.what());
  } catch (...) {
    print_current_exception();
  }
  return 1;
}

}  // namespace

void run_locally(const TrialClass& trial, Job job, const Source& source, const LocalRun& options) {
  const NotOver guard;
  const Scratch scratch("determined-test");
  const auto storage = checkpoint::directory_storage(
      options.checkpoints.empty() ? scratch.path() : fs::absolute(options.checkpoints));
  const bool test = options.batches == 0;
  const auto newest = run_once(trial, job, source, test ? 1 : options.batches, *storage);
  if (!test) return;
  if (newest.empty()) throw UsageError("the trial asked to stop before its first batch; nothing was tested");
  print_info("reloading the checkpoint");
  job.latest_checkpoint = newest;
  run_once(trial, job, source, 1, *storage);
  print_info("the test of " + trial.name + " passed");
}

int run(int argc, char** argv) {
  keep_freed_memory();
  line_buffer_output();
  const auto arguments = parse(argc, argv, 1);
  if (!arguments || arguments->words.size() != 1) {
    std::fprintf(stderr, "%s\nusage: %s CONFIG [--trial NAME] [--batches N] [--checkpoints DIR]\n",
                 arguments ? "give one configuration file" : arguments.error().message().c_str(), argv[0]);
    return 2;
  }
  return guarded([&] {
    const auto trial = find_trial(arguments->trial);
    if (!trial) return failed(trial.error());
    const auto job = read_job(arguments->words[0], arguments->run.batches == 0);
    if (!job) return failed(job.error());
    run_locally(*trial, *job, Source(), arguments->run);
    return 0;
  });
}

int run_local_directory(int argc, char** argv) {
  line_buffer_output();
  const auto arguments = parse(argc, argv, 2);
  if (!arguments || arguments->words.size() != 2) {
    std::fprintf(
        stderr, "%s\nusage: det-trial local CONFIG DIRECTORY [--test] [--batches N] [--checkpoints DIR]\n",
        arguments ? "give a configuration file and a directory" : arguments.error().message().c_str());
    return 2;
  }
  return guarded([&] {
    const auto job = read_job(arguments->words[0], arguments->run.batches == 0);
    if (!job) return failed(job.error());
    const auto directory = fs::absolute(arguments->words[1]);
    const auto entrypoint = parse_entrypoint(job->config.entrypoint);
    if (!entrypoint) return failed(entrypoint.error());
    const BuildOptions options{.directory = directory,
                               .file = entrypoint->file,
                               .cache = cache_directory(),
                               .sdk = own_sdk(),
                               .variable = [](const char* name) { return std::getenv(name); },
                               .log = print_info,
                               .compiler_says = print_plain};
    const auto built = build_model(options);
    if (!built) return failed(built.error());
    if (const auto* failure = std::get_if<BuildFailure>(&*built)) {
      print_error(failure->message);
      return 1;
    }
    fs::current_path(directory);
    if (const auto loaded = load_library(std::get<fs::path>(*built)); !loaded) return failed(loaded.error());
    const auto trial = find_trial(entrypoint->name);
    if (!trial) return failed(trial.error());
    run_locally(*trial, *job, Source(directory), arguments->run);
    return 0;
  });
}

}  // namespace det::pytorch
