#include <chrono>

#include "det/store/import/importer.h"
#include "det/store/import/log_position.h"

// What trials reported: by far the most rows. They come from cursors, and are committed in large groups.

namespace det::store {

namespace {

constexpr std::int64_t kRowsPerQuery = 200'000;

}  // namespace

// One table since 0.22, whose parts were tables of their own before.
std::vector<Importer::MetricTable> Importer::metric_tables() const {
  const auto group_of = [&](const char* table) -> std::string {
    for (const char* column : {"metric_group", "custom_type"})
      if (source_.has(table, column)) return fmt::format("CAST(x.{} AS text)", column);
    return "CAST('generic' AS text)";
  };
  if (source_.has("metrics", "partition_type"))
    return {
        {"metrics",
         fmt::format("CASE CAST(x.partition_type AS text) WHEN 'TRAINING' THEN 'training' WHEN 'VALIDATION' "
                     "THEN 'validation' ELSE COALESCE({}, 'generic') END",
                     group_of("metrics"))}};
  std::vector<MetricTable> tables;
  if (source_.has("raw_steps", "total_batches")) tables.push_back({"raw_steps", "CAST('training' AS text)"});
  if (source_.has("raw_validations", "total_batches"))
    tables.push_back({"raw_validations", "CAST('validation' AS text)"});
  if (source_.has("generic_metrics", "total_batches"))
    tables.push_back(
        {"generic_metrics", fmt::format("COALESCE({}, 'generic')", group_of("generic_metrics"))});
  return tables;
}

void Importer::metrics_of_trials() {
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& table : metric_tables()) metric_table(table);
  target_.flush();
  target_.imported("metrics", -contradictions_);
  target_.left_out("metrics", "another report of the same steps and run says something else", "",
                   contradictions_);
  metric_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void Importer::metric_table(const MetricTable& table) {
  struct OfTrial {
    std::int64_t trial = 0, rows = 0;
    std::string mark;
  };
  const auto present = source_.has(table.table, "archived") ? "NOT x.archived" : "true";
  std::vector<OfTrial> wanted;
  std::int64_t all = 0, of_others = 0;
  target_.progress("metrics", 0, 0);
  source_.each(fmt::format("SELECT CAST(x.trial_id AS bigint), COUNT(*), CAST(MAX(x.id) AS bigint) FROM {} x "
                           "WHERE {} AND x.trial_id IS NOT NULL GROUP BY x.trial_id ORDER BY x.trial_id",
                           table.table, present),
               [&](const Statement& row) {
                 OfTrial of{row.integer(0), row.integer(1),
                            fmt::format("{}:{}", row.integer(1), row.integer(2))};
                 if (!trials_.contains(of.trial))
                   of_others += of.rows;
                 else
                   wanted.push_back(std::move(of));
               });
  target_.left_out("metrics", "they belong to no trial that was imported", "", of_others);
  std::erase_if(wanted, [&](const OfTrial& of) {
    const bool known = target_.mark(table.table, std::to_string(of.trial)) == of.mark;
    if (known) target_.unchanged("metrics", of.rows);
    if (!known) all += of.rows;
    return known;
  });

  std::int64_t done = 0;
  const auto metrics_type = source_.column(table.table, "x", "metrics");
  const auto run =
      source_.has(table.table, "trial_run_id") ? "COALESCE(CAST(x.trial_run_id AS bigint), 0)" : "0::bigint";
  for (std::size_t next = 0; next < wanted.size();) {
    std::string trials;
    std::map<std::int64_t, const OfTrial*> of_query;
    for (std::int64_t rows = 0;
         next < wanted.size() && (rows == 0 || rows + wanted[next].rows <= kRowsPerQuery); ++next) {
      rows += wanted[next].rows;
      trials += fmt::format("{}{}", trials.empty() ? "" : ",", wanted[next].trial);
      of_query[wanted[next].trial] = &wanted[next];
    }
    const OfTrial* at = nullptr;
    const auto finish = [&] {
      if (at != nullptr) target_.put(table.table, std::to_string(at->trial), at->mark, {});
    };
    source_.each(
        fmt::format("SELECT CAST(x.trial_id AS bigint), {}, CAST(x.total_batches AS bigint), "
                    "CAST(x.end_time AS timestamptz), {}, {} FROM {} x WHERE x.trial_id IN ({}) AND {} "
                    "ORDER BY x.trial_id, 5, x.total_batches, x.end_time, 2",
                    run, table.group, metrics_type, table.table, trials, present),
        [&](const Statement& row) {
          AddMetrics add;
          auto& record = add.record;
          record.trial_id = TrialId(row.integer(0));
          if (at == nullptr || at->trial != record.trial_id.value()) {
            finish();
            at = of_query.at(record.trial_id.value());
          }
          target_.progress("metrics", ++done, all);
          record.run_id = row.integer(1);
          record.report_time = read_timestamp(row, 3).value_or(Time{});
          record.group = row.bytes(4);
          record.batches = batches_of(row.is_null(2) ? std::nullopt : std::optional(row.integer(2)),
                                      record.group, record.report_time);
          if (row.is_null(5) || !read_metrics_document(row.bytes(5), record))
            return target_.left_out("metrics", "they are no JSON object",
                                    fmt::format("trial {}", record.trial_id));
          add.refused = [this](const Error&) { ++contradictions_; };
          target_.add(std::move(add));
          target_.imported("metrics");
          ++metrics_;
        });
    finish();
  }
}

// In groups, with the ids that have been seen then: a repeated import continues after them.
class Importer::LogGroup {
 public:
  LogGroup(ImportTarget& target, std::string table, LogPosition position)
      : target_(target), table_(std::move(table)), position_(std::move(position)) {}
  ~LogGroup() { put(); }
  /// Columns from `first` on: agent, container, rank, time, level, text, source, stream.
  void add(const Statement& row, const std::string& task, std::string allocation, int first) {
    auto& line = lines_.emplace_back();
    line.task_id = task;
    line.allocation_id = std::move(allocation);
    line.agent_id = row.bytes(first);
    line.container_id = row.bytes(first + 1);
    if (!row.is_null(first + 2)) line.rank = static_cast<int>(row.integer(first + 2));
    line.timestamp = time_ = read_timestamp(row, first + 3).value_or(time_);
    line.level = row.bytes(first + 4);
    line.log = row.bytes(first + 5);
    line.source = row.bytes(first + 6);
    line.stdtype = row.bytes(first + 7);
    clean_log_line(line);
    saw(row);
    if (lines_.size() >= kLinesPerGroup) put();
  }
  /// Also for a line that is not imported.
  void saw(const Statement& row) { position_.saw(row.integer(0)); }

 private:
  void put() {
    if (lines_.empty()) return;
    target_.imported("log lines", static_cast<std::int64_t>(lines_.size()));
    std::vector<Change> changes;
    changes.emplace_back(AddOwnLogs{std::exchange(lines_, {})});
    target_.put(table_, "up_to", position_.text(), std::move(changes));
  }

  static constexpr std::size_t kLinesPerGroup = 500;
  ImportTarget& target_;
  const std::string table_;
  std::vector<LogRecord> lines_;
  Time time_;  // of the line before, for those that have none
  LogPosition position_;
};

std::string Importer::log_columns(std::string_view table, std::string_view text) const {
  return fmt::format(
      "{}, {}, {}, {}, {}, {}, {}, {}", source_.column(table, "x", "agent_id"),
      source_.column(table, "x", "container_id"),
      source_.has(table, "rank_id") ? "CAST(x.rank_id AS bigint)" : "CAST(NULL AS bigint)",
      source_.has(table, "timestamp") ? "CAST(x.\"timestamp\" AS timestamptz)" : "CAST(NULL AS timestamptz)",
      source_.column(table, "x", "level"), text, source_.column(table, "x", "source"),
      source_.column(table, "x", "stdtype"));
}

void Importer::task_logs() {
  if (!source_.has("task_logs", "task_id")) return;
  const auto position = LogPosition::parse(target_.mark("task_logs", "up_to").value_or(""));
  const auto unseen = position.unseen("x.id");
  const auto all = source_.number(fmt::format("SELECT COUNT(*) FROM task_logs x WHERE {}", unseen));
  std::int64_t done = 0, others = 0;
  target_.unchanged("log lines", source_.number("SELECT COUNT(*) FROM task_logs") - all);
  {
    LogGroup group(target_, "task_logs", position);
    source_.each(
        fmt::format("SELECT CAST(x.id AS bigint), {}, {}, {} FROM task_logs x WHERE {} ORDER BY x.id",
                    source_.column("task_logs", "x", "task_id"),
                    source_.column("task_logs", "x", "allocation_id"),
                    log_columns("task_logs", source_.column("task_logs", "x", "log")), unseen),
        [&](const Statement& row) {
          target_.progress("log lines", ++done, all);
          if (const auto task = tasks_.find(std::string(row.bytes(1))); task != tasks_.end())
            group.add(row, task->second, std::string(row.bytes(2)), 3);
          else
            group.saw(row), ++others;
        });
  }
  target_.left_out("log lines", "they belong to no trial that was imported", "", others);
  target_.flush();
}

// Of trials from before 0.18, whose lines were never moved.
void Importer::trial_logs() {
  if (!source_.has("trial_logs", "trial_id")) return;
  const auto position = LogPosition::parse(target_.mark("trial_logs", "up_to").value_or(""));
  const auto text = source_.column("trial_logs", "x", source_.has("trial_logs", "log") ? "log" : "message");
  std::int64_t others = 0;
  {
    LogGroup group(target_, "trial_logs", position);
    source_.each(
        fmt::format("SELECT CAST(x.id AS bigint), CAST(x.trial_id AS bigint), {} FROM trial_logs x WHERE "
                    "{} ORDER BY x.id",
                    log_columns("trial_logs", text), position.unseen("x.id")),
        [&](const Statement& row) {
          if (const auto task = task_of_.find(row.integer(1)); task != task_of_.end())
            group.add(row, task->second, "", 2);
          else
            group.saw(row), ++others;
        });
  }
  target_.left_out("log lines", "they belong to no trial that was imported", "", others);
  target_.flush();
}

}  // namespace det::store
