// Who used how many slots for how long.

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "det/cli/command.h"
#include "det/cli/output/output.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"

namespace det::cli {
namespace {

struct ResourcesOptions {
  std::string begin, end;
  bool monthly = false, json = false;
};

/// The cells of a CSV text (RFC 4180), line by line.
std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line(1);
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (quoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"')
      line.back() += csv[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == ',')
      line.emplace_back();
    else if (!quoted && c == '\n')
      lines.push_back(std::exchange(line, std::vector<std::string>(1)));
    else if (quoted || c != '\r')
      line.back() += c;
  }
  if (line.size() > 1 || !line[0].empty()) lines.push_back(std::move(line));
  return lines;
}

/// An object a line, with the first line's names; seconds, costs, slots and ids are numbers.
json::array objects_of(const std::string& csv) {
  json::array objects;
  const auto lines = cells_of(csv);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    json::object object;
    for (std::size_t c = 0; c < lines[i].size() && c < lines[0].size(); ++c) {
      const auto& name = lines[0][c];
      const auto& cell = lines[i][c];
      const bool counts = name == "seconds" || name == "cost" || name == "slots" || name == "experiment_id";
      const auto number = counts ? json::parse(cell) : Result<json::value>(json::value(nullptr));
      object[name] = number && number->is_number() ? *number : json::value(cell);
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

/// The master answers with CSV; it is shown as it is, or as JSON.
Result<int> show_csv(Session& session, const std::string& path, const QueryItems& query, bool as_json) {
  http::Call call;
  call.path = with_query(path, query);
  DET_TRY(const auto reply, session.exchange(std::move(call)));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  if (as_json)
    show_json(session.console(), objects_of(reply.body));
  else
    session.console().write(reply.body);
  return 0;
}

std::shared_ptr<ResourcesOptions> add_times(CLI::App& app, const char* begin, const char* end) {
  const auto options = std::make_shared<ResourcesOptions>();
  app.add_option(begin, options->begin, "Start of the period, such as 2026-11-01 or 2026-11-01T18:00:00Z")
      ->type_name("TIME")
      ->required();
  app.add_option(end, options->end, "End of the period")->type_name("TIME")->required();
  app.add_flag("--json", options->json, "Print JSON instead of CSV");
  return options;
}

Action define_rows(CLI::App& app, const char* path) {
  const auto options = add_times(app, "timestamp_after", "timestamp_before");
  return [options, path](Session& session) {
    return show_csv(session, path, {{"timestampAfter", options->begin}, {"timestampBefore", options->end}},
                    options->json);
  };
}
Action define_raw(CLI::App& app) {
  return define_rows(app, "/resources/allocation/raw");
}
Action define_allocations(CLI::App& app) {
  return define_rows(app, "/resources/allocation/allocations-csv");
}

Action define_aggregated(CLI::App& app) {
  const auto options = add_times(app, "start_date", "end_date");
  app.add_flag("--monthly", options->monthly, "Aggregate by month instead of by day");
  return [options](Session& session) {
    const std::string period = options->monthly ? "MONTHLY" : "DAILY";
    return show_csv(session, "/resources/allocation/aggregated",
                    {{"startDate", options->begin},
                     {"endDate", options->end},
                     {"period", "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_" + period}},
                    options->json);
  };
}

}  // namespace

Command resources_commands() {
  return {
      .names = {"resources", "res"},
      .help = "Show the historical use of slots",
      .example = "det resources aggregated 2026-11-01 2026-11-30",
      .children = {{{"raw"},
                    "Show the resources that allocations used in a period",
                    "det resources raw 2026-11-01 2026-11-30",
                    define_raw},
                   {{"aggregated", "agg"},
                    "Show slot-seconds and costs per day or month, user, label, pool, workspace and agent",
                    "det resources aggregated 2026-01 2026-12 --monthly",
                    define_aggregated},
                   {{"allocations"},
                    "Show the allocations of a period",
                    "det resources allocations 2026-11-01 2026-11-30",
                    define_allocations}}};
}

}  // namespace det::cli
