#include "det/store/rows/log_rows.h"

#include <algorithm>

#include "det/store/conditions.h"
#include "det/store/rows/user_rows.h"

namespace det::store {

namespace {

constexpr std::size_t kRemembered = 20'000;
const std::string kLastIdSetting = "store.last_log_id";

std::int64_t read_last_id(Connection& connection) {
  Query query(connection, "SELECT COALESCE(MAX(id), 0) FROM logs");
  query.next();
  const auto last = query.get<std::int64_t>();
  const auto kept = read_setting(connection, kLastIdSetting);
  return std::max<std::int64_t>(last, kept ? std::stoll(*kept) : 0);
}

// A task whose experiment was deleted has lines that wait for their removal: they are no longer its own.
std::optional<std::int64_t> find_task(Connection& connection, const std::string& task_id) {
  Query query(connection, R"sql(
SELECT number
FROM log_tasks
WHERE task_id = ? AND NOT EXISTS (SELECT 1 FROM purges WHERE kind = 'task' AND id = number)
)sql");
  query.bind(task_id);
  return first<std::int64_t>(query, [](Query& row) { return row.get<std::int64_t>(); });
}

// The last line that is going already, though it is still there.
std::int64_t dropped_up_to(Connection& connection, std::int64_t task) {
  Query query(connection, "SELECT up_to FROM purges WHERE kind = 'logs' AND id = ?");
  query.bind(task);
  return query.next() ? query.get<std::int64_t>() : 0;
}

std::vector<Conditions::Value> texts(const std::vector<std::string>& values) {
  return {values.begin(), values.end()};
}

std::string values(std::size_t rows) {
  std::string text;
  while (rows-- > 0) text += rows > 0 ? "(?, ?, ?, ?, ?, ?, ?), " : "(?, ?, ?, ?, ?, ?, ?)";
  return text;
}

bool same_origin(const LogRecord& a, const LogRecord& b) {
  return a.task_id == b.task_id && a.allocation_id == b.allocation_id && a.agent_id == b.agent_id &&
         a.container_id == b.container_id && a.rank == b.rank && a.source == b.source &&
         a.stdtype == b.stdtype;
}

// Filters on what is in the origin choose origins first; there are few.
bool add_origin_conditions(const LogQuery& wanted, Conditions& conditions) {
  std::vector<Conditions::Value> ranks;
  // -1: lines of the master and of agents, which have no rank.
  for (const int rank : wanted.rank_ids) ranks.emplace_back(std::int64_t{rank});
  conditions.add_in("agent_id", texts(wanted.agent_ids));
  conditions.add_in("allocation_id", texts(wanted.allocation_ids));
  conditions.add_in("container_id", texts(wanted.container_ids));
  conditions.add_in("source", texts(wanted.sources));
  conditions.add_in("stdtype", texts(wanted.stdtypes));
  conditions.add_in("COALESCE(rank, -1)", ranks);
  return !(wanted.agent_ids.empty() && wanted.allocation_ids.empty() && wanted.container_ids.empty() &&
           wanted.sources.empty() && wanted.stdtypes.empty() && ranks.empty());
}

std::vector<Conditions::Value> matching_origins(Connection& connection, const Conditions& conditions) {
  Query query(connection, OneTimeSql{fmt::format("SELECT number FROM log_origins\n{}", conditions.where())});
  conditions.bind(query);
  return collect<Conditions::Value>(query,
                                    [](Query& row) { return Conditions::Value(row.get<std::int64_t>()); });
}

}  // namespace

LogWriter::LogWriter(Connection& connection) : connection_(connection), last_id_(read_last_id(connection)) {}

void LogWriter::add(const AddLogs& logs) {
  if (logs.lines.empty()) return;
  Query query(connection_, "SELECT next_sequence FROM log_streams WHERE stream = ?");
  query.bind(logs.stream);
  const auto next = query.next() ? query.get<std::int64_t>() : 0;
  const auto end = logs.first_sequence + static_cast<std::int64_t>(logs.lines.size());
  if (end <= next) return;
  insert(logs.lines, static_cast<std::size_t>(std::max<std::int64_t>(0, next - logs.first_sequence)));
  Query(connection_, R"sql(
INSERT INTO log_streams (stream, task, next_sequence)
VALUES (?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET next_sequence = excluded.next_sequence
)sql")
      .bind(logs.stream, task_number(logs.lines.front().task_id), end)
      .run();
}

void LogWriter::add(const AddOwnLogs& logs) {
  insert(logs.lines, 0);
}

void LogWriter::forget() {
  tasks_.clear();
  origins_.clear();
  last_id_ = read_last_id(connection_);
}

void LogWriter::insert(const std::vector<LogRecord>& lines, std::size_t from) {
  constexpr auto kInsert = "INSERT INTO logs (id, task, origin, level, partial, time, line) VALUES ";
  static const auto one = kInsert + values(1);
  const auto at_once = connection_.dialect().rows_at_once;
  const auto many = at_once > 1 && lines.size() - from >= at_once ? kInsert + values(at_once) : "";
  Origin origin;
  std::size_t i = from;
  while (i < lines.size()) {
    const std::size_t rows = lines.size() - i >= at_once ? at_once : 1;
    // Origins first: they have statements of their own.
    std::vector<Origin> origins;
    for (std::size_t n = i; n < i + rows; ++n) {
      if (n == from || !same_origin(lines[n], lines[n - 1])) {
        origin.task = task_number(lines[n].task_id);
        origin.number = origin_number(origin.task, lines[n]);
      }
      origins.push_back(origin);
    }
    Query query(connection_, rows == 1 ? one : many);
    for (const auto& [task, number] : origins) {
      const auto& line = lines[i++];
      query.bind(++last_id_, task, number, line.level, line.partial, line.timestamp, Bytes{line.log});
    }
    query.run();
  }
}

std::int64_t LogWriter::task_number(const std::string& task_id) {
  if (const auto found = tasks_.find(task_id); found != tasks_.end()) return found->second;
  if (tasks_.size() >= kRemembered) tasks_.clear();
  Query(connection_, "INSERT INTO log_tasks (task_id) VALUES (?) ON CONFLICT (task_id) DO NOTHING")
      .bind(task_id)
      .run();
  Query query(connection_, "SELECT number FROM log_tasks WHERE task_id = ?");
  query.bind(task_id);
  query.next();
  return tasks_[task_id] = query.get<std::int64_t>();
}

std::int64_t LogWriter::origin_number(std::int64_t task, const LogRecord& line) {
  const auto rank = line.rank ? std::to_string(*line.rank) : "-";
  auto key = fmt::format("{}", task);
  for (const auto* part :
       {&line.allocation_id, &line.agent_id, &line.container_id, &rank, &line.source, &line.stdtype})
    key.append(1, '\0').append(*part);
  if (const auto found = origins_.find(key); found != origins_.end()) return found->second;
  if (origins_.size() >= kRemembered) origins_.clear();
  Query find(connection_, R"sql(
SELECT number
FROM log_origins
WHERE task = ? AND allocation_id = ? AND agent_id = ? AND container_id = ? AND rank IS NOT DISTINCT FROM ? AND source = ? AND stdtype = ?
)sql");
  find.bind(task, line.allocation_id, line.agent_id, line.container_id, line.rank, line.source, line.stdtype);
  if (find.next()) return origins_[key] = find.get<std::int64_t>();
  Query added(connection_, R"sql(
INSERT INTO log_origins (task, allocation_id, agent_id, container_id, rank, source, stdtype)
VALUES (?, ?, ?, ?, ?, ?, ?)
RETURNING number
)sql");
  added.bind(task, line.allocation_id, line.agent_id, line.container_id, line.rank, line.source,
             line.stdtype);
  added.next();
  return origins_[key] = added.get<std::int64_t>();
}

std::vector<LogRecord> read_logs(Connection& connection, const LogQuery& wanted) {
  const auto task = find_task(connection, wanted.task_id);
  if (!task) return {};
  Conditions origins(connection);
  origins.add("task = ?", *task);
  const bool by_origin = add_origin_conditions(wanted, origins);
  Conditions conditions(connection);
  conditions.add("logs.task = ?", *task);
  conditions.add("logs.id > ?", std::max(wanted.after_id, dropped_up_to(connection, *task)));
  if (wanted.before_id) conditions.add("logs.id < ?", *wanted.before_id);
  if (by_origin) {
    auto numbers = matching_origins(connection, origins);
    if (numbers.empty()) return {};
    conditions.add_in("origin", std::move(numbers));
  }
  conditions.add_in("level", texts(wanted.levels));
  if (wanted.after) conditions.add("time > ?", wanted.after->microseconds);
  if (wanted.before) conditions.add("time < ?", wanted.before->microseconds);
  if (!wanted.search.empty())
    conditions.add(connection.dialect().line_contains, Conditions::Raw{wanted.search});
  Query query(connection, OneTimeSql{fmt::format(R"sql(
SELECT logs.id, allocation_id, agent_id, container_id, rank, source, stdtype, level, partial, time, line
FROM logs
LEFT JOIN log_origins ON number = origin
{}ORDER BY logs.id {}
LIMIT ?
)sql",
                                                 conditions.where(), wanted.descending ? "DESC" : "ASC")});
  conditions.bind(query);
  query.bind(limit_or_all(wanted.limit));
  return collect<LogRecord>(query, [&](Query& row) {
    LogRecord r;
    r.task_id = wanted.task_id;
    row.read(r.id, r.allocation_id, r.agent_id, r.container_id, r.rank, r.source, r.stdtype, r.level,
             r.partial, r.timestamp, r.log);
    return r;
  });
}

std::vector<LogRecord> read_log_origins(Connection& connection, const std::string& task_id) {
  const auto task = find_task(connection, task_id);
  if (!task) return {};
  Query query(connection, R"sql(
SELECT allocation_id, agent_id, container_id, rank, source, stdtype FROM log_origins WHERE task = ? ORDER BY number
)sql");
  query.bind(*task);
  return collect<LogRecord>(query, [&](Query& row) {
    LogRecord r;
    r.task_id = task_id;
    row.read(r.allocation_id, r.agent_id, r.container_id, r.rank, r.source, r.stdtype);
    return r;
  });
}

void keep_log_ids(Connection& connection) {
  put_setting(connection, kLastIdSetting, std::to_string(read_last_id(connection)));
}

}  // namespace det::store
