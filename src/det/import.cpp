// `det import-determined`: the database of an original cluster into ours.

#include "det/store/import/import.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "det/det/commands.h"
#include "det/det/database.h"
#include "det/det/paths.h"
#include "det/store/store.h"

namespace det::commands {
namespace {

/// One line that is written again and again on a terminal; elsewhere a line for each tenth.
class ProgressLine {
 public:
  void show(std::string_view what, std::int64_t done, std::int64_t all) {
    const auto percent = all > 0 ? done * 100 / all : 0;
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%.*s: %lld of %lld (%lld%%)", static_cast<int>(what.size()), what.data(),
                   static_cast<long long>(done), static_cast<long long>(all),
                   static_cast<long long>(percent));
      return;
    }
    if (what == what_ && percent / 10 == tenth_) return;
    what_ = what;
    tenth_ = percent / 10;
    std::fprintf(stderr, "%s: %lld of %lld\n", what_.c_str(), static_cast<long long>(done),
                 static_cast<long long>(all));
  }
  void end() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string what_;
  std::int64_t tenth_ = -1;
};

}  // namespace

int import_determined(std::vector<std::string> arguments) {
  CLI::App app(
      "Import the database of an original Determined 0.38 cluster. Users, workspaces, experiments, metrics, "
      "checkpoints, logs and models keep their ids; checkpoint files stay where they are. The source is only "
      "read. The command can be repeated, and takes what is new then. No master may run on the target.",
      "det import-determined");
  store::ImportOptions options;
  options.into = default_directory();
  bool json = false, quiet = false;
  app.add_option(
         "source", options.from,
         "Database of the original's master: postgres://USER@HOST:PORT/NAME; its password is taken from "
         "PGPASSWORD or ~/.pgpass")
      ->type_name("URL")
      ->required();
  app.add_option(
         "--into", options.into,
         "Where to: the directory of a master, or postgres://USER@HOST:PORT/NAME; new, or imported from the "
         "same cluster before")
      ->capture_default_str();
  app.add_flag("--json", json, "Print the report as JSON");
  app.add_flag("-q,--quiet", quiet, "Show no progress");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (store::is_postgres_url(options.into)) options.into = with_password(options.into);
  ProgressLine line;
  if (!quiet)
    options.progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
      line.show(what, done, all);
    };
  options.on_stall = [](const std::string& why) { std::fprintf(stderr, "%s\n", why.c_str()); };
  const auto report = store::import_determined(options);
  if (!quiet) line.end();
  if (!report) {
    std::fprintf(stderr, "Failed to import: %s\n", report.error().message().c_str());
    return 1;
  }
  const auto text = json ? det::json::pretty(det::json::to_json(*report)) + "\n" : store::to_text(*report);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace det::commands
