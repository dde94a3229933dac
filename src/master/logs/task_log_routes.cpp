// Log lines that processes send themselves: those outside the cluster, and those of the cluster that have
// something to add. What those print, their agents send.

#include "det/base/text.h"
#include "det/master/logs/log_text.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::size_t kLinesMax = 10'000;        // of one call
constexpr std::size_t kLineBytesMax = 64 << 10;  // longer ones are kept in pieces

struct TaskLogEntry {
  std::string task_id, container_id, agent_id;
  std::optional<Time> timestamp;
  std::string log, level, source, stdtype;
  std::optional<std::int32_t> rank_id;
  json::value rank;  ///< the older name: a number or a text
  static bool required(std::string_view name) { return name == "task_id" || name == "log"; }
};
BOOST_DESCRIBE_STRUCT(TaskLogEntry, (),
                      (task_id, container_id, agent_id, timestamp, log, level, source, stdtype, rank_id,
                       rank))
struct LogsRequest {
  std::vector<TaskLogEntry> logs;
  static bool required(std::string_view name) { return name == "logs"; }
};
BOOST_DESCRIBE_STRUCT(LogsRequest, (), (logs))

/// The lines of an entry; it may have several, and parts of lines.
void append(const TaskLogEntry& entry, Time now, std::vector<experiment::LogRecord>& lines) {
  experiment::LogRecord line{.task_id = entry.task_id,
                             .agent_id = entry.agent_id,
                             .container_id = entry.container_id,
                             .rank = entry.rank_id,
                             .source = entry.source.empty() ? "task" : entry.source,
                             .stdtype = entry.stdtype.empty() ? "stdout" : entry.stdtype,
                             .timestamp = entry.timestamp.value_or(now)};
  if (!line.rank)
    if (const auto rank = json::to_int64(entry.rank)) line.rank = static_cast<int>(*rank);
  line.level = entry.level.starts_with("LOG_LEVEL_") ? entry.level.substr(10) : entry.level;
  if (!is_log_level(line.level)) line.level.clear();
  std::string_view rest = entry.log;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    auto text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    do {
      line.log = std::string(text.substr(0, kLineBytesMax));
      text.remove_prefix(line.log.size());
      line.partial = !text.empty();
      lines.push_back(line);
    } while (!text.empty());
  }
}

/// The lines are of the task itself that sends them, in the run that it is in.
Result<void> of_itself(Services& s, const std::string& allocation_id, const std::string& task,
                       std::vector<experiment::LogRecord>& lines) {
  const auto* allocation = s.ledger.cluster().allocation(allocation_id);
  if (allocation == nullptr) return fail(ErrorCode::Gone, "allocation {} is over", allocation_id);
  if (allocation->record.task_id != task)
    return fail(ErrorCode::PermissionDenied, "allocation {} cannot write to the log of task '{}'",
                allocation_id, task);
  for (auto& line : lines) line.allocation_id = allocation_id;
  return {};
}

asio::awaitable<Result<Empty>> add(Services& s, std::any principal, std::vector<TaskLogEntry> entries) {
  const auto sender = require_task(principal);
  if (!sender)
    if (const auto user = require_user(principal); !user) co_return tl::unexpected(user.error());
  if (entries.size() > kLinesMax)
    co_return invalid_argument("logs has {} lines; at most {} are allowed in one call", entries.size(),
                               kLinesMax);
  std::map<std::string, std::vector<experiment::LogRecord>> lines;
  for (const auto& entry : entries) append(entry, s.ledger.now(), lines[entry.task_id]);
  for (auto& [task, of_task] : lines) {
    if (sender) {
      if (const auto own = of_itself(s, *sender, task, of_task); !own) co_return tl::unexpected(own.error());
      continue;
    }
    auto read = [&s, task = task] { return s.store.trial_of_task(task); };
    const auto trial = co_await offload(s, std::move(read));
    if (!trial) co_return not_found("task '{}' not found", task);
    if (!s.unmanaged.has(trial->id))
      co_return failed_precondition(
          "task {} runs on the cluster; its agent sends its log, so this call cannot", task);
  }
  if (s.store.overloaded())
    co_return fail(ErrorCode::Unavailable,
                   "the database cannot keep up with the log lines; retry in a moment");
  std::vector<store::Change> changes;
  for (auto& [task, of_task] : lines) changes.push_back(store::AddOwnLogs{std::move(of_task)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

/// The older form: a bare list, of members in snake_case.
asio::awaitable<http::Response> add_list(Services& s, http::Request request, std::any principal) {
  const auto body = json::parse_unambiguous(request.body);
  if (!body) co_return http::error_response(body.error());
  auto entries = http::from_wire<std::vector<TaskLogEntry>>(*body);
  if (!entries) co_return http::error_response(entries.error());
  const auto done = co_await add(s, std::move(principal), *std::move(entries));
  if (!done) co_return http::error_response(done.error());
  co_return http::json_response("{}");
}

}  // namespace

void add_task_log_routes(http::Router& router, Services& s) {
  router.add<LogsRequest, Empty>(
      Verb::Post, "/api/v1/task/logs",
      [&s](Context c, LogsRequest r) { return add(s, c.principal, std::move(r.logs)); },
      Doc{.summary = "Store log lines of an unmanaged trial, or of the task that sends them",
          .tag = "Outside the cluster",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition, ErrorCode::Gone}});
  router.add_closed_raw(Verb::Post, "/task-logs", [&s](http::Request r, std::any caller) {
    return add_list(s, std::move(r), std::move(caller));
  });
}

}  // namespace det::master
