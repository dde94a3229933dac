#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/output/paging.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

// What a master that was not told a pool calls the first of them.
Result<std::string> default_pool(Session& session) {
  DET_TRY(const auto answer, session.get("/api/v1/resource-pools"));
  const auto& pools = list_at(answer, "resourcePools");
  for (const auto& pool : pools)
    if (at(pool, "defaultComputePool") == json::value(true)) return text_at(pool, "name");
  return pools.empty() ? std::string("default") : text_at(pools[0], "name");
}

json::value without_prefix(const json::value& text, std::string_view prefix) {
  if (!text.is_string() || !std::string_view(text.get_string()).starts_with(prefix)) return text;
  return json::value(std::string_view(text.get_string()).substr(prefix.size()));
}

Action define_job_list(CLI::App& app) {
  struct Options {
    std::string pool;
    bool reverse = false;
    bool table = false;
    Paging paging{.limit = 100};
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("-p,--resource-pool", options->pool, "Resource pool (default: the default pool)")
      ->type_name("NAME");
  app.add_flag("--reverse", options->reverse, "Show the last job first");
  add_paging_flags(app, options->paging);
  app.add_flag("--table", options->table, "Print a table (the default)");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    std::string pool = options->pool;
    if (pool.empty()) {
      DET_TRY(pool, default_pool(session));
    }
    DET_TRY(const auto entries,
            fetch(session, "/api/v1/job-queues-v2",
                  {{"resourcePool", pool}, {"orderBy", options->reverse ? "ORDER_BY_DESC" : "ORDER_BY_ASC"}},
                  "jobs", options->paging));
    Table table({"#", "ID", "Type", "Job Name", "Priority or Weight", "Submitted", "Slots (acquired/needed)",
                 "State", "User"});
    for (const auto& entry : entries) {
      const auto& job = at(entry, "full").is_null() ? at(entry, "limited") : at(entry, "full");
      const auto ahead = json::to_int64(at(job, "summary.jobsAhead"));
      const auto& priority = at(job, "priority");
      table.add({ahead && *ahead >= 0 ? json::value(std::to_string(*ahead)) : json::value("N/A"),
                 at(job, "jobId"), without_prefix(at(job, "type"), "TYPE_"), at(job, "name"),
                 priority.is_null() ? at(job, "weight") : priority, time_cell(at(job, "submissionTime")),
                 json::value(fmt::format("{}/{}", integer_at(job, "allocatedSlots"),
                                         integer_at(job, "requestedSlots"))),
                 state_cell(at(job, "summary.state")), at(job, "username")});
    }
    show(session.console(), options->form, entries, table);
    return 0;
  };
}

/// One change of a job, as the API reads it.
Result<json::object> change_of(const std::string& job, std::string_view name, const std::string& value) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {{"priority", "priority"},
                                                                        {"weight", "weight"},
                                                                        {"resource-pool", "resourcePool"},
                                                                        {"ahead-of", "aheadOf"},
                                                                        {"behind-of", "behindOf"}};
  const auto known = std::ranges::find(kNames, name, [](const auto& entry) { return entry.first; });
  if (known == std::end(kNames))
    return invalid_argument(
        "'{}' of job {} cannot be changed; give priority, weight, resource-pool, ahead-of or "
        "behind-of",
        name, job);
  json::object change{{"jobId", job}};
  if (name == "priority" || name == "weight") {
    const auto number = config::parse_yaml_value(value);
    if (!number || !(name == "priority" ? number->is_int64() : number->is_number()))
      return invalid_argument("{} of job {} is '{}'; it must be {}", name, job, value,
                              name == "priority" ? "an integer" : "a number");
    change[known->second] = *number;
  } else {
    change[known->second] = value;
  }
  return change;
}

Result<int> update_jobs(Session& session, json::array updates) {
  json::object body;
  body["updates"] = std::move(updates);
  DET_TRY(const auto answer, session.post("/api/v1/job-queues", body));
  return 0;
}

Action define_job_update(CLI::App& app) {
  struct Options {
    std::string id;
    std::map<std::string, std::string> values;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("job_id", options->id, "ID of the job, its experiment or its task")
      ->type_name("JOB_ID")
      ->required();
  const auto add = [&](const char* flags, const char* name, const char* help, const char* type) {
    app.add_option(flags, options->values[name], help)->type_name(type);
  };
  add("-p,--priority", "priority", "1 to 99; a lower number is more important", "N");
  add("-w,--weight", "weight", "Weight in a resource pool with the fair-share policy", "N");
  add("--resource-pool", "resource-pool", "Move the job to this resource pool", "NAME");
  add("--ahead-of", "ahead-of", "Move the job directly ahead of this job", "JOB_ID");
  add("--behind-of", "behind-of", "Move the job directly behind this job", "JOB_ID");
  return [options](Session& session) -> Result<int> {
    json::array updates;
    for (const auto& [name, value] : options->values) {
      if (value.empty()) continue;
      DET_TRY(auto change, change_of(options->id, name, value));
      updates.push_back(std::move(change));
    }
    if (updates.empty())
      return invalid_argument(
          "nothing to update; give --priority, --weight, --resource-pool, --ahead-of or "
          "--behind-of");
    DET_TRY(const auto code, update_jobs(session, std::move(updates)));
    session.console().line("Updated job {}", options->id);
    return code;
  };
}

Action define_job_update_batch(CLI::App& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  app.add_option("updates", *words, "Changes, such as 7.priority=10 8.ahead-of=7")
      ->type_name("JOB_ID.NAME=VALUE")
      ->required();
  return [words](Session& session) -> Result<int> {
    json::array updates;
    for (const auto& word : *words) {
      const auto equals = word.find('=');
      const auto dot = word.substr(0, equals).rfind('.');
      if (equals == std::string::npos || dot == std::string::npos)
        return invalid_argument("'{}' must have the form JOB_ID.NAME=VALUE", word);
      DET_TRY(auto change, change_of(word.substr(0, dot), word.substr(dot + 1, equals - dot - 1),
                                     word.substr(equals + 1)));
      updates.push_back(std::move(change));
    }
    const auto count = updates.size();
    DET_TRY(const auto code, update_jobs(session, std::move(updates)));
    session.console().line("Applied {} update{}", count, count == 1 ? "" : "s");
    return code;
  };
}

Action define_job_why(CLI::App& app) {
  struct Options {
    std::string id;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("job_id", options->id, "ID of the job, its experiment or its task")
      ->type_name("JOB_ID")
      ->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/job-queues/" + url_encode(options->id) + "/why"));
    const bool trials = text_at(answer, "job.type") == "TYPE_EXPERIMENT";
    Table table({"Trial ID", "Slots", "State", "Agents", "Reason for Waiting", "Behind Job"});
    for (const auto& trial : list_at(answer, "trials")) {
      std::string agents;
      for (const auto& agent : list_at(trial, "agents"))
        agents += (agents.empty() ? "" : ", ") + cell_text(agent);
      table.add({trials ? at(trial, "trialId") : json::value(), at(trial, "slots"), at(trial, "state"),
                 json::value(agents), at(trial, "reason"), at(trial, "behindJobId")});
    }
    if (const auto& form = options->form; !form.csv && !form.json && !form.yaml) {
      const auto ahead = json::to_int64(at(answer, "job.summary.jobsAhead")).value_or(-1);
      auto type = text_at(answer, "job.type").substr(5);
      for (auto& c : type) c = static_cast<char>(c - 'A' + 'a');
      session.console().line("{} ({} {}, resource pool {}, scheduler {}{})", text_at(answer, "job.name"),
                             type, text_at(answer, "job.entityId"), text_at(answer, "job.resourcePool"),
                             text_at(answer, "scheduler"),
                             ahead < 0 ? "" : fmt::format(", {} job{} ahead", ahead, ahead == 1 ? "" : "s"));
      session.console().line("{}", text_at(answer, "explanation"));
      for (const auto& trial : list_at(answer, "trials"))
        if (at(trial, "canNeverRun") == json::value(true)) {
          session.console().warn("No agent of this resource pool can run it.");
          break;
        }
      if (list_at(answer, "trials").empty()) return 0;
    }
    show(session.console(), options->form, answer, table);
    return 0;
  };
}

}  // namespace

Command job_commands() {
  return {.names = {"job", "j"},
          .help = "Manage the job queue of a resource pool",
          .example = "det job list -p default\ndet job why 7\ndet job update 7 --ahead-of 5",
          .children = {{{"list", "ls"}, "List jobs", "det job list --json", define_job_list},
                       {{"update"}, "Update a job", "det job update 7 --priority 10", define_job_update},
                       {{"update-batch"},
                        "Update several jobs",
                        "det job update-batch 7.priority=10 8.ahead-of=7",
                        define_job_update_batch},
                       {{"why"}, "Explain why a job waits", "det job why 7 --json", define_job_why}},
          .default_child = "list"};
}

}  // namespace det::cli
