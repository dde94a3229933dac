// Who used how many slots for how long.

#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/command.h"
#include "det/http/client.h"
#include "det/http/status.h"

namespace det::cli {
namespace {

struct ResourcesOptions {
  std::string begin, end;
  bool monthly = false;
};

/// The master answers with CSV; it is shown as it is.
Result<int> show_csv(Session& session, const std::string& path, const QueryItems& query) {
  http::Call call;
  call.path = with_query(path, query);
  DET_TRY(const auto reply, session.exchange(std::move(call)));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  session.console().write(reply.body);
  return 0;
}

std::shared_ptr<ResourcesOptions> add_times(CLI::App& app, const char* begin, const char* end) {
  const auto options = std::make_shared<ResourcesOptions>();
  app.add_option(begin, options->begin, "from then on, as 2026-11-01 or 2026-11-01T18:00:00Z")
      ->type_name("TIME")
      ->required();
  app.add_option(end, options->end, "until then")->type_name("TIME")->required();
  return options;
}

Action define_rows(CLI::App& app, const char* path) {
  const auto options = add_times(app, "timestamp_after", "timestamp_before");
  return [options, path](Session& session) {
    return show_csv(session, path, {{"timestampAfter", options->begin}, {"timestampBefore", options->end}});
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
  app.add_flag("--monthly", options->monthly, "sums of months, not of days");
  return [options](Session& session) {
    const std::string period = options->monthly ? "MONTHLY" : "DAILY";
    return show_csv(session, "/resources/allocation/aggregated",
                    {{"startDate", options->begin},
                     {"endDate", options->end},
                     {"period", "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_" + period}});
  };
}

}  // namespace

Command resources_commands() {
  return {
      .names = {"resources", "res"},
      .help = "show who used how many slots, as CSV",
      .example = "det resources aggregated 2026-11-01 2026-11-30",
      .children = {
          {{"raw"}, "show what ran between two times", "det resources raw 2026-11-01 2026-11-30", define_raw},
          {{"aggregated", "agg"},
           "show slot-seconds by day or month, user, label, pool, workspace and agent",
           "det resources aggregated 2026-01 2026-12 --monthly",
           define_aggregated},
          {{"allocations"},
           "show every allocation between two times",
           "det resources allocations 2026-11-01 2026-11-30",
           define_allocations}}};
}

}  // namespace det::cli
