// Logs of trials and tasks, stored and live.

#include <re2/re2.h>

#include <algorithm>

#include "det/master/lists/list_order.h"
#include "det/master/logs/log_pages.h"
#include "det/master/logs/log_ring.h"
#include "det/master/logs/log_text.h"
#include "det/master/objects.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::ItemWriter;
using http::Verb;

struct Filter {
  std::int32_t limit = 0;
  bool follow = false;
  std::string order_by, search_text;
  std::vector<std::string> agent_ids, container_ids, sources, stdtypes, levels;
  std::vector<int> rank_ids;
  std::optional<Time> timestamp_before, timestamp_after;
  bool enable_regex = false;                 ///< `search_text` is a regular expression
  std::int64_t after_id = 0, before_id = 0;  ///< ours: only lines between these two; 0: no bound
};
BOOST_DESCRIBE_STRUCT(Filter, (),
                      (limit, follow, order_by, search_text, agent_ids, container_ids, sources, stdtypes,
                       levels, rank_ids, timestamp_before, timestamp_after, enable_regex, after_id,
                       before_id))
struct TrialLogs : Filter {
  TrialId trial_id;
};
BOOST_DESCRIBE_STRUCT(TrialLogs, (Filter), (trial_id))
struct TaskLogs : Filter {
  std::string task_id;
  std::vector<std::string> allocation_ids;
};
BOOST_DESCRIBE_STRUCT(TaskLogs, (Filter), (task_id, allocation_ids))

struct MasterLogs {
  std::int64_t offset = 0;
  std::int32_t limit = 0;
  bool follow = false;
};
BOOST_DESCRIBE_STRUCT(MasterLogs, (), (offset, limit, follow))
struct MasterEntry {
  std::int32_t id = 0;
  std::string message;
  Time timestamp;
  std::string level;
};
BOOST_DESCRIBE_STRUCT(MasterEntry, (), (id, message, timestamp, level))
struct MasterLine {
  MasterEntry log_entry;
};
BOOST_DESCRIBE_STRUCT(MasterLine, (), (log_entry))

/// The master's own log: what is kept of it from `offset` on, a negative one counted from the end.
asio::awaitable<Result<void>> send_own(Services& s, MasterLogs in, ItemWriter<MasterLine>& out) {
  const auto ring = s.log;
  if (ring == nullptr) co_return Result<void>{};
  auto next = in.offset >= 0 ? in.offset : std::max<std::int64_t>(0, ring->end() + in.offset);
  std::int64_t left = in.limit > 0 ? in.limit : std::numeric_limits<std::int64_t>::max();
  Watch watch(s.ledger, Ledger::own_log_key());
  while (left > 0) {
    const auto lines = ring->read(next, static_cast<std::size_t>(std::min(left, LogPages::kLinesPerRead)));
    const auto to_item = [](const auto& line) {
      return MasterLine{{.id = static_cast<std::int32_t>(line.id),
                         .message = line.text,
                         .timestamp = line.time,
                         .level = "LOG_LEVEL_" + line.level}};
    };
    const bool taken = co_await out.write_all(lines, to_item);
    if (!taken) co_return Result<void>{};
    if (!lines.empty()) next = lines.back().id + 1;
    left -= static_cast<std::int64_t>(lines.size());
    if (!lines.empty()) continue;
    if (!in.follow) break;
    co_await watch.wait(std::chrono::milliseconds(15'000));
    const bool listening = co_await out.alive();
    if (!listening) break;
  }
  co_return Result<void>{};
}

Result<store::LogQuery> to_query(const Filter& filter, const std::string& task) {
  if (const auto known = check_order("", filter.order_by); !known) return tl::unexpected(known.error());
  store::LogQuery query{.task_id = task};
  query.limit = filter.limit;
  query.descending = is_descending(filter.order_by);
  query.agent_ids = filter.agent_ids;
  query.container_ids = filter.container_ids;
  query.sources = filter.sources;
  query.stdtypes = filter.stdtypes;
  for (const auto& level : filter.levels) {
    query.levels.push_back(level.starts_with("LOG_LEVEL_") ? level.substr(10) : level);
    if (query.levels.back() != "UNSPECIFIED" && !is_log_level(query.levels.back()))
      return invalid_argument("levels has '{}'; it must be a log level such as LOG_LEVEL_INFO", level);
  }
  query.rank_ids = filter.rank_ids;
  query.before = filter.timestamp_before;
  query.after = filter.timestamp_after;
  if (!filter.enable_regex) query.search = filter.search_text;
  query.after_id = filter.after_id;
  if (filter.before_id > 0) query.before_id = filter.before_id;
  return query;
}

/// The filter's regular expression; null where it has none.
Result<std::shared_ptr<const re2::RE2>> pattern_of(const Filter& filter) {
  if (!filter.enable_regex || filter.search_text.empty()) return nullptr;
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_shared<const re2::RE2>(filter.search_text, options);
  if (!pattern->ok())
    return invalid_argument("searchText \"{}\" is not a valid regular expression: {}", filter.search_text,
                            pattern->error());
  return pattern;
}

/// What one read found: `seen` lines, up to the one with the id `last`, of which these match.
struct Found {
  std::vector<experiment::LogRecord> lines;
  std::int64_t seen = 0, last = 0;
};

Found read_lines(store::Store& store, const store::LogQuery& query, const re2::RE2* pattern,
                 std::int64_t most) {
  Found found{.lines = store.logs(query)};
  found.seen = static_cast<std::int64_t>(found.lines.size());
  if (found.seen > 0) found.last = found.lines.back().id;
  if (pattern == nullptr) return found;
  std::erase_if(found.lines, [&](const auto& line) { return !re2::RE2::PartialMatch(line.log, *pattern); });
  if (static_cast<std::int64_t>(found.lines.size()) > most)
    found.lines.resize(static_cast<std::size_t>(most));
  return found;
}

/// Whether nothing more will be written to the log: the task, or its trial, is over.
bool ended(const Services& s, const std::string& task, std::optional<TrialId> id) {
  if (!id) return s.ledger.cluster().task(task) == nullptr;
  if (s.unmanaged.active(*id)) return false;
  const auto* live = s.ledger.cluster().trial(*id);
  return live == nullptr || (experiment::is_terminal(live->record.state) && live->allocation.empty());
}

asio::awaitable<Result<void>> send(Services& s, const Filter& filter, std::string task,
                                   std::vector<std::string> allocations, std::optional<TrialId> trial,
                                   ItemWriter<api::LogLine>& out) {
  auto wanted = to_query(filter, task);
  if (!wanted) co_return tl::unexpected(wanted.error());
  wanted->allocation_ids = std::move(allocations);
  const auto pattern = pattern_of(filter);
  if (!pattern) co_return tl::unexpected(pattern.error());
  LogPages pages(*std::move(wanted), filter.limit, *pattern != nullptr);
  Watch watch(s.ledger, Ledger::task_log_key(task));  // before the read: what comes during it rings
  while (true) {
    // Asked before the read, and remembered: what was written before the end is then read for sure.
    const bool last = !filter.follow || ended(s, task, trial);
    if (last) co_await s.ledger.durable();
    auto read = [&s, query = pages.query(), pattern = *pattern, left = pages.left()] {
      return read_lines(s.store, query, pattern.get(), left);
    };
    const auto found = co_await offload(s, std::move(read));
    const auto to_item = [&trial](const auto& line) { return to_api(line, trial); };
    const bool taken = co_await out.write_all(found.lines, to_item);
    if (!taken) co_return Result<void>{};
    pages.took(found.seen, found.last, static_cast<std::int64_t>(found.lines.size()));
    if (pages.complete()) co_return Result<void>{};
    if (pages.more()) continue;
    if (last) co_return Result<void>{};
    co_await watch.wait(std::chrono::milliseconds(15'000));  // in which one who hung up is noticed
    const bool alive = co_await out.alive();
    if (!alive) co_return Result<void>{};
  }
}

}  // namespace

void add_log_routes(http::Router& router, Services& s) {
  router.add_stream<TrialLogs, api::LogLine>(
      Verb::Get, "/api/v1/trials/{trialId}/logs",
      [&s](Context, TrialLogs in, ItemWriter<api::LogLine>& out) -> asio::awaitable<Result<void>> {
        auto read = [&s, id = in.trial_id] { return s.store.trial(id); };
        const auto trial = co_await offload(s, std::move(read));
        if (!trial) co_return not_found("trial '{}' not found", in.trial_id);
        std::vector<std::string> all;
        co_return co_await send(s, in, trial->task_id, std::move(all), trial->id, out);
      },
      Doc{.summary = "Read the log of a trial; `follow` waits for more lines until the trial ends",
          .tag = "Logs",
          .errors = {ErrorCode::NotFound}});
  router.add_stream<TaskLogs, api::LogLine>(
      Verb::Get, "/api/v1/tasks/{taskId}/logs",
      [&s](Context, TaskLogs in, ItemWriter<api::LogLine>& out) -> asio::awaitable<Result<void>> {
        std::optional<TrialId> of_trial;
        if (s.ledger.cluster().task(in.task_id) == nullptr) {
          auto read = [&s, id = in.task_id] {
            return std::pair(s.store.trial_of_task(id), s.store.task(id));
          };
          const auto [trial, task] = co_await offload(s, std::move(read));
          if (!trial && !task) co_return not_found("task '{}' not found", in.task_id);
          if (trial) of_trial = trial->id;
        }
        co_return co_await send(s, in, in.task_id, in.allocation_ids, of_trial, out);
      },
      Doc{.summary = "Read the log of a task; `follow` waits for more lines until the task ends",
          .tag = "Logs",
          .errors = {ErrorCode::NotFound}});
  router.add_stream<MasterLogs, MasterLine>(
      Verb::Get, "/api/v1/master/logs",
      [&s](Context c, MasterLogs in, ItemWriter<MasterLine>& out) -> asio::awaitable<Result<void>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        co_return co_await send_own(s, in, out);
      },
      Doc{.summary = "Read the newest lines of the master's log", .tag = "Cluster"});
}

}  // namespace det::master
