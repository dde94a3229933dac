#pragma once

#include <cstdint>

#include "det/store/store.h"

namespace det::master {

/// Which lines of a log the next read asks the store for, and when there is nothing more to send. Decides
/// only; the caller reads, drops what a pattern leaves out, and sends.
class LogPages {
 public:
  static constexpr std::int64_t kLinesPerRead = 2'000;

  /// `limit`: lines to send, 0: all; `searched`: a pattern leaves lines out, and all are read for it.
  LogPages(store::LogQuery query, std::int64_t limit, bool searched);

  /// The next read.
  const store::LogQuery& query() const { return query_; }
  /// How many lines may still be sent.
  std::int64_t left() const { return left_; }
  /// The read found `seen` lines, up to the one with the id `last`, of which so many were sent.
  void took(std::int64_t seen, std::int64_t last, std::int64_t sent);
  /// Whether the reader has all that it asked for, whatever is written later.
  bool complete() const { return left_ <= 0 || (query_.descending && !more_); }
  /// Whether the store may have more lines already.
  bool more() const { return more_; }

 private:
  void set_limit();

  store::LogQuery query_;
  std::int64_t limit_, left_;
  bool searched_;
  bool more_ = true;
};

}  // namespace det::master
