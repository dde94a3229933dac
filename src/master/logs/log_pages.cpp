#include "det/master/logs/log_pages.h"

#include <algorithm>
#include <limits>

namespace det::master {

LogPages::LogPages(store::LogQuery query, std::int64_t limit, bool searched)
    : query_(std::move(query)),
      limit_(limit),
      left_(limit > 0 ? limit : std::numeric_limits<std::int64_t>::max()),
      searched_(searched) {
  set_limit();
}

void LogPages::set_limit() {
  // What a pattern leaves out is read all the same, so a read then ends at no other limit than its own.
  if (searched_)
    query_.limit = kLinesPerRead;
  else
    query_.limit = query_.descending ? limit_ : std::min(left_, kLinesPerRead);
}

void LogPages::took(std::int64_t seen, std::int64_t last, std::int64_t sent) {
  left_ -= sent;
  more_ = seen == kLinesPerRead && (!query_.descending || searched_);
  if (seen > 0 && query_.descending) query_.before_id = last;
  if (seen > 0 && !query_.descending) query_.after_id = std::max(query_.after_id, last);
  set_limit();
}

}  // namespace det::master
