#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "det/cli/session/session.h"

namespace CLI {
class App;
}

namespace det::cli {

/// Which entries of a trial's or task's log to show.
struct LogOptions {
  bool follow = false;
  std::optional<int> tail;
  std::optional<int> head;
  bool json = false;  ///< One JSON object a line.
  std::vector<std::string> agent_ids;
  std::vector<std::string> container_ids;
  std::vector<int> rank_ids;
  std::vector<std::string> sources;
  std::vector<std::string> stdtypes;
  std::string level;  ///< This one and graver ones.
  std::string timestamp_before;
  std::string timestamp_after;
};

void add_log_flags(CLI::App& app, LogOptions& options);

/// What a command does beside following a log.
struct FollowHooks {
  /// Called about once a second from the caller's thread.
  std::function<void()> on_tick = {};
  /// Whether the log's end is the end of its task, and not of a connection or
  /// of the master.
  std::function<Result<bool>()> is_over = {};
};

/// Shows the entries of the log at `path` ("/api/v1/trials/12/logs").
///
/// While it follows, a connection that breaks is made again, for as long as
/// the master does not stay away for five minutes, and no entry is shown twice
/// or left out.
Result<void> show_logs(Session& session, const std::string& path, const LogOptions& options,
                       FollowHooks hooks = {});

/// The query of a request for these entries, without `follow`.
QueryItems log_query(const LogOptions& options);

}  // namespace det::cli
