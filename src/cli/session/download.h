#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "det/cli/output/table.h"
#include "det/cli/session/session.h"

namespace det::cli {

/// How to rank checkpoints.
struct CheckpointOrder {
  std::string metric;                     ///< Empty: the searcher's.
  std::optional<bool> smaller_is_better;  ///< Absent: as the experiment's configuration says.
};

/// The `count` best of these checkpoints, best first; deleted ones and those
/// without the metric are left out.
json::array best_checkpoints(const json::array& checkpoints, std::size_t count, const CheckpointOrder& order);

/// Who reads the files of a checkpoint.
enum class DownloadMode {
  Auto,    ///< this machine where it sees the storage, else the master
  Direct,  ///< this machine; an error where it does not see the storage
  Master,  ///< the master, always
};

/// Brings the files of a checkpoint (as the API describes it) into `directory`,
/// which appears complete or not at all. A directory that holds a
/// checkpoint already is left as it is. Adds metadata.json where there is none.
Result<void> download_checkpoint(Session& session, const json::value& checkpoint,
                                 const std::filesystem::path& directory,
                                 DownloadMode mode = DownloadMode::Auto);

/// Experiment, trial, batches, time, UUID, metrics and metadata, one row each.
Table checkpoint_table(const json::array& checkpoints);

}  // namespace det::cli
