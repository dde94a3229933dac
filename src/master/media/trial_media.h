#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/id.h"
#include "det/checkpoint/event_files.h"
#include "det/media/media_index.h"

namespace det::master {

/// The media in the event files of one trial. Threads: safe; one call at a time is served.
class TrialMedia {
 public:
  explicit TrialMedia(std::unique_ptr<checkpoint::EventFiles> files) : files_(std::move(files)) {}

  struct Tag {
    media::Kind kind{};
    std::string name;
    std::vector<std::int64_t> steps;
  };
  /// The tags by kind and name, with the steps that `values` has. Reads what was written since the last call.
  Result<std::vector<Tag>> tags();

  struct Value {
    std::int64_t step = 0;
    double wall_time = 0;  ///< seconds since 1970
    media::Content content;
  };
  /// At most `limit` values up to `step`, evenly spaced, the last of them at `step` or the nearest before it;
  /// where all are later, the first. No such tag: NotFound. Requires: limit > 0.
  Result<std::vector<Value>> values(media::Kind kind, const std::string& tag, std::int64_t step,
                                    std::size_t limit);

 private:
  struct File {
    std::size_t number = 0;
    std::uint64_t done = 0;  ///< bytes that are indexed
    bool damaged = false;
  };
  Result<void> refresh();
  void read_on(const std::filesystem::path& path, File& file);
  Result<Value> read(media::Kind kind, const media::Entry& entry) const;

  std::mutex mutex_;
  std::unique_ptr<checkpoint::EventFiles> files_;
  std::map<std::filesystem::path, File> known_;
  std::vector<std::filesystem::path> paths_;  ///< by number
  media::Index index_;
};

/// The media of the trials that were asked for last. Threads: safe.
class MediaShelf {
 public:
  using Open = std::function<Result<std::unique_ptr<checkpoint::EventFiles>>()>;

  /// Opens them where they are not on the shelf.
  Result<std::shared_ptr<TrialMedia>> of(TrialId id, const Open& open);

 private:
  static constexpr std::size_t kTrialsMax = 32;
  std::mutex mutex_;
  std::list<std::pair<TrialId, std::shared_ptr<TrialMedia>>> recent_;  ///< the newest first
};

}  // namespace det::master
