#include "det/agent/logs.h"

#include <algorithm>

#include "det/agent/files.h"
#include "det/base/json.h"
#include "det/base/text.h"

namespace det::agent {

namespace {

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kCompactBytes = 1 << 20;
constexpr std::size_t kEntryOverhead = 160;

/// What `logs.json` holds.
struct ShipperState {
  std::map<std::string, StreamState> streams;  ///< After `batch`.
  std::optional<api::LogBatch> batch;          ///< Perhaps with the master, perhaps not.
};
BOOST_DESCRIBE_STRUCT(ShipperState, (), (streams, batch))

/// The JSON of `text` has at most so many bytes.
std::size_t json_bytes(std::string_view text) {
  std::size_t bytes = 0;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    bytes += u < 0x20 || u == 0x7f ? 6 : u == '"' || u == '\\' ? 2 : 1;
  }
  return bytes;
}

/// The longest part of `text[0, end)` that does not end inside of a UTF-8 character.
std::size_t whole_characters(std::string_view text, std::size_t end) {
  for (std::size_t back = 1; back <= 3 && back <= end; ++back) {
    const auto u = static_cast<unsigned char>(text[end - back]);
    if ((u & 0xC0) == 0x80) continue;
    const std::size_t length = u >= 0xF0 ? 4 : u >= 0xE0 ? 3 : u >= 0xC0 ? 2 : 1;
    return length > back ? end - back : end;
  }
  return end;
}

}  // namespace

StreamTail::StreamTail(std::filesystem::path directory, int rank, std::string stdtype,
                       const StreamState& state)
    : rank_(rank),
      stdtype_(stdtype),
      reader_(std::move(directory), stdtype, {state.segment, state.offset}),
      start_(state) {}

bool StreamTail::fill() {
  if (start_.broken) return false;
  const auto before = reader_.position();
  auto frames = reader_.read(kReadBytes);
  if (!frames) {
    start_.broken = true;
    damage_ = fmt::format("[determined] lost output: {}", frames.error().message());
    return false;
  }
  auto position = before;
  for (const auto& frame : *frames) {
    // A reader that went on to the next segment says so only by where the frame ends.
    if (frame.next.segment != position.segment) position = {frame.next.segment, 0};
    marks_.push_back({buffer_.size(), position, frame.time});
    buffer_ += frame.bytes;
    position = frame.next;
  }
  if (start_.skip > 0 && !frames->empty()) {
    begin_ = scanned_ = std::min(static_cast<std::size_t>(start_.skip), buffer_.size());
    start_.skip = 0;
  }
  return !frames->empty();
}

void StreamTail::emit(std::vector<api::LogEntry>& entries, std::size_t& bytes, std::size_t length,
                      std::size_t skipped, bool partial) {
  while (marks_.size() > 1 && marks_[1].at <= begin_) marks_.pop_front();
  auto& entry = entries.emplace_back();
  entry.rank = rank_;
  entry.stdtype = stdtype_;
  entry.sequence = start_.sequence++;
  entry.timestamp = marks_.empty() ? Time{} : marks_.front().time;
  entry.partial = partial;
  const auto text = std::string_view(buffer_).substr(begin_, length);
  if (is_utf8(text)) {
    entry.log = text;
    bytes += kEntryOverhead + json_bytes(text);
  } else {
    entry.log = base64_encode(text);
    entry.encoding = "base64";
    bytes += kEntryOverhead + entry.log.size();
  }
  start_.line_open = partial;
  leave_behind(length + skipped);
}

void StreamTail::leave_behind(std::size_t bytes) {
  begin_ += bytes;
  scanned_ = std::max(scanned_, begin_);
  if (begin_ <= kCompactBytes) return;
  while (marks_.size() > 1 && marks_[1].at <= begin_) marks_.pop_front();
  const auto gone = marks_.empty() ? begin_ : std::min(begin_, marks_.front().at);
  buffer_.erase(0, gone);
  begin_ -= gone;
  scanned_ -= gone;
  for (auto& mark : marks_) mark.at -= gone;
}

/// A progress bar writes carriage returns alone: each of its states is a line, and an empty one is none.
void StreamTail::end_line(std::vector<api::LogEntry>& entries, std::size_t& bytes, std::size_t length,
                          bool returned) {
  if (returned && length == 0 && !start_.line_open) return leave_behind(1);
  emit(entries, bytes, length, 1, false);
}

void StreamTail::take(std::vector<api::LogEntry>& entries, std::size_t& bytes, const BatchLimits& limits,
                      bool ended, Time now) {
  while (entries.size() < limits.entries_max && bytes < limits.bytes_max) {
    const auto end = buffer_.find_first_of("\n\r", scanned_);
    const bool returned = end != std::string::npos && buffer_[end] == '\r';
    const bool unsure = returned && end + 1 == buffer_.size();  // whether a newline follows
    if (end != std::string::npos && !unsure && end - begin_ <= api::kLogPieceBytesMax) {
      if (returned && buffer_[end + 1] == '\n')
        emit(entries, bytes, end - begin_, 2, false);
      else
        end_line(entries, bytes, end - begin_, returned);
      continue;
    }
    const auto available = (unsure ? end : buffer_.size()) - begin_;
    if (available > api::kLogPieceBytesMax) {
      emit(entries, bytes, whole_characters(std::string_view(buffer_).substr(begin_), api::kLogPieceBytesMax),
           0, true);
      continue;
    }
    scanned_ = unsure ? end : buffer_.size();
    if (fill()) continue;
    if (!damage_.empty()) {
      if (available > 0) emit(entries, bytes, available, 0, true);
      buffer_ += damage_ + "\n";
      damage_.clear();
      continue;
    }
    if (unsure && (ended || start_.broken)) {
      end_line(entries, bytes, available, true);
      continue;
    }
    if (available > 0 && (ended || start_.broken)) {
      emit(entries, bytes, available, 0, false);
    } else if (available > 0 && !marks_.empty() && now - marks_.back().time >= limits.partial_after) {
      const auto whole = whole_characters(std::string_view(buffer_).substr(begin_), available);
      if (whole > 0) emit(entries, bytes, whole, 0, true);
      return;
    } else if (ended && start_.line_open) {
      emit(entries, bytes, 0, 0, false);
    }
    exhausted_ = ended && begin_ == buffer_.size() && !start_.line_open;
    return;
  }
}

StreamState StreamTail::state() const {
  auto state = start_;
  state.segment = reader_.position().segment;
  state.offset = reader_.position().offset;
  if (begin_ < buffer_.size()) {
    const Mark* in = nullptr;
    for (const auto& mark : marks_)
      if (mark.at <= begin_) in = &mark;
    if (in != nullptr) {
      state.segment = in->position.segment;
      state.offset = in->position.offset;
      state.skip = static_cast<std::int64_t>(begin_ - in->at);
    }
  }
  return state;
}

void StreamTail::release() {
  reader_.release({state().segment, 0});
}

LogShipper::LogShipper(std::filesystem::path allocation_directory, std::string allocation_id,
                       std::vector<int> ranks, BatchLimits limits)
    : directory_(std::move(allocation_directory)),
      allocation_id_(std::move(allocation_id)),
      ranks_(std::move(ranks)),
      limits_(limits) {}

Result<void> LogShipper::open() {
  ShipperState state;
  const auto text = read_small_file(directory_ / "logs.json");
  if (text) {
    DET_TRY(const auto value, json::parse(*text));
    DET_TRY(state, json::from_json<ShipperState>(value));
  } else if (text.error().code() != ErrorCode::NotFound) {
    return tl::unexpected(text.error());
  }
  batch_ = std::move(state.batch);
  for (const int rank : ranks_) {
    for (const char* stdtype : {"stdout", "stderr"}) {
      const auto name = fmt::format("{}/{}", rank, stdtype);
      tails_.try_emplace(name, directory_ / std::to_string(rank), rank, stdtype, state.streams[name]);
    }
  }
  return {};
}

Result<std::optional<api::LogBatch>> LogShipper::next(const std::set<int>& ended, Time now) {
  if (batch_) return batch_;
  api::LogBatch batch;
  batch.allocation_id = allocation_id_;
  std::size_t bytes = 0;
  // A stream that never pauses must not starve the others: each batch begins with another one.
  auto tail = std::next(tails_.begin(),
                        static_cast<std::ptrdiff_t>(turn_++ % std::max<std::size_t>(tails_.size(), 1)));
  for (std::size_t i = 0; i < tails_.size(); ++i) {
    const int rank = std::atoi(tail->first.c_str());
    tail->second.take(batch.entries, bytes, limits_, ended.contains(rank), now);
    if (++tail == tails_.end()) tail = tails_.begin();
  }
  if (batch.entries.empty()) return std::optional<api::LogBatch>();
  ShipperState state;
  for (const auto& [name, each] : tails_) state.streams[name] = each.state();
  state.batch = batch;
  // Not synced: a crash of the machine ends the tasks, too, and their spools are not synced either.
  if (auto error = replace_file(directory_ / "logs.json", json::serialize(json::to_json(state)), false))
    return tl::unexpected(*std::move(error));
  batch_ = std::move(batch);
  for (auto& [name, each] : tails_) each.release();
  return batch_;
}

bool LogShipper::finished(const std::set<int>& ended) const {
  if (batch_) return false;
  for (const auto& [name, tail] : tails_)
    if (!ended.contains(std::atoi(name.c_str())) || !tail.exhausted()) return false;
  return true;
}

}  // namespace det::agent
