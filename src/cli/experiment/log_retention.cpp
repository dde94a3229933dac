#include "det/cli/experiment/log_retention.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "det/cli/output/format.h"
#include "det/cli/session/session.h"

namespace det::cli {
namespace {

struct Wish {
  std::int64_t id = 0;
  std::optional<int> days;
  bool forever = false;
};

Result<int> set_retention(Session& session, const char* noun, const Wish& wish) {
  if (wish.days.has_value() == wish.forever)
    return invalid_argument(
        "{}; give either --days N or --forever",
        wish.forever ? "--days and --forever cannot be used together" : "no retention time given");
  const int days = wish.forever ? -1 : *wish.days;
  json::object body;
  body["numDays"] = days;
  DET_TRY([[maybe_unused]] const auto done,
          session.put(fmt::format("/api/v1/{}s/{}/retain_logs", noun, wish.id), body));
  if (days < 0)
    session.console().line("The logs of {} {} are kept forever", noun, wish.id);
  else
    session.console().line("The logs of {} {} are kept for {} days after it ends", noun, wish.id, days);
  return 0;
}

template <bool kOfTrial>
Action define_retention(CLI::App& app) {
  const auto wish = std::make_shared<Wish>();
  app.add_option(kOfTrial ? "trial_id" : "experiment_id", wish->id,
                 kOfTrial ? "ID of the trial" : "ID of the experiment")
      ->type_name(kOfTrial ? "TRIAL_ID" : "EXPERIMENT_ID")
      ->required();
  app.add_option("--days", wish->days,
                 "Days to keep logs after the end; -1: forever, 0: until the next cleanup")
      ->type_name("N")
      ->check(CLI::Range(-1, 32767));
  app.add_flag("--forever", wish->forever, "Keep logs until the experiment is deleted");
  return
      [wish](Session& session) { return set_retention(session, kOfTrial ? "trial" : "experiment", *wish); };
}

}  // namespace

Action define_experiment_retention(CLI::App& app) {
  return define_retention<false>(app);
}
Action define_trial_retention(CLI::App& app) {
  return define_retention<true>(app);
}

Action define_cleanup_logs(CLI::App&) {
  return [](Session& session) -> Result<int> {
    DET_TRY(const auto reply, session.post("/api/v1/cleanup_logs"));
    session.console().line("Deleted {} rows of log entries.", text_at(reply, "removedCount"));
    return 0;
  };
}

}  // namespace det::cli
