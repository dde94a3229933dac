#include "det/store/metrics/metric_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "det/store/metrics/metric_summary.h"
#include "det/store/sql/batches.h"

namespace det::store {

namespace {

constexpr std::size_t kRemembered = 100'000;

// Averages, then what of the rest there is: an array of one element a batch, and the number of records.
std::string encode_body(const json::object& avg, const json::array& batches, std::int64_t records) {
  json::array body;
  body.emplace_back(avg);
  if (!batches.empty() || records > 0) body.emplace_back(batches);
  if (records > 0) body.emplace_back(records);
  return encode_document(body);
}

std::string encode_body(const MetricRecord& r) {
  return encode_body(r.avg_metrics, r.batch_metrics, r.records);
}

std::optional<MetricRecord> read_one(Connection& connection, const MetricRecord& named) {
  return read_metrics_at(connection, named.trial_id, named.group, named.batches);
}

std::optional<std::int64_t> read_run(Connection& connection, TrialId trial) {
  Query query(connection, "SELECT run_id FROM metric_runs WHERE trial_id = ?");
  query.bind(trial);
  return first<std::int64_t>(query, [](Query& row) { return row.get<std::int64_t>(); });
}

bool being_purged(Connection& connection, TrialId trial) {
  Query query(connection, "SELECT 1 FROM purges WHERE kind = 'trial' AND id = ?");
  query.bind(trial);
  return query.next();
}

Result<void> late(const MetricRecord& report, std::int64_t run) {
  return fail(ErrorCode::AlreadyExists,
              "the {} report of trial {} at {} batches is from run {}, but run {} has replaced it; the "
              "report is ignored",
              report.group, report.trial_id, report.batches, report.run_id, run);
}

// Merges `more` into `names`; the name that contradicts, if any.
std::optional<std::string> merge_names(json::object& names, const json::object& more, bool& changed) {
  std::optional<std::string> contradiction;
  for (const auto& [name, value] : more) {
    const auto* known = names.if_contains(name);
    if (known == nullptr) {
      names.emplace(name, value);
      changed = true;
    } else if (!contradiction && !same_document(*known, value)) {
      contradiction = std::string(name);
    }
  }
  return contradiction;
}

tl::unexpected<Error> contradicts(const MetricRecord& report, std::string_view name,
                                  const json::value* stored, const json::value* reported) {
  const auto shown = [](const json::value* v) {
    auto text = v == nullptr ? std::string("nothing") : json::serialize(*v);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    return text;
  };
  return invalid_argument(
      "trial {} first reported {} metric '{}' at {} batches as {}, and now as {}; a report can be repeated "
      "or extended with new metrics, but not changed",
      report.trial_id, report.group, name, report.batches, shown(stored), shown(reported));
}

struct Merge {
  MergedReport merged;
  std::optional<Error> contradiction;
};

Merge merge(const MetricRecord& stored, const MetricRecord& report) {
  Merge m{{false, stored.avg_metrics, stored.batch_metrics, stored.records}, std::nullopt};
  auto& [changed, avg, batches, records] = m.merged;
  if (const auto name = merge_names(avg, report.avg_metrics, changed))
    m.contradiction = contradicts(report, *name, stored.avg_metrics.if_contains(*name),
                                  report.avg_metrics.if_contains(*name))
                          .value();
  if (records == 0 && report.records > 0) {
    records = report.records;
    changed = true;
  } else if (report.records > 0 && report.records != records && !m.contradiction) {
    const json::value was(records), is(report.records);
    m.contradiction = contradicts(report, "number of records", &was, &is).value();
  }
  if (report.batch_metrics.empty()) return m;
  if (batches.empty()) {
    batches = report.batch_metrics;
    changed = true;
    return m;
  }
  const auto conflict = [&](std::string_view name, const json::value* was, const json::value* is) {
    if (!m.contradiction) m.contradiction = contradicts(report, name, was, is).value();
  };
  if (batches.size() != report.batch_metrics.size()) {
    const json::value was(batches.size()), is(report.batch_metrics.size());
    conflict("number of batch metrics", &was, &is);
    return m;
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto& more = report.batch_metrics[i];
    if (batches[i].is_object() && more.is_object()) {
      if (const auto name = merge_names(batches[i].get_object(), more.get_object(), changed))
        conflict(*name, batches[i].get_object().if_contains(*name), more.get_object().if_contains(*name));
    } else if (!same_document(batches[i], more)) {
      conflict(fmt::format("batch_metrics[{}]", i), &batches[i], &more);
    }
  }
  return m;
}

}  // namespace

MetricRecord read_report(Query& query) {
  MetricRecord r;
  json::array body;
  query.read(r.trial_id, r.run_id, r.group, r.batches, Document{body}, r.report_time);
  if (!body.empty() && body[0].is_object()) r.avg_metrics = std::move(body[0].get_object());
  if (body.size() > 1 && body[1].is_array()) r.batch_metrics = std::move(body[1].get_array());
  if (body.size() > 2) r.records = json::to_int64(body[2]).value_or(0);
  return r;
}

Result<MergedReport> merge_reports(const MetricRecord& stored, const MetricRecord& report) {
  auto m = merge(stored, report);
  if (m.contradiction) return tl::unexpected(*std::move(m.contradiction));
  return std::move(m.merged);
}

void MetricWriter::add(const AddMetrics& add) {
  const auto& report = add.record;
  if (const auto run = current_run(report.trial_id); report.run_id < run)
    return refuse(add, late(report, run).error());
  if (report.run_id > 1) {
    if (begun_.size() >= kRemembered) begun_.clear();
    auto& begun = begun_[{report.trial_id, report.group}];
    if (begun < report.run_id) {
      settle();
      archive(report.trial_id, report.group, report.batches, report.run_id);
    }
    begun = report.run_id;
  }
  added_.push_back({&add, encode_body(report)});
  if (connection_.dialect().rows_at_once == 1) insert_added();
}

void MetricWriter::insert_added() {
  constexpr auto kInsert =
      "INSERT INTO metrics (trial_id, metric_group, batches, run_id, report_time, body) VALUES ";
  constexpr auto kRow = "(?, ?, ?, ?, ?, ?)";
  constexpr auto kIfNew = " ON CONFLICT DO NOTHING";
  static const auto one = fmt::format("{}{}{}", kInsert, kRow, kIfNew);
  const auto first = inserts_.empty() ? 0 : inserts_.back().from + inserts_.back().rows;
  for_each_batch(connection_, added_.size() - first, [&](std::size_t from, std::size_t rows) {
    Query query(connection_, rows == 1 ? one : fmt::format("{}{}{}", kInsert, repeated(kRow, rows), kIfNew));
    for (std::size_t i = first + from; i < first + from + rows; ++i) {
      const auto& report = added_[i].change->record;
      query.bind(report.trial_id, report.group, report.batches, report.run_id, report.report_time,
                 Bytes{added_[i].body});
    }
    query.run();
    inserts_.push_back({first + from, rows, connection_.count_changes()});
  });
}

void MetricWriter::settle() {
  insert_added();
  if (added_.empty()) return;
  const auto added = std::exchange(added_, {});
  std::vector<Curve> grown;
  for (const auto& [from, rows, inserted] : std::exchange(inserts_, {})) {
    const bool all_new = connection_.changes_of(inserted) == static_cast<std::int64_t>(rows);
    for (const auto& [add, body] : std::span(added).subspan(from, rows)) {
      if (!all_new)  // It is not known which of them were there: a new one agrees with itself.
        if (const auto merged = merge_into_stored(add->record, body); !merged) refuse(*add, merged.error());
      if ((all_new || rows > 1) && note_new_row(add->record))
        grown.push_back({add->record.trial_id, add->record.group});
    }
  }
  // Only now: new rows that sums cover are taken for late ones above.
  for (const auto& curve : grown) {
    auto& unsummed = unsummed_[curve];
    for (; unsummed.rows > 0; unsummed.rows -= kRowsAdvancedAtOnce)
      unsummed.up_to_batches = advance_sums(connection_, curve.trial, curve.group);
    unsummed.rows = 0;
  }
}

void MetricWriter::refuse(const AddMetrics& add, Error error) {
  if (add.refused) refusals_.push_back([&add, error = std::move(error)] { add.refused(error); });
}

// There is a report of its name already.
Result<void> MetricWriter::merge_into_stored(const MetricRecord& report, const std::string& body) {
  const auto stored = *read_one(connection_, report);
  if (encode_body(stored) == body && stored.run_id >= report.run_id) return {};
  if (report.run_id < stored.run_id) return late(report, stored.run_id);
  if (report.run_id > stored.run_id) {
    replace(stored, report);
    return {};
  }
  auto m = merge(stored, report);
  if (m.merged.changed) {
    const auto merged = encode_body(m.merged.avg_metrics, m.merged.batch_metrics, m.merged.records);
    Query(connection_, "UPDATE metrics SET body = ? WHERE trial_id = ? AND metric_group = ? AND batches = ?")
        .bind(Bytes{merged}, report.trial_id, report.group, report.batches)
        .run();
    changed(report);
  }
  if (m.contradiction) return tl::unexpected(*std::move(m.contradiction));
  return {};
}

// A later run trained to the same batch count again: its report alone counts.
void MetricWriter::replace(const MetricRecord& stored, const MetricRecord& report) {
  const auto old_body = encode_body(stored);
  const auto body = encode_body(report);
  if (old_body != body) {
    Query(connection_, R"sql(
INSERT INTO archived_metrics (trial_id, metric_group, batches, run_id, report_time, body)
VALUES (?, ?, ?, ?, ?, ?)
)sql")
        .bind(stored.trial_id, stored.group, stored.batches, stored.run_id, stored.report_time,
              Bytes{old_body})
        .run();
    changed(report);
  }
  Query(connection_, R"sql(
UPDATE metrics
SET run_id = ?, report_time = ?, body = ?
WHERE trial_id = ? AND metric_group = ? AND batches = ?
)sql")
      .bind(report.run_id, report.report_time, Bytes{body}, report.trial_id, report.group, report.batches)
      .run();
}

// Whether the sums of its curve are to be advanced.
bool MetricWriter::note_new_row(const MetricRecord& report) {
  if (unsummed_.size() >= kRemembered) unsummed_.clear();
  const auto [at, unknown] = unsummed_.try_emplace({report.trial_id, report.group});
  auto& of_curve = at->second;
  if (unknown) of_curve.up_to_batches = summed_up_to(connection_, report.trial_id, report.group);
  if (report.batches <= of_curve.up_to_batches) changed(report);
  return ++of_curve.rows == kRowsBetweenSums;
}

void MetricWriter::changed(const MetricRecord& report) {
  row_changed(connection_, report.trial_id, report.group, report.batches);
  blocks_made_stale_ = true;
}

void MetricWriter::rewind(const RewindTrial& rewind) {
  settle();
  Query(connection_, R"sql(
INSERT INTO metric_runs (trial_id, run_id)
VALUES (?, ?)
ON CONFLICT (trial_id) DO UPDATE
SET run_id = CASE WHEN metric_runs.run_id < excluded.run_id THEN excluded.run_id ELSE metric_runs.run_id END
)sql")
      .bind(rewind.trial, rewind.run_id)
      .run();
  runs_.erase(rewind.trial.value());
  if (!rewind.batches) return;
  for (const auto& group : read_metric_groups(connection_, rewind.trial))
    archive(rewind.trial, group, *rewind.batches, rewind.run_id);
}

void MetricWriter::archive(TrialId trial, const std::string& group, std::int64_t beyond,
                           std::int64_t runs_before) {
  Query(connection_, R"sql(
INSERT INTO archived_metrics (trial_id, metric_group, batches, run_id, report_time, body)
SELECT trial_id, metric_group, batches, run_id, report_time, body
FROM metrics
WHERE trial_id = ? AND metric_group = ? AND batches > ? AND run_id < ?
)sql")
      .bind(trial, group, beyond, runs_before)
      .run();
  Query(connection_,
        "DELETE FROM metrics WHERE trial_id = ? AND metric_group = ? AND batches > ? AND run_id < ?")
      .bind(trial, group, beyond, runs_before)
      .run();
  if (connection_.changes() != 0) rows_went(connection_, trial, group, beyond + 1);
}

void MetricWriter::forget() {
  runs_.clear();
  unsummed_.clear();
  begun_.clear();
  added_.clear();
  inserts_.clear();
  refusals_.clear();
}

std::int64_t MetricWriter::current_run(TrialId trial) {
  if (const auto found = runs_.find(trial.value()); found != runs_.end()) return found->second;
  if (runs_.size() >= kRemembered) runs_.clear();
  return runs_[trial.value()] = read_run(connection_, trial).value_or(0);
}

std::vector<std::string> read_metric_groups(Connection& connection, TrialId trial) {
  static const auto sql = std::string(kWithGroups) + "SELECT name FROM hops WHERE name IS NOT NULL";
  Query query(connection, sql);
  query.bind(trial);
  return collect<std::string>(query, [](Query& row) { return row.get<std::string>(); });
}

std::vector<MetricRecord> read_metrics(Connection& connection, const MetricQuery& wanted) {
  static const auto sql =
      std::string(kSelectReports) +
      "WHERE trial_id = ? AND metric_group = ? AND batches > ? AND batches <= ? ORDER BY batches LIMIT ?";
  std::vector<MetricRecord> records;
  std::vector<std::string> groups;
  if (!wanted.group)
    groups = read_metric_groups(connection, wanted.trial);
  else if (!being_purged(connection, wanted.trial))
    groups.push_back(*wanted.group);
  for (const auto& group : groups) {
    Query query(connection, sql);
    query.bind(wanted.trial, group, wanted.after_batches, wanted.up_to_batches, limit_or_all(wanted.limit));
    while (query.next()) records.push_back(read_report(query));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.batches < b.batches; });
  if (wanted.limit > 0 && records.size() > static_cast<std::size_t>(wanted.limit)) {
    const auto last = records[static_cast<std::size_t>(wanted.limit - 1)].batches;
    std::erase_if(records, [&](const auto& record) { return record.batches > last; });
  }
  return records;
}

std::optional<MetricRecord> read_metrics_at(Connection& connection, TrialId trial, const std::string& group,
                                            std::int64_t batches) {
  static const auto sql =
      std::string(kSelectReports) + "WHERE trial_id = ? AND metric_group = ? AND batches = ?";
  Query query(connection, sql);
  query.bind(trial, group, batches);
  return first<MetricRecord>(query, read_report);
}

std::optional<MetricRecord> read_latest_metrics(Connection& connection, TrialId trial,
                                                const std::string& group) {
  if (being_purged(connection, trial)) return std::nullopt;
  static const auto sql =
      std::string(kSelectReports) + "WHERE trial_id = ? AND metric_group = ? ORDER BY batches DESC LIMIT 1";
  Query query(connection, sql);
  query.bind(trial, group);
  return first<MetricRecord>(query, read_report);
}

Result<void> check_report(Connection& connection, const MetricRecord& report) {
  if (const auto run = read_run(connection, report.trial_id); run && report.run_id < *run)
    return late(report, *run);
  const auto stored = read_one(connection, report);
  if (!stored || report.run_id > stored->run_id) return {};
  if (report.run_id < stored->run_id) {
    if (merge_reports(*stored, report)) return {};
    return late(report, stored->run_id);
  }
  return merge_reports(*stored, report).map([](auto&&) {});
}

}  // namespace det::store
