#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/agent/shim/spool.h"
#include "det/api/agent.h"
#include "det/base/error.h"

namespace det::agent {

/// How much one batch may hold. The JSON of a batch stays well below a master's limit of 1 MiB.
struct BatchLimits {
  std::size_t entries_max = api::kLogBatchEntriesMax;
  std::size_t bytes_max = 512 * 1024;    ///< As JSON, roughly.
  std::int64_t partial_after = kSecond;  ///< A line without its end is sent in part after this time.
};

/// Where one stream of one rank stands: what lies before it is in batches.
struct StreamState {
  std::int64_t segment = 0;
  std::int64_t offset = 0;    ///< Of a frame in the segment.
  std::int64_t skip = 0;      ///< Bytes of that frame that are done.
  std::int64_t sequence = 0;  ///< Of the next entry.
  bool line_open = false;     ///< The entry before was partial.
  bool broken = false;        ///< The spool is damaged; nothing more is read.
};
BOOST_DESCRIBE_STRUCT(StreamState, (), (segment, offset, skip, sequence, line_open, broken))

/// Cuts one stream into log entries.
///
/// A line ends with "\n" or "\r\n". A lone "\r" is part of its line: a progress
/// bar is one line, sent in parts as it grows, and a viewer shows what follows
/// the last one. Lines above 64 KiB come in pieces, cut between characters.
class StreamTail {
 public:
  StreamTail(std::filesystem::path directory, int rank, std::string stdtype, const StreamState& state);

  /// Appends what is there by now, within the limits. With `ended` the spool
  /// is complete, and its last line goes out even without an end.
  void take(std::vector<api::LogEntry>& entries, std::size_t& bytes, const BatchLimits& limits, bool ended,
            Time now);
  /// All that the spool has is in entries. Meaningful after `take` with `ended`.
  bool exhausted() const { return exhausted_; }
  StreamState state() const;
  /// Deletes the segments that `state()` no longer needs.
  void release();

 private:
  struct Mark {
    std::size_t at;  ///< Where in `buffer_` the frame begins.
    SpoolPosition position;
    Time time;
  };
  bool fill();
  void leave_behind(std::size_t bytes);
  void end_line(std::vector<api::LogEntry>& entries, std::size_t& bytes, std::size_t length, bool returned);
  void emit(std::vector<api::LogEntry>& entries, std::size_t& bytes, std::size_t length, std::size_t skipped,
            bool partial);

  int rank_;
  std::string stdtype_;
  SpoolReader reader_;
  StreamState start_;
  std::string buffer_;
  std::size_t begin_ = 0;    ///< What lies before it in `buffer_` is done.
  std::size_t scanned_ = 0;  ///< Up to here there is no newline.
  std::deque<Mark> marks_;
  bool exhausted_ = false;
  std::string damage_;
};

/// Makes the log batches of one allocation's ranks on this machine so that
/// nothing is lost or doubled, whoever is killed when.
///
/// A batch is written down, with where the streams stand after it, before it
/// is sent. Whoever continues from the file sends the same batch again, byte
/// for byte, and the master drops by sequence what it has. Blocking; one
/// thread at a time.
class LogShipper {
 public:
  LogShipper(std::filesystem::path allocation_directory, std::string allocation_id, std::vector<int> ranks,
             BatchLimits limits = {});

  /// Reads `logs.json`, if there is one.
  Result<void> open();
  /// The batch to send now; nothing if there is no output for one. `ended`: the
  /// ranks whose shims have finished.
  Result<std::optional<api::LogBatch>> next(const std::set<int>& ended, Time now);
  /// The master has the last batch.
  void delivered() { batch_.reset(); }
  /// All ranks ended and all that they said is delivered.
  bool finished(const std::set<int>& ended) const;

 private:
  std::filesystem::path directory_;
  std::string allocation_id_;
  std::vector<int> ranks_;
  BatchLimits limits_;
  std::map<std::string, StreamTail> tails_;  ///< By "<rank>/<stdtype>".
  std::optional<api::LogBatch> batch_;
  std::size_t turn_ = 0;
};

}  // namespace det::agent
