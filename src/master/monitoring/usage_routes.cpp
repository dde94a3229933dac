// Who used how many slots for how long, for accounting: as CSV, and as JSON.

#include "det/cluster/usage.h"
#include "det/master/services.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Verb;

struct RawQuery {
  std::string timestamp_after, timestamp_before;
};
BOOST_DESCRIBE_STRUCT(RawQuery, (), (timestamp_after, timestamp_before))
struct RawEntry {
  std::string kind;
  Time start_time;
  std::optional<Time> end_time;
  std::int32_t experiment_id = 0;  ///< 0: of what is no trial
  std::string username;
  std::vector<std::string> labels;
  double seconds = 0;
  std::int32_t slots = 0;
};
BOOST_DESCRIBE_STRUCT(RawEntry, (),
                      (kind, start_time, end_time, experiment_id, username, labels, seconds, slots))
struct RawReply {
  std::vector<RawEntry> resource_entries;
};
BOOST_DESCRIBE_STRUCT(RawReply, (), (resource_entries))

struct AggregatedQuery {
  std::string start_date, end_date, period;
};
BOOST_DESCRIBE_STRUCT(AggregatedQuery, (), (start_date, end_date, period))
struct AggregatedEntry {
  std::string period_start;  ///< "2026-11-22" or "2026-11"
  std::string period;
  double seconds = 0;
  std::map<std::string, double> by_username, by_experiment_label, by_resource_pool, by_agent_label;
  // Ours: by workspace, and what it cost.
  std::map<std::string, double> by_workspace;
  double cost = 0;
  std::map<std::string, double> cost_by_username, cost_by_experiment_label, cost_by_resource_pool,
      cost_by_agent_label, cost_by_workspace;
};
BOOST_DESCRIBE_STRUCT(AggregatedEntry, (),
                      (period_start, period, seconds, by_username, by_experiment_label, by_resource_pool,
                       by_agent_label, by_workspace, cost, cost_by_username, cost_by_experiment_label,
                       cost_by_resource_pool, cost_by_agent_label, cost_by_workspace))
struct AggregatedReply {
  std::vector<AggregatedEntry> resource_entries;
  std::string currency;  ///< ours: of the costs
};
BOOST_DESCRIBE_STRUCT(AggregatedReply, (), (resource_entries, currency))

/// The sums of an entry that are told apart by what `aggregation_type` says.
struct Grouped {
  std::string_view aggregation_type;
  std::map<std::string, double> AggregatedEntry::* seconds;
  std::map<std::string, double> AggregatedEntry::* cost;
};
constexpr Grouped kGrouped[] = {
    {"username", &AggregatedEntry::by_username, &AggregatedEntry::cost_by_username},
    {"experiment_label", &AggregatedEntry::by_experiment_label, &AggregatedEntry::cost_by_experiment_label},
    {"resource_pool", &AggregatedEntry::by_resource_pool, &AggregatedEntry::cost_by_resource_pool},
    {"agent", &AggregatedEntry::by_agent_label, &AggregatedEntry::cost_by_agent_label},
    {"workspace", &AggregatedEntry::by_workspace, &AggregatedEntry::cost_by_workspace},
};

/// "2026-11-22" (its first moment), "2026-11" or RFC 3339.
Result<Time> time_of(const std::string& text, const char* name) {
  if (text.empty()) return invalid_argument("{} is required; give a time or a date", name);
  auto whole = text;
  if (whole.size() == 7) whole += "-01";
  if (whole.size() == 10) whole += "T00:00:00Z";
  auto time = parse_rfc3339(whole);
  if (!time)
    return invalid_argument(
        "{} is '{}'; it must be a date or time such as 2026-11-22 or 2026-11-22T18:00:00Z", name, text);
  return time;
}

Result<Time> time_of(const http::Request& request, const char* name) {
  const auto* text = request.query.find(http::camel_case(name));
  return time_of(text == nullptr ? std::string() : *text, name);
}

struct Span {
  Time begin, end;
};
Result<Span> span_of(const Result<Time>& begin, const Result<Time>& end, const char* begin_name,
                     const char* end_name) {
  if (!begin) return tl::unexpected(begin.error());
  if (!end) return tl::unexpected(end.error());
  if (*end < *begin) return invalid_argument("{} is before {}; swap them", end_name, begin_name);
  return Span{*begin, *end};
}

Result<cluster::Period> period_of(const std::string& text) {
  if (text.find("MONTH") != std::string::npos) return cluster::Period::Month;
  if (text.empty() || text.find("DAI") != std::string::npos) return cluster::Period::Day;
  return invalid_argument(
      "period is '{}'; it must be RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY or …_MONTHLY", text);
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string seconds_text(Time time) {
  return to_rfc3339(Time{time.microseconds / kSecond * kSecond}).substr(0, 19) + "Z";
}

asio::awaitable<std::vector<cluster::Usage>> usages(Services& s, Time begin, Time end) {
  auto read = [&s, begin, end] { return s.store.usage(begin, end); };
  auto rows = co_await offload(s, std::move(read));
  std::vector<cluster::Usage> all;
  for (auto& row : rows) {
    const auto user = s.auth.users().find(row.owner);
    const auto* project = s.workspaces.project(ProjectId(row.project_id));
    const auto* workspace = s.workspaces.find(row.task_type        ? WorkspaceId(row.workspace_id)
                                              : project == nullptr ? store::kUncategorizedWorkspace
                                                                   : project->workspace);
    const auto price = s.ledger.cluster().pool(row.resource_pool).price_per_slot_hour;
    all.push_back({.allocation = std::move(row.allocation),
                   .username = user == s.auth.users().end() ? "" : user->second.username,
                   .resource_pool = std::move(row.resource_pool),
                   .workspace = workspace == nullptr ? "" : workspace->name,
                   .labels = std::move(row.labels),
                   .kind = row.task_type ? task::type_name(*row.task_type) : "trial",
                   .price = price});
  }
  co_return all;
}

/// Empty for what is no trial.
std::string experiment_cell(const experiment::AllocationRecord& allocation) {
  return allocation.experiment_id ? std::to_string(allocation.experiment_id.value()) : "";
}

std::string to_upper(std::string text) {
  for (auto& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string raw_csv(const std::vector<cluster::Usage>& all, Time now) {
  std::string csv = "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n";
  for (const auto& usage : all) {
    const auto& a = usage.allocation;
    const auto end = a.end_time.value_or(now);
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", experiment_cell(a), usage.kind, cell(usage.username),
                       cell(fmt::format("{}", fmt::join(usage.labels, ","))), cluster::slots_of(a),
                       seconds_text(*a.start_time), a.end_time ? seconds_text(end) : "",
                       static_cast<double>(end - *a.start_time) / kSecond);
  }
  return csv;
}

std::string allocations_csv(const std::vector<cluster::Usage>& all, Time now) {
  std::string csv =
      "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time,"
      "imagepulling_time,slot_hours,resource_pool,cost\n";
  for (const auto& usage : all) {
    const auto& a = usage.allocation;
    // No image is pulled before an allocation is counted: its 0 is for readers that want the column.
    csv += fmt::format("{},{},{},{},{},{},{},{},0,{},{},{}\n", a.id, to_upper(usage.kind),
                       cell(usage.username), cell(usage.workspace), experiment_cell(a), cluster::slots_of(a),
                       seconds_text(*a.start_time), a.end_time ? seconds_text(*a.end_time) : "",
                       cluster::slot_hours(a, now), cell(usage.resource_pool), cluster::cost_of(usage, now));
  }
  return csv;
}

http::Response csv_response(std::string csv, const char* name) {
  http::Response response;
  response.headers.set("Content-Type", "text/csv; charset=utf-8");
  response.headers.set("Content-Disposition", fmt::format("attachment; filename=\"{}.csv\"", name));
  response.body = std::move(csv);
  return response;
}

/// Logged in, between two times: the rows, made by `make`.
template <class Make>
asio::awaitable<http::Response> answer(http::Request request, std::any principal, const char* begin_name,
                                       const char* end_name, const char* file, Make make) {
  if (const auto user = require_user(principal); !user) co_return http::error_response(user.error());
  const auto span = span_of(time_of(request, begin_name), time_of(request, end_name), begin_name, end_name);
  if (!span) co_return http::error_response(span.error());
  co_return co_await make(span->begin, span->end, file);
}

asio::awaitable<http::Response> raw(Services& s, http::Request request, std::any principal, const char* file,
                                    std::string (*to_csv)(const std::vector<cluster::Usage>&, Time)) {
  auto make = [&s, to_csv](Time begin, Time end, const char* name) -> asio::awaitable<http::Response> {
    const auto all = co_await usages(s, begin, end);
    co_return csv_response(to_csv(all, s.ledger.now()), name);
  };
  co_return co_await answer(std::move(request), std::move(principal), "timestamp_after", "timestamp_before",
                            file, make);
}

asio::awaitable<http::Response> aggregated(Services& s, http::Request request, std::any principal) {
  const auto* wanted = request.query.find("period");
  const auto known = period_of(wanted == nullptr ? std::string() : *wanted);
  if (!known) co_return http::error_response(known.error());
  auto make = [&s, period = *known](Time begin, Time last,
                                    const char* name) -> asio::awaitable<http::Response> {
    // The last day or month is wholly in it.
    const auto end = cluster::end_of_period(last, period);
    const auto all = co_await usages(s, begin, end);
    std::string csv = "aggregation_type,aggregation_key,date,seconds,cost\n";
    for (const auto& row : cluster::aggregate(all, begin, end, s.ledger.now(), period))
      csv += fmt::format("{},{},{},{},{}\n", row.aggregation_type, cell(row.aggregation_key), row.date,
                         row.seconds, row.cost);
    co_return csv_response(std::move(csv), name);
  };
  co_return co_await answer(std::move(request), std::move(principal), "start_date", "end_date", "usage",
                            make);
}

asio::awaitable<Result<RawReply>> raw_entries(Services& s, RawQuery q) {
  const auto span =
      span_of(time_of(q.timestamp_after, "timestamp_after"), time_of(q.timestamp_before, "timestamp_before"),
              "timestamp_after", "timestamp_before");
  if (!span) co_return tl::unexpected(span.error());
  const auto all = co_await usages(s, span->begin, span->end);
  const auto now = s.ledger.now();
  RawReply reply;
  for (const auto& usage : all) {
    const auto& a = usage.allocation;
    reply.resource_entries.push_back(
        {.kind = usage.kind,
         .start_time = *a.start_time,
         .end_time = a.end_time,
         .experiment_id = a.experiment_id ? static_cast<std::int32_t>(a.experiment_id.value()) : 0,
         .username = usage.username,
         .labels = usage.labels,
         .seconds = static_cast<double>(a.end_time.value_or(now) - *a.start_time) / kSecond,
         .slots = static_cast<std::int32_t>(cluster::slots_of(a))});
  }
  co_return reply;
}

asio::awaitable<Result<AggregatedReply>> aggregated_entries(Services& s, AggregatedQuery q) {
  const auto span =
      span_of(time_of(q.start_date, "start_date"), time_of(q.end_date, "end_date"), "start_date", "end_date");
  if (!span) co_return tl::unexpected(span.error());
  const auto period = period_of(q.period);
  if (!period) co_return tl::unexpected(period.error());
  const auto end = cluster::end_of_period(span->end, *period);
  const auto all = co_await usages(s, span->begin, end);
  std::map<std::string, AggregatedEntry> by_date;
  for (const auto& row : cluster::aggregate(all, span->begin, end, s.ledger.now(), *period)) {
    auto& entry = by_date[row.date];
    if (row.aggregation_type == "total") {
      entry.seconds = row.seconds;
      entry.cost = row.cost;
    }
    for (const auto& group : kGrouped)
      if (row.aggregation_type == group.aggregation_type) {
        (entry.*group.seconds)[row.aggregation_key] = row.seconds;
        (entry.*group.cost)[row.aggregation_key] = row.cost;
      }
  }
  AggregatedReply reply{.resource_entries = {}, .currency = s.ledger.cluster().pools().currency};
  for (auto& [date, entry] : by_date) {
    entry.period_start = date;
    entry.period = *period == cluster::Period::Month ? "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"
                                                     : "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY";
    reply.resource_entries.push_back(std::move(entry));
  }
  co_return reply;
}

}  // namespace

void add_usage_routes(http::Router& router, Services& s) {
  const auto as_csv = [&s](const char* name, auto to_csv) {
    return [&s, name, to_csv](http::Request r, std::any caller) {
      return raw(s, std::move(r), std::move(caller), name, to_csv);
    };
  };
  router.add_closed_raw(Verb::Get, "/resources/allocation/raw", as_csv("usage-raw", raw_csv));
  router.add_closed_raw(Verb::Get, "/resources/allocation/allocations-csv",
                        as_csv("allocations", allocations_csv));
  router.add<RawQuery, RawReply>(
      Verb::Get, "/api/v1/resources/allocation/raw",
      [&s](http::Context, RawQuery q) { return raw_entries(s, std::move(q)); },
      http::Doc{.summary = "List the allocations between two times", .tag = "Cluster"});
  router.add<AggregatedQuery, AggregatedReply>(
      Verb::Get, "/api/v1/resources/allocation/aggregated",
      [&s](http::Context, AggregatedQuery q) { return aggregated_entries(s, std::move(q)); },
      http::Doc{.summary = "Get the slot-seconds used in each day or month, and what they cost",
                .tag = "Cluster"});
  router.add_closed_raw(
      Verb::Get, "/resources/allocation/aggregated",
      [&s](http::Request r, std::any caller) { return aggregated(s, std::move(r), std::move(caller)); });
}

}  // namespace det::master
