#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "det/base/json.h"
#include "det/base/text.h"
#include "det/cli/command.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/download.h"

namespace det::cli {
namespace {

Result<json::value> find_checkpoint(Session& session, const std::string& uuid) {
  DET_TRY(const auto answer, session.get("/api/v1/checkpoints/" + url_encode(uuid)));
  return at(answer, "checkpoint");
}

json::array one(const json::value& v) {
  json::array list;
  list.push_back(v);
  return list;
}

Action define_describe_checkpoint(CLI::App& app) {
  const auto uuid = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("uuid", *uuid, "UUID of the checkpoint")->type_name("UUID")->required();
  add_output_flags(app, *form);
  return [uuid, form](Session& session) -> Result<int> {
    DET_TRY(const auto checkpoint, find_checkpoint(session, *uuid));
    show(session.console(), *form, checkpoint, checkpoint_table(one(checkpoint)));
    return 0;
  };
}

Action define_download_checkpoint(CLI::App& app) {
  struct Options {
    std::string uuid;
    std::string directory;
    std::string mode = "auto";
    bool quiet = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("uuid", options->uuid, "UUID of the checkpoint")->type_name("UUID")->required();
  app.add_option("-o,--output-dir", options->directory,
                 "Directory for the checkpoint (default: checkpoints/<uuid>)")
      ->type_name("DIR");
  app.add_option("--mode", options->mode,
                 "How to read the files: direct (from the storage), master (over the master), or auto")
      ->type_name("MODE")
      ->check(CLI::IsMember({"auto", "direct", "master"}));
  app.add_flag("-q,--quiet", options->quiet, "Print only the path");
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto checkpoint, find_checkpoint(session, options->uuid));
    const auto directory = options->directory.empty()
                               ? std::filesystem::path("checkpoints") / text_at(checkpoint, "uuid")
                               : std::filesystem::path(options->directory);
    const auto mode = options->mode == "master"   ? DownloadMode::Master
                      : options->mode == "direct" ? DownloadMode::Direct
                                                  : DownloadMode::Auto;
    if (auto done = download_checkpoint(session, checkpoint, directory, mode); !done)
      return tl::unexpected(done.error());
    auto& console = session.console();
    if (options->quiet) {
      console.write_line(directory.string());
    } else {
      console.line("Local checkpoint path:\n{}\n", std::filesystem::absolute(directory).string());
      console.write(checkpoint_table(one(checkpoint)).text());
    }
    return 0;
  };
}

/// What a call about these checkpoints, separated by commas, sends.
json::object named(const std::string& uuids) {
  json::array each;
  for (const auto& uuid : split(uuids, ',')) each.push_back(json::value(trim(uuid)));
  json::object body;
  body["checkpointUuids"] = std::move(each);
  return body;
}

Action define_delete_checkpoints(CLI::App& app) {
  struct Options {
    std::string uuids;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("uuids", options->uuids, "UUIDs of the checkpoints, separated by commas")
      ->type_name("UUIDS")
      ->required();
  app.add_flag("-y,--yes", options->yes, "Skip the confirmation prompt");
  return [options](Session& session) -> Result<int> {
    if (!options->yes && !session.console().confirm(
                             "This deletes these checkpoints and their files. Do you wish to proceed?")) {
      session.console().line("Aborting checkpoint deletion.");
      return 0;
    }
    DET_TRY(const auto answer, session.del("/api/v1/checkpoints", named(options->uuids)));
    session.console().line("Deletion of checkpoints {} is in progress", options->uuids);
    if (const auto until = json::text_member(answer.as_object(), "undoUntil"); !until.empty())
      session.console().line("To restore them until {}, run: det checkpoint undelete {}", until,
                             options->uuids);
    return 0;
  };
}

Action define_remove_files(CLI::App& app) {
  struct Options {
    std::string uuids;
    std::vector<std::string> globs;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("uuids", options->uuids, "UUIDs of the checkpoints, separated by commas")
      ->type_name("UUIDS")
      ->required();
  app.add_option("--glob", options->globs, "Files to remove, such as 'optimizer/**'; may be repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->required();
  app.add_flag("-y,--yes", options->yes, "Skip the confirmation prompt");
  return [options](Session& session) -> Result<int> {
    if (!options->yes &&
        !session.console().confirm(fmt::format(
            "This deletes the files that match {} from these checkpoints. Do you wish to proceed?",
            fmt::join(options->globs, ", ")))) {
      session.console().line("Aborting file removal.");
      return 0;
    }
    auto body = named(options->uuids);
    body["checkpointGlobs"] = json::array(options->globs.begin(), options->globs.end());
    DET_TRY(const auto answer, session.post("/api/v1/checkpoints/rm", body));
    session.console().line("Removed the files that match {} from checkpoints {}",
                           fmt::join(options->globs, ", "), options->uuids);
    return 0;
  };
}

Action define_undelete_checkpoints(CLI::App& app) {
  const auto uuids = std::make_shared<std::string>();
  app.add_option("uuids", *uuids, "UUIDs of the checkpoints, separated by commas")
      ->type_name("UUIDS")
      ->required();
  return [uuids](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.post("/api/v1/checkpoints/undelete", named(*uuids)));
    session.console().line("Restored checkpoints {}", *uuids);
    return 0;
  };
}

}  // namespace

Command checkpoint_commands() {
  return {.names = {"checkpoint", "c"},
          .help = "Manage checkpoints",
          .example =
              "det checkpoint list 7 --best 3\ndet checkpoint download 4afa9ec2-5d8e-4e2f-a7a1-2b6c1c3dd1de",
          .children = {{{"list", "ls"},
                        "List the checkpoints of an experiment",
                        "det checkpoint list 7 --best 3",
                        define_list_checkpoints},
                       {{"describe"}, "Describe a checkpoint", "", define_describe_checkpoint},
                       {{"download"},
                        "Download a checkpoint",
                        "det checkpoint download UUID -o /tmp/model",
                        define_download_checkpoint},
                       {{"delete"},
                        "Delete checkpoints",
                        "det checkpoint delete UUID,UUID --yes",
                        define_delete_checkpoints},
                       {{"rm"},
                        "Remove files from checkpoints",
                        "det checkpoint rm UUID --glob 'optimizer/**' --yes",
                        define_remove_files},
                       {{"undelete"},
                        "Restore deleted checkpoints before their files are removed",
                        "det checkpoint undelete UUID,UUID",
                        define_undelete_checkpoints}}};
}

}  // namespace det::cli
