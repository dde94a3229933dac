// `det backup`: a running master's state, so that another master can go on from it.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "det/det/commands.h"
#include "det/det/database.h"
#include "det/det/paths.h"
#include "det/store/move.h"
#include "det/store/sqlite/backup.h"

namespace det::commands {
namespace {

namespace fs = std::filesystem;

int backup_failed(const Error& error) {
  std::fprintf(stderr, "Failed to back up: %s\n", error.message().c_str());
  return 1;
}

/// Files that are deleted during the copy are left out. The database was copied before, so they are files
/// that it no longer needs.
struct Copied {
  std::uintmax_t files = 0, bytes = 0, gone = 0;
};

Result<Copied> copy_files(const fs::path& from, const fs::path& to) {
  Copied copied;
  std::error_code code;
  for (fs::recursive_directory_iterator at(from, code), end; at != end; at.increment(code)) {
    const auto target = to / fs::relative(at->path(), from, code);
    if (at->is_directory(code)) {
      fs::create_directories(target, code);
    } else if (at->is_regular_file(code)) {
      fs::create_directories(target.parent_path(), code);
      code.clear();
      fs::copy_file(at->path(), target, code);
      if (code == std::errc::no_such_file_or_directory) {
        ++copied.gone;
        code.clear();
        continue;
      }
      if (code)
        return fail(ErrorCode::Unavailable, "cannot copy '{}': {}", at->path().string(), code.message());
      ++copied.files;
      copied.bytes += fs::file_size(target, code);
    }
    code.clear();
  }
  return copied;
}

Result<void> copy_database(const std::string& database, const fs::path& directory, const fs::path& file) {
  if (database.empty()) return store::back_up_sqlite(directory / "determined.db", file);
  if (auto named = check_database(database); !named) return named;
  return store::back_up_postgres(with_password(database), file).map([](const auto&) {});
}

}  // namespace

int backup(std::vector<std::string> arguments) {
  CLI::App app("Back up the state of a master into a new directory. The master may run meanwhile.",
               "det backup");
  auto directory = default_directory();
  fs::path target;
  std::string database;
  bool without_checkpoints = false;
  app.add_option("target", target, "Directory to create for the backup")->type_name("TARGET")->required();
  app.add_option("--dir", directory, "Directory of the master")->capture_default_str();
  app.add_option(
      "--db", database,
      "PostgreSQL database of the master, as postgres://USER@HOST:PORT/NAME (default: SQLite in DIR); "
      "the backup is SQLite");
  app.add_flag("--no-checkpoints", without_checkpoints,
               "Back up only the database, without checkpoint files");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (fs::exists(target))
    return backup_failed(
        Error(ErrorCode::AlreadyExists,
              fmt::format("'{}' already exists; name a directory that does not exist yet", target.string())));
  std::error_code code;
  fs::create_directories(target, code);
  if (code)
    return backup_failed(Error(ErrorCode::Unavailable,
                               fmt::format("cannot create '{}': {}", target.string(), code.message())));
  fs::permissions(target, fs::perms::owner_all, code);
  const auto copied = copy_database(database, directory, target / "determined.db");
  if (!copied) {
    fs::remove(target, code);
    return backup_failed(copied.error());
  }
  for (const char* key : {"agent.token", "webhook.key"})
    fs::copy_file(directory / key, target / key, code);  // with their rights; where they are
  std::printf("Copied the database, %.1f MB.\n",
              static_cast<double>(fs::file_size(target / "determined.db", code)) / 1e6);
  if (!without_checkpoints) {
    const auto files = copy_files(directory / "checkpoints", target / "checkpoints");
    if (!files) return backup_failed(files.error());
    std::printf("Copied %ju checkpoint files, %.1f MB%s.\n", files->files,
                static_cast<double>(files->bytes) / 1e6,
                files->gone > 0 ? ", without those deleted meanwhile" : "");
  }
  if (database.empty())
    std::printf("To restore the backup, copy it to %s and start the master there.\n", directory.c_str());
  else
    std::printf(
        "To restore the backup, run 'det migrate --from sqlite:%s --to postgres://…' with an empty database, "
        "and copy the other files to %s.\n",
        target.c_str(), directory.c_str());
  return 0;
}

}  // namespace det::commands
