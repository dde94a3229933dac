#include "det/master/logs/log_text.h"

#include <algorithm>
#include <array>

#include "det/base/text.h"

namespace det::master {
namespace {

std::string replace_invalid(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t length = std::min<std::size_t>(4, bytes.size() - i);
    while (length > 1 && !is_utf8(bytes.substr(i, length))) --length;
    if (is_utf8(bytes.substr(i, length))) {
      text += bytes.substr(i, length);
    } else {
      text += "\xef\xbf\xbd";
      length = 1;
    }
    i += length;
  }
  return text;
}

}  // namespace

bool is_log_level(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kLevels = {"TRACE",   "DEBUG", "INFO",
                                                              "WARNING", "ERROR", "CRITICAL"};
  return std::ranges::find(kLevels, word) != kLevels.end();
}

api::LogLine to_api(const experiment::LogRecord& r, std::optional<TrialId> trial) {
  api::LogLine line;
  line.id = r.id;
  line.timestamp = r.timestamp;
  line.level = r.level.empty() ? "LOG_LEVEL_UNSPECIFIED" : "LOG_LEVEL_" + r.level;
  line.trial_id = trial;
  line.task_id = r.task_id;
  line.allocation_id = r.allocation_id;
  line.log = replace_invalid(r.log) + "\n";
  line.source = r.source;
  line.stdtype = r.stdtype;
  line.agent_id = r.agent_id;
  line.container_id = r.container_id;
  line.rank_id = r.rank;
  // A process without a container has the first letters of its task: "12.<uuid>" of a trial, "<uuid>" of
  // others.
  const auto container =
      fmt::format("{:8}", r.container_id.empty() ? r.task_id.substr(r.task_id.find('.') + 1, 8)
                                                 : r.container_id.substr(0, 8));
  const auto rank = r.rank ? fmt::format(" [rank={}]", *r.rank) : "";
  const auto prefix = r.level + ": ";
  const auto level = r.level.empty() || line.log.starts_with(prefix) ? "" : prefix;
  line.message = fmt::format("[{}] {}{} || {}{}", to_rfc3339(r.timestamp), container, rank, level, line.log);
  return line;
}

}  // namespace det::master
