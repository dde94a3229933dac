#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "det/base/text.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"
#include "det/cli/session/download.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

struct DownloadOptions {
  std::int64_t id = 0;
  std::string directory = "checkpoints";
  std::size_t top = 1;
  CheckpointOrder order;
  bool quiet = false;
};

Result<int> download(Session& session, const DownloadOptions& options) {
  DET_TRY(const auto all, session.pages(experiment_path(options.id) + "/checkpoints",
                                        {{"states", "STATE_COMPLETED"}}, "checkpoints", 1000));
  const auto best = best_checkpoints(all, options.top, options.order);
  if (best.empty())
    return not_found(
        "experiment {} has no checkpoint with a value of {}; 'det experiment list-checkpoints' shows what it "
        "has",
        options.id, options.order.metric.empty() ? "its searcher's metric" : options.order.metric);
  for (const auto& checkpoint : best) {
    const auto directory = fs::path(options.directory) / text_at(checkpoint, "uuid");
    if (auto done = download_checkpoint(session, checkpoint, directory); !done)
      return tl::unexpected(done.error());
    if (options.quiet)
      session.console().write_line(directory.string());
    else
      session.console().line("Local checkpoint path:\n{}\n", fs::absolute(directory).string());
  }
  if (!options.quiet) session.console().write(checkpoint_table(best).text());
  return 0;
}

Result<int> download_model_definition(Session& session, std::int64_t id,
                                      const std::string& output_directory) {
  DET_TRY(const auto answer, session.get(experiment_path(id) + "/model_def"));
  DET_TRY(const auto archive, base64_decode(text_at(answer, "b64Tgz")));
  const auto path = fs::path(output_directory) / fmt::format("experiment_{}_model_def.tgz", id);
  std::error_code failure;
  fs::create_directories(output_directory, failure);
  std::ofstream file(path, std::ios::binary);
  file << archive;
  file.close();
  if (!file) return fail(ErrorCode::Unavailable, "cannot write {}", path.string());
  session.console().write_line(path.string());
  return 0;
}

}  // namespace

Action define_download(CLI::App& app) {
  const auto options = std::make_shared<DownloadOptions>();
  app.add_option("experiment_id", options->id, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  app.add_option("-o,--output-dir", options->directory,
                 "Directory for the checkpoints, one subdirectory each (default: checkpoints)")
      ->type_name("DIR");
  app.add_option("--top-n", options->top, "Number of best checkpoints (default: 1)")
      ->type_name("N")
      ->check(at_least(1));
  auto* sort = app.add_option("--sort-by", options->order.metric,
                              "Validation metric to sort by (default: the searcher's metric)")
                   ->type_name("METRIC");
  app.add_option("--smaller-is-better", options->order.smaller_is_better,
                 "Direction of the --sort-by metric: true or false")
      ->type_name("BOOL")
      ->needs(sort);
  app.add_flag("-q,--quiet", options->quiet, "Print only the paths");
  return [options](Session& session) { return download(session, *options); };
}

Action define_download_model_def(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  const auto directory = std::make_shared<std::string>(".");
  app.add_option("experiment_id", *id, "ID of the experiment")->type_name("EXPERIMENT_ID")->required();
  app.add_option("-o,--output-dir", *directory, "Directory for the archive (default: .)")->type_name("DIR");
  return [id, directory](Session& session) { return download_model_definition(session, *id, *directory); };
}

}  // namespace det::cli
