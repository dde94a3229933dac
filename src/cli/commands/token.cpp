#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"
#include "det/http/client/client.h"

namespace det::cli {
namespace {

Table token_table(const json::array& tokens) {
  Table table({"ID", "User ID", "Description", "Created", "Expires", "Revoked"});
  for (const auto& token : tokens)
    table.add({at(token, "id"), at(token, "userId"), at(token, "description"),
               time_cell(at(token, "createdAt")), time_cell(at(token, "expiry")), at(token, "revoked")});
  return table;
}

Action define_create_token(CLI::App& app) {
  struct Options {
    std::string username, description;
    std::int64_t days = 30;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("username", options->username, "User of the token (default: you)")->type_name("USER");
  app.add_option("-e,--expiration-days", options->days, "Days until the token expires; -1: never")
      ->type_name("DAYS")
      ->capture_default_str();
  app.add_option("-d,--description", options->description, "Description of the token");
  add_document_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    std::int64_t user = 0;
    if (!options->username.empty()) {
      DET_TRY(user, user_id(session, options->username));
    }
    const auto hours = options->days == -1 ? -1 : options->days * 24;
    DET_TRY(const auto made,
            session.post("/api/v1/tokens", json::object{{"userId", user},
                                                        {"lifespan", fmt::format("{}h", hours)},
                                                        {"description", options->description}}));
    if (options->form.json || options->form.yaml) {
      show_document(session.console(), options->form, made);
      return 0;
    }
    session.console().line("Created token {}. Save it now; it is not shown again:",
                           integer_at(made, "tokenId"));
    session.console().write_line(text_at(made, "token"));
    session.console().line("Use it in DET_USER_TOKEN, or in the header 'Authorization: Bearer TOKEN'");
    return 0;
  };
}

Action define_list_tokens(CLI::App& app) {
  struct Options {
    std::string username;
    bool all = false;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("username", options->username, "Show only tokens of this user")->type_name("USER");
  app.add_flag("-a,--show-all", options->all, "Include revoked and expired tokens");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    QueryItems query;
    if (options->all) query.emplace_back("showInactive", "true");
    if (!options->username.empty()) query.emplace_back("username", options->username);
    DET_TRY(const auto tokens, session.pages("/api/v1/tokens", query, "tokenInfo", 200));
    show(session.console(), options->form, tokens, token_table(tokens));
    return 0;
  };
}

Action define_describe_tokens(CLI::App& app) {
  const auto ids = std::make_shared<std::vector<std::int64_t>>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("token_id", *ids, "IDs of the tokens")->type_name("TOKEN_ID")->required();
  add_output_flags(app, *form);
  return [ids, form](Session& session) -> Result<int> {
    DET_TRY(const auto tokens, session.pages("/api/v1/tokens", {{"showInactive", "true"}}, "tokenInfo", 200));
    json::array chosen;
    for (const auto id : *ids) {
      const auto found = std::find_if(tokens.begin(), tokens.end(),
                                      [&](const auto& token) { return integer_at(token, "id") == id; });
      if (found == tokens.end()) return not_found("token {} not found, or not visible to you", id);
      chosen.push_back(*found);
    }
    show(session.console(), *form, chosen, token_table(chosen));
    return 0;
  };
}

// The token becomes what this machine's calls of its user are made with.
Action define_login_with_token(CLI::App& app) {
  const auto token = std::make_shared<std::string>();
  app.add_option("token", *token, "Token (default: prompt for it)")->type_name("TOKEN");
  return [token](Session& session) -> Result<int> {
    auto& console = session.console();
    const auto typed = token->empty() ? console.ask_password("Token: ") : *token;
    if (!typed || typed->empty()) return invalid_argument("no token given; 'det token create' creates one");
    http::Call call{.method = "GET", .path = "/api/v1/me", .headers = {}, .body = {}};
    call.headers.add("Authorization", "Bearer " + *typed);
    DET_TRY(const auto reply, session.exchange_anonymous(std::move(call)));
    if (reply.status != 200)
      return fail(ErrorCode::Unauthenticated, "the token is unknown, revoked or expired");
    DET_TRY(const auto me, json::parse(reply.body));
    const auto user = text_at(me, "user.username");
    DET_TRY(auto cache, session.cache());
    if (auto stored = cache.store(user, *typed); !stored) return tl::unexpected(stored.error());
    console.line("Logged in as user '{}'", user);
    return 0;
  };
}

Action define_edit_token(CLI::App& app) {
  struct Options {
    std::int64_t id = 0;
    std::string description;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("token_id", options->id, "ID of the token")->type_name("TOKEN_ID")->required();
  app.add_option("-d,--description", options->description, "New description of the token")->required();
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto changed, session.patch(fmt::format("/api/v1/tokens/{}", options->id),
                                              json::object{{"description", options->description}}));
    session.console().line("Set the description of token {} to '{}'", options->id, options->description);
    return 0;
  };
}

Action define_revoke_token(CLI::App& app) {
  const auto id = std::make_shared<std::int64_t>();
  app.add_option("token_id", *id, "ID of the token")->type_name("TOKEN_ID")->required();
  return [id](Session& session) -> Result<int> {
    DET_TRY(const auto changed,
            session.patch(fmt::format("/api/v1/tokens/{}", *id), json::object{{"setRevoked", true}}));
    session.console().line("Revoked token {}", *id);
    return 0;
  };
}

}  // namespace

Command token_commands() {
  return {.names = {"token", "tkn"},
          .help = "Manage access tokens",
          .example = "det token create -d 'nightly job' -e 90",
          .children = {{{"create"}, "Create a token", "det token create -d ci", define_create_token},
                       {{"list", "ls"}, "List tokens", "", define_list_tokens},
                       {{"describe"}, "Describe tokens", "det token describe 3 4", define_describe_tokens},
                       {{"login"},
                        "Log in with a token",
                        "det token login                    prompts for the token",
                        define_login_with_token},
                       {{"edit"}, "Edit a token", "det token edit 3 -d 'old job'", define_edit_token},
                       {{"revoke"}, "Revoke a token", "det token revoke 3", define_revoke_token}},
          .default_child = "list"};
}

}  // namespace det::cli
