#include "det/checkpoint/event_files.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/guarded.h"
#include "det/checkpoint/scratch.h"
#include "det/checkpoint/tensorboard_files.h"

namespace det::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr auto kCopyAgain = std::chrono::seconds(5);

/// As TensorBoard finds them.
bool is_event_file(const std::string& name) {
  return name.find("tfevents") != std::string::npos;
}

class InDirectory : public EventFiles {
 public:
  explicit InDirectory(fs::path directory) : directory_(std::move(directory)) {}

  Result<std::vector<fs::path>> current() override {
    std::vector<fs::path> files;
    std::error_code failed;
    fs::recursive_directory_iterator entry(directory_, failed);
    for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
      std::error_code gone;
      if (fs::is_regular_file(entry->symlink_status(gone)) &&
          is_event_file(entry->path().filename().string()))
        files.push_back(entry->path());
    }
    if (failed && failed != std::errc::no_such_file_or_directory)
      return fail(ErrorCode::Unavailable, "cannot list the TensorBoard files in {}: {}", directory_.string(),
                  failed.message());
    std::sort(files.begin(), files.end());
    return files;
  }

 private:
  fs::path directory_;
};

class InBucket : public EventFiles {
 public:
  InBucket(std::unique_ptr<ObjectStore> objects, std::string prefix)
      : objects_(std::move(objects)), prefix_(std::move(prefix)) {}

  Result<std::vector<fs::path>> current() override {
    return guarded("", [this] {
      if (std::chrono::steady_clock::now() >= due_) refresh();
      std::vector<fs::path> files;
      for (const auto& [key, copy] : copies_) files.push_back(copy.path);
      return files;
    });
  }

 private:
  struct Copy {
    fs::path path;
    std::int64_t bytes = 0;
  };

  void refresh() {
    std::int64_t all = 0;
    std::set<std::string> found;
    for (const auto& object : objects_->list(prefix_)) {
      all += object.bytes;
      if (!is_event_file(object.key) || all > kCopiesMax) continue;
      found.insert(object.key);
      auto& copy = copies_[object.key];
      if (copy.path.empty()) copy.path = scratch_.path() / std::to_string(++copied_);
      if (copy.bytes == object.bytes) continue;
      objects_->fetch(object.key, copy.path);
      copy.bytes = object.bytes;
    }
    std::erase_if(copies_, [&](const auto& one) {
      if (found.contains(one.first)) return false;
      std::error_code ignored;
      fs::remove(one.second.path, ignored);
      return true;
    });
    due_ = std::chrono::steady_clock::now() + kCopyAgain;
  }

  std::unique_ptr<ObjectStore> objects_;
  std::string prefix_;
  Scratch scratch_{"det-event-files"};
  std::map<std::string, Copy> copies_;
  std::int64_t copied_ = 0;  ///< names the next copy
  std::chrono::steady_clock::time_point due_{};
};

}  // namespace

Result<std::unique_ptr<EventFiles>> open_event_files(const config::CheckpointStorage& storage,
                                                     const std::string& cluster_id, std::int64_t experiment,
                                                     std::int64_t trial) {
  if (storage.type == "s3" || storage.type == "gcs") {
    DET_TRY(auto objects, open_object_store(storage.fields));
    auto prefix = fmt::format("{}trial/{}/", tensorboard_prefix(storage, cluster_id, experiment), trial);
    return std::make_unique<InBucket>(std::move(objects), std::move(prefix));
  }
  DET_TRY(const auto directory, tensorboard_directory(storage, cluster_id, experiment));
  return std::make_unique<InDirectory>(directory / "trial" / std::to_string(trial));
}

}  // namespace det::checkpoint
