// `det backup`: a running master's state, so that another master can go on from it.

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "det/det/commands.h"
#include "det/det/database.h"
#include "det/det/paths.h"
#include "det/store/move.h"
#include "det/store/sqlite/backup.h"

namespace det::commands {
namespace {

namespace fs = std::filesystem;

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

Result<void> copy_keys(const fs::path& from, const fs::path& to) {
  for (const char* key : {"agent.token", "webhook.key"}) {
    std::error_code code;
    fs::copy_file(from / key, to / key, code);  // with its rights
    if (code && code != std::errc::no_such_file_or_directory)
      return fail(ErrorCode::Unavailable, "cannot copy '{}': {}", (from / key).string(), code.message());
  }
  return {};
}

fs::path unfinished_of(const fs::path& target) {
  auto path = target.has_filename() ? target : target.parent_path();  // "copy/"
  path += ".unfinished";
  return path;
}

/// The directory beside `target` that becomes it at the end. Whoever takes it before is told by the marker.
Result<void> make_unfinished(const fs::path& target, const fs::path& unfinished) {
  if (fs::exists(target))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; name a directory that does not exist yet",
                target.string());
  if (fs::exists(unfinished))
    return fail(
        ErrorCode::AlreadyExists,
        "'{}' already exists: a backup that was interrupted, or still runs; remove it, or name another "
        "directory",
        unfinished.string());
  std::error_code code;
  fs::create_directories(unfinished, code);
  if (code)
    return fail(ErrorCode::Unavailable, "cannot create '{}': {}", unfinished.string(), code.message());
  fs::permissions(unfinished, fs::perms::owner_all, code);
  if (std::ofstream(unfinished / store::kUnfinishedBackup) << "This backup is not complete.\n") return {};
  return fail(ErrorCode::Unavailable, "cannot write to '{}'", unfinished.string());
}

/// All files are on the disk before the directory gets its name.
Result<void> finish(const fs::path& unfinished, const fs::path& target) {
  std::error_code code;
  const auto sync = [](const fs::path& directory, int (*how)(int)) {
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = descriptor >= 0 && how(descriptor) == 0;
    if (descriptor >= 0) ::close(descriptor);
    return synced;
  };
  if (!sync(unfinished, ::syncfs))
    return fail(ErrorCode::Unavailable, "cannot sync '{}' to the disk", unfinished.string());
  fs::remove(unfinished / store::kUnfinishedBackup, code);
  if (!code) fs::rename(unfinished, target.has_filename() ? target : target.parent_path(), code);
  if (code)
    return fail(ErrorCode::Unavailable, "cannot rename '{}' to '{}': {}", unfinished.string(),
                target.string(), code.message());
  const auto parent = fs::absolute(unfinished, code).parent_path();
  if (!sync(parent, ::fsync))
    return fail(ErrorCode::Unavailable, "cannot sync '{}' to the disk", parent.string());
  return {};
}

struct Wanted {
  fs::path directory, target;
  std::string database;
  bool checkpoints = true;
};

Result<void> back_up(const Wanted& wanted) {
  const auto unfinished = unfinished_of(wanted.target);
  if (auto made = make_unfinished(wanted.target, unfinished); !made) return made;
  const auto copied = [&]() -> Result<void> {
    const auto file = unfinished / "determined.db";
    if (auto done = copy_database(wanted.database, wanted.directory, file); !done) return done;
    if (auto done = copy_keys(wanted.directory, unfinished); !done) return done;
    std::error_code code;
    std::printf("Copied the database, %.1f MB.\n", static_cast<double>(fs::file_size(file, code)) / 1e6);
    std::fflush(stdout);
    if (wanted.checkpoints) {
      DET_TRY(const auto files, copy_files(wanted.directory / "checkpoints", unfinished / "checkpoints"));
      std::printf("Copied %ju checkpoint files, %.1f MB%s.\n", files.files,
                  static_cast<double>(files.bytes) / 1e6,
                  files.gone > 0 ? ", without those deleted meanwhile" : "");
    }
    return finish(unfinished, wanted.target);
  }();
  std::error_code code;
  if (!copied) fs::remove_all(unfinished, code);
  return copied;
}

}  // namespace

int backup(std::vector<std::string> arguments) {
  CLI::App app("Back up the state of a master into a new directory. The master may run meanwhile.",
               "det backup");
  Wanted wanted{.directory = default_directory(), .target = {}, .database = {}};
  bool without_checkpoints = false;
  app.add_option("target", wanted.target, "Directory to create for the backup")
      ->type_name("TARGET")
      ->required();
  app.add_option("--dir", wanted.directory, "Directory of the master")->capture_default_str();
  app.add_option(
      "--db", wanted.database,
      "PostgreSQL database of the master, as postgres://USER@HOST:PORT/NAME (default: SQLite in DIR); "
      "the backup is SQLite");
  app.add_flag("--no-checkpoints", without_checkpoints,
               "Back up only the database, without checkpoint files");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  wanted.checkpoints = !without_checkpoints;
  if (const auto done = back_up(wanted); !done) {
    std::fprintf(stderr, "Failed to back up: %s\n", done.error().message().c_str());
    return 1;
  }
  if (wanted.database.empty())
    std::printf("To restore the backup, copy it to %s and start the master there.\n",
                wanted.directory.c_str());
  else
    std::printf(
        "To restore the backup, run 'det migrate --from sqlite:%s --to postgres://…' with an empty database, "
        "and copy the other files to %s.\n",
        wanted.target.c_str(), wanted.directory.c_str());
  return 0;
}

}  // namespace det::commands
