#include "det/master/media/trial_media.h"

#include <algorithm>
#include <fstream>

#include "det/logging/log.h"
#include "det/media/event_records.h"

namespace det::master {

namespace {

/// Reads all of `bytes` at an offset; false where the file ends before.
bool read_at(std::ifstream& in, std::uint64_t offset, std::string& bytes) {
  in.clear();
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return in.good();
}

}  // namespace

Result<std::vector<TrialMedia::Tag>> TrialMedia::tags() {
  const std::lock_guard lock(mutex_);
  if (const auto read = refresh(); !read) return tl::unexpected(read.error());
  std::vector<Tag> tags;
  for (auto& key : index_.keys()) {
    Tag tag{key.first, key.second, {}};
    for (const auto& entry : index_.entries(key)) tag.steps.push_back(entry.step);
    tags.push_back(std::move(tag));
  }
  return tags;
}

Result<std::vector<TrialMedia::Value>> TrialMedia::values(media::Kind kind, const std::string& tag,
                                                          std::int64_t step, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (const auto read = refresh(); !read) return tl::unexpected(read.error());
  const auto& entries = index_.entries({kind, tag});
  if (entries.empty()) return not_found("this trial has nothing of this kind under the tag '{}'", tag);
  const auto* const last = &media::nearest(entries, step);
  std::vector<Value> values;
  for (const auto& entry : media::spaced({entries.data(), last + 1}, limit)) {
    DET_TRY(auto value, read(kind, entry));
    values.push_back(std::move(value));
  }
  return values;
}

Result<void> TrialMedia::refresh() {
  DET_TRY(const auto files, files_->current());
  const auto changed = [&](const auto& known) {
    std::error_code gone;
    const auto size = std::filesystem::file_size(known.first, gone);
    return gone || size < known.second.done;
  };
  if (std::any_of(known_.begin(), known_.end(),
                  changed)) {  // Somebody deleted them, or the trial began anew.
    known_.clear();
    paths_.clear();
    index_ = {};
  }
  for (const auto& path : files) {
    const auto [file, is_new] = known_.try_emplace(path, File{.number = paths_.size()});
    if (is_new) paths_.push_back(path);
    if (!file->second.damaged) read_on(path, file->second);
  }
  return {};
}

void TrialMedia::read_on(const std::filesystem::path& path, File& file) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown || size <= file.done) return;
  std::ifstream in(path, std::ios::binary);
  std::string head(media::kRecordHead, '\0'), event;
  while (file.done + head.size() <= size && read_at(in, file.done, head)) {
    const auto length = media::record_length(head);
    if (!length) {
      file.damaged = true;
      logging::warn("{} is damaged at byte {}; what comes after is not shown", path.string(), file.done);
      return;
    }
    const auto begin = file.done + media::kRecordHead, end = begin + *length + media::kRecordTail;
    if (end > size) return;  // Its writer has not finished.
    event.resize(*length);
    if (!read_at(in, begin, event)) return;
    file.done = end;
    const auto read = media::read_event(event);
    if (!read) continue;  // Not all records of other programs are events.
    for (const auto& found : read->values)
      index_.add(found, {.step = read->step,
                         .wall_time = read->wall_time,
                         .file = file.number,
                         .offset = begin + found.offset,
                         .length = found.length});
  }
}

Result<TrialMedia::Value> TrialMedia::read(media::Kind kind, const media::Entry& entry) const {
  const auto& path = paths_[entry.file];
  std::ifstream in(path, std::ios::binary);
  std::string bytes(entry.length, '\0');
  if (!read_at(in, entry.offset, bytes))
    return fail(ErrorCode::Unavailable, "{} is gone or shorter than it was", path.string());
  DET_TRY(auto content, media::read_value(kind, bytes));
  return Value{entry.step, entry.wall_time, std::move(content)};
}

Result<std::shared_ptr<TrialMedia>> MediaShelf::of(TrialId id, const Open& open) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(recent_.begin(), recent_.end(), [&](const auto& one) { return one.first == id; });
  if (found != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, found);
    return found->second;
  }
  DET_TRY(auto files, open());
  recent_.emplace_front(id, std::make_shared<TrialMedia>(std::move(files)));
  if (recent_.size() > kTrialsMax) recent_.pop_back();
  return recent_.front().second;
}

}  // namespace det::master
