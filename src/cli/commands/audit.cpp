// Who changed what, from where.

#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

Action define_audit_list(CLI::App& app) {
  struct Options {
    std::string user, text, since, until;
    bool refused = false;
    std::int64_t limit = 100, before = 0;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("-u,--username", options->user, "Show only calls of this user")->type_name("USER");
  app.add_option("-s,--search", options->text,
                 "Show only calls whose method, path or object contains this text");
  app.add_option("--since", options->since, "Show only calls since this time, such as 2026-01-31T10:00:00Z")
      ->type_name("TIME");
  app.add_option("--until", options->until, "Show only calls before this time")->type_name("TIME");
  app.add_flag("--refused", options->refused, "Show only calls that were refused or failed");
  app.add_option("--limit", options->limit, "Maximum number of entries, newest first")->capture_default_str();
  app.add_option("--before", options->before, "Show only entries with a smaller ID, for the next page")
      ->type_name("ID");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    QueryItems query{{"limit", std::to_string(options->limit)}};
    for (const auto& [name, value] : {std::pair{"username", &options->user},
                                      {"text", &options->text},
                                      {"after", &options->since},
                                      {"before", &options->until}})
      if (!value->empty()) query.emplace_back(name, *value);
    if (options->refused) query.emplace_back("refused", "true");
    if (options->before > 0) query.emplace_back("beforeId", std::to_string(options->before));
    DET_TRY(const auto found, session.get("/api/v1/audit", query));
    Table table({"ID", "Time", "User", "From", "Call", "About", "Status"});
    for (const auto& entry : list_at(found, "entries")) {
      const auto operation = text_at(entry, "operation");
      const auto call = operation.substr(0, operation.find(' ') + 1) + text_at(entry, "path");
      table.add({at(entry, "id"), time_cell(at(entry, "time")), at(entry, "username"), at(entry, "address"),
                 json::value(call), at(entry, "about"), at(entry, "status")});
    }
    show(session.console(), options->form, list_at(found, "entries"), table);
    return 0;
  };
}

}  // namespace

Command audit_commands() {
  return {.names = {"audit"},
          .help = "Show the audit log (administrators only)",
          .example = "det -u admin audit list --username ann --refused",
          .children = {{{"list", "ls"},
                        "List the entries of the audit log",
                        "det -u admin audit list",
                        define_audit_list}},
          .default_child = "list"};
}

}  // namespace det::cli
