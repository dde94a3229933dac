#include "det/cli/session/download.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "det/cli/context/archive.h"
#include "det/cli/output/format.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

// Where this machine would see the files, if at all.
fs::path shared_directory(const json::value& checkpoint) {
  const auto& storage = at(checkpoint, "training.experimentConfig.checkpoint_storage");
  const auto type = text_at(storage, "type");
  const auto uuid = text_at(checkpoint, "uuid");
  if (type == "directory") return fs::path(text_at(storage, "container_path")) / uuid;
  if (type != "shared_fs") return {};
  // `operator/` keeps an absolute storage_path as it is.
  return fs::path(text_at(storage, "host_path")) / text_at(storage, "storage_path") / uuid;
}

Result<void> write_metadata(const json::value& checkpoint, const fs::path& path) {
  const auto& metadata = at(checkpoint, "metadata");
  json::object document;
  document["determined_version"] = at(metadata, "determined_version");
  document["framework"] = at(metadata, "framework");
  document["format"] = at(metadata, "format");
  document["experiment_id"] = at(checkpoint, "training.experimentId");
  document["trial_id"] = at(checkpoint, "training.trialId");
  document["hparams"] = at(checkpoint, "training.hparams");
  document["experiment_config"] = at(checkpoint, "training.experimentConfig");
  document["metadata"] = metadata;
  std::ofstream file(path);
  file << json::pretty(document, 2) << '\n';
  file.close();
  if (!file) return fail(ErrorCode::Unavailable, "cannot write {}", path.string());
  return {};
}

Result<void> fetch_from_master(Session& session, const std::string& uuid, const fs::path& draft) {
  const fs::path archive = draft.string() + ".tar.gz";
  std::ofstream file(archive, std::ios::binary);
  http::Call call;
  call.path = "/checkpoints/" + url_encode(uuid);
  call.headers.add("Accept", "application/gzip");
  call.on_data = [&](std::string_view data) {
    file << data;
    return file.good();
  };
  const auto reply = session.exchange(std::move(call));
  file.close();
  Result<void> result;
  if (!reply)
    result = tl::unexpected(reply.error());
  else if (!reply->ok())
    result = tl::unexpected(http::error_of(reply->status, reply->body));
  else if (!file)
    result = fail(ErrorCode::Unavailable, "cannot write {}", archive.string());
  else
    result = unpack(archive, draft);
  std::error_code ignored;
  fs::remove(archive, ignored);
  return result;
}

Result<void> fill(Session& session, const json::value& checkpoint, const fs::path& draft, DownloadMode mode) {
  std::error_code failure;
  fs::create_directories(draft, failure);
  if (failure) return fail(ErrorCode::Unavailable, "cannot create {}: {}", draft.string(), failure.message());
  const auto shared = shared_directory(checkpoint);
  const bool seen = !shared.empty() && fs::is_directory(shared, failure);
  if (mode == DownloadMode::Direct && !seen)
    return failed_precondition("cannot read checkpoint {} from this machine: {}; use --mode master",
                               text_at(checkpoint, "uuid"),
                               shared.empty() ? "its storage is not a directory"
                                              : fmt::format("{} does not exist", shared.string()));
  if (mode != DownloadMode::Master && seen) {
    fs::copy(shared, draft, fs::copy_options::recursive, failure);
    if (failure)
      return fail(ErrorCode::Unavailable, "cannot copy {} to {}: {}", shared.string(), draft.string(),
                  failure.message());
  } else if (auto fetched = fetch_from_master(session, text_at(checkpoint, "uuid"), draft); !fetched) {
    return fetched;
  }
  if (fs::exists(draft / "metadata.json", failure)) return {};
  return write_metadata(checkpoint, draft / "metadata.json");
}

}  // namespace

json::array best_checkpoints(const json::array& checkpoints, std::size_t count,
                             const CheckpointOrder& order) {
  std::vector<std::pair<double, const json::value*>> ranked;
  for (const auto& checkpoint : checkpoints) {
    if (text_at(checkpoint, "state") == "STATE_DELETED") continue;
    const json::value* metric = &at(checkpoint, "training.searcherMetric");
    if (!order.metric.empty()) {
      const auto& averages = at(checkpoint, "training.validationMetrics.avgMetrics");
      metric = averages.is_object() ? averages.get_object().if_contains(order.metric) : nullptr;
    }
    const auto number = metric == nullptr ? std::nullopt : json::to_double(*metric);
    if (!number || std::isnan(*number)) continue;
    const auto& smaller = at(checkpoint, "training.experimentConfig.searcher.smaller_is_better");
    const bool ascending = order.smaller_is_better.value_or(!smaller.is_bool() || smaller.get_bool());
    ranked.emplace_back(ascending ? *number : -*number, &checkpoint);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  json::array best;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) best.push_back(*ranked[i].second);
  return best;
}

Result<void> download_checkpoint(Session& session, const json::value& checkpoint, const fs::path& directory,
                                 DownloadMode mode) {
  std::error_code failure;
  if (fs::exists(directory / "metadata.json", failure) || fs::exists(directory / "MLmodel", failure))
    return {};
  const auto state = cell_text(state_cell(at(checkpoint, "state")));
  if (state == "DELETED" || state == "ACTIVE" || state == "ERROR")
    return failed_precondition("checkpoint {} is {}; only a COMPLETED checkpoint can be downloaded",
                               text_at(checkpoint, "uuid"), state);
  if (fs::exists(directory, failure) && !fs::is_empty(directory, failure))
    return failed_precondition(
        "the directory {} is not empty and does not hold a checkpoint; choose another one with --output-dir",
        directory.string());
  const fs::path draft = fmt::format("{}.part-{}", directory.string(), ::getpid());
  auto filled = fill(session, checkpoint, draft, mode);
  if (filled) {
    fs::remove(directory, failure);  // empty, if there
    fs::rename(draft, directory, failure);
    if (failure)
      filled = fail(ErrorCode::Unavailable, "cannot create {}: {}", directory.string(), failure.message());
  }
  if (!filled) fs::remove_all(draft, failure);
  return filled;
}

Table checkpoint_table(const json::array& checkpoints) {
  Table table({"Experiment ID", "Trial ID", "# of Batches", "Report Time", "Checkpoint UUID",
               "Validation Metrics", "Metadata"});
  const auto lines = [](const json::value& v) {
    return v.is_null() ? json::value(nullptr) : json::value(json::pretty(v, 4));
  };
  for (const auto& checkpoint : checkpoints) {
    const auto& steps = at(checkpoint, "metadata.steps_completed");
    table.add({at(checkpoint, "training.experimentId"), at(checkpoint, "training.trialId"), steps,
               time_cell(at(checkpoint, "reportTime")), at(checkpoint, "uuid"),
               lines(at(checkpoint, "training.validationMetrics.avgMetrics")),
               lines(at(checkpoint, "metadata"))});
  }
  return table;
}

}  // namespace det::cli
