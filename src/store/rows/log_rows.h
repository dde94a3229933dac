#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Log lines: a row each, in the order of arrival. The columns that are the same for
/// all lines of a process are an origin, stored once.
namespace det::store {

/// Writes lines, on the writer's connection.
class LogWriter {
 public:
  explicit LogWriter(Connection& connection);

  void add(const AddLogs& logs);
  void add(const AddOwnLogs& logs);
  /// Forgets what it remembers of the database, after a rollback.
  void forget();

 private:
  struct Origin {
    std::int64_t task = 0, number = 0;
  };
  std::int64_t task_number(const std::string& task_id);
  std::int64_t origin_number(std::int64_t task, const LogRecord& line);
  void insert(const std::vector<LogRecord>& lines, std::size_t from);

  Connection& connection_;
  std::int64_t last_id_ = 0;
  std::unordered_map<std::string, std::int64_t> tasks_;
  std::unordered_map<std::string, std::int64_t> origins_;
};

std::vector<LogRecord> read_logs(Connection& connection, const LogQuery& query);

std::vector<LogRecord> read_log_origins(Connection& connection, const std::string& task_id);

/// Before rows of `logs` are deleted: keeps their ids from being given again.
void keep_log_ids(Connection& connection);

}  // namespace det::store
