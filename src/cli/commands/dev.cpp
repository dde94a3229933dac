#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/http/client/client.h"

namespace det::cli {
namespace {

Action define_auth_token(CLI::App&) {
  return [](Session& session) -> Result<int> {
    // The cached one may be dead: a call replaces it.
    DET_TRY(const auto me, session.get("/api/v1/me"));
    DET_TRY(const auto token, session.token());
    session.console().write_line(token);
    return 0;
  };
}

// Replaces this process by curl. The token goes through a configuration on its
// standard input, where other users of this machine cannot see it.
Result<int> curl(Session& session, const std::string& path, const std::vector<std::string>& arguments,
                 bool shown) {
  if (path.find("://") != std::string::npos)
    return invalid_argument(
        "'{}' is a full URL; give only the path, such as /api/v1/me, because only the master may get the "
        "token",
        path);
  DET_TRY(const auto me, session.get("/api/v1/me"));
  DET_TRY(const auto token, session.token());
  DET_TRY(const auto url, session.master_url());
  std::vector<std::string> words = {"curl", "-sS", "--config", "/dev/fd/3"};
  words.push_back(url + (path.starts_with('/') ? "" : "/") + path);
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (shown) {
    std::string line = "curl -H 'Authorization: Bearer ...'";
    for (std::size_t i = 4; i < words.size(); ++i) line += " '" + words[i] + "'";
    session.console().warn(line);
  }
  const auto config = fmt::format("header = \"Authorization: Bearer {}\"\n", token);
  int pipe[2];
  if (::pipe(pipe) != 0 ||
      ::write(pipe[1], config.data(), config.size()) != static_cast<ssize_t>(config.size()))
    return fail(ErrorCode::Unavailable, "cannot pass the token to curl: {}", std::strerror(errno));
  ::close(pipe[1]);
  if (pipe[0] != 3) {
    ::dup2(pipe[0], 3);
    ::close(pipe[0]);
  }
  session.console().flush();
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  return fail(ErrorCode::Unavailable, "cannot start curl: {}", std::strerror(errno));
}

Action define_curl(CLI::App& app) {
  const auto shown = std::make_shared<bool>(false);
  app.add_flag("-x", *shown, "Print the curl command first");
  app.prefix_command();  // what follows belongs to curl
  return [&app, shown](Session& session) -> Result<int> {
    const auto words = app.remaining();
    if (words.empty()) return invalid_argument("no path given; example: det dev curl /api/v1/me");
    return curl(session, words[0], {words.begin() + 1, words.end()}, *shown);
  };
}

struct Operation {
  std::string id, method, path, summary;
  json::array parameters;
};

/// What the master's OpenAPI document describes.
Result<std::vector<Operation>> operations(Session& session) {
  DET_TRY(const auto document, session.get("/api/v1/openapi.json"));
  std::vector<Operation> all;
  for (const auto& [path, verbs] : at(document, "paths").as_object())
    for (const auto& [verb, operation] : verbs.as_object()) {
      auto method = std::string(verb);
      std::transform(method.begin(), method.end(), method.begin(),
                     [](char c) { return static_cast<char>(std::toupper(c)); });
      all.push_back({text_at(operation, "operationId"), method, std::string(path),
                     text_at(operation, "summary"), list_at(operation, "parameters")});
    }
  return all;
}

Action define_list_bindings(CLI::App& app) {
  const auto filter = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("text", *filter, "Show only calls whose name, path or summary contains this text")
      ->type_name("TEXT");
  add_output_flags(app, *form);
  return [filter, form](Session& session) -> Result<int> {
    DET_TRY(const auto all, operations(session));
    Table table({"Name", "Call", "Summary"});
    json::array objects;
    for (const auto& o : all) {
      const auto call = o.method + ' ' + o.path;
      if ((o.id + ' ' + call + ' ' + o.summary).find(*filter) == std::string::npos) continue;
      table.add({json::value(o.id), json::value(call), json::value(o.summary)});
      objects.push_back(
          json::object{{"name", o.id}, {"method", o.method}, {"path", o.path}, {"summary", o.summary}});
    }
    show(session.console(), *form, objects, table);
    return 0;
  };
}

/// The path with its parameters filled in from `values`, which are taken from there; the rest is the query or
/// body.
Result<std::string> filled(const Operation& operation, std::map<std::string, std::string>& values) {
  auto path = operation.path;
  for (auto open = path.find('{'); open != std::string::npos; open = path.find('{')) {
    const auto close = path.find('}', open);
    const auto name = path.substr(open + 1, close - open - 1);
    const auto value = values.extract(name);
    if (value.empty()) return invalid_argument("{} needs {}=VALUE", operation.id, name);
    path.replace(open, close - open + 1, url_encode(value.mapped()));
  }
  return path;
}

Result<int> call_binding(Session& session, const std::string& name, const std::vector<std::string>& words) {
  DET_TRY(const auto all, operations(session));
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.id == name; });
  if (found == all.end())
    return not_found("call '{}' not found; 'det dev bindings list' shows all calls", name);
  std::map<std::string, std::string> values;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) return invalid_argument("'{}' must have the form NAME=VALUE", word);
    values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  DET_TRY(auto path, filled(*found, values));
  const bool queries = found->method == "GET" || found->method == "DELETE";
  http::Call call{.method = found->method, .path = path, .headers = {}, .body = {}};
  if (queries) {
    call.path = with_query(path, {values.begin(), values.end()});
  } else {
    json::object body;
    for (const auto& [key, value] : values) {
      const auto parsed = json::parse(value);  // a number, a list, an object; else text
      body[key] = parsed ? *parsed : json::value(value);
    }
    call.headers.add("Content-Type", "application/json");
    call.body = json::serialize(body);
  }
  DET_TRY(const auto reply, session.exchange(std::move(call)));
  const auto answer = json::parse(reply.body);
  if (answer)
    show_json(session.console(), *answer);
  else
    session.console().write(reply.body);
  return reply.ok() ? 0 : 1;
}

Action define_call_binding(CLI::App& app) {
  struct Options {
    std::string name;
    std::vector<std::string> values;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name of the call")->type_name("NAME")->required();
  app.add_option("values", options->values, "Parameters and body fields of the call")
      ->type_name("NAME=VALUE");
  return [options](Session& session) { return call_binding(session, options->name, options->values); };
}

}  // namespace

Command dev_commands() {
  return {.names = {"dev"},
          .help = "Tools for developers of API clients",
          .example = "det dev curl /api/v1/experiments?limit=1",
          .children = {{{"auth-token"}, "Print the token of the active user", "", define_auth_token},
                       {{"curl"},
                        "Call the API with curl",
                        "det dev curl /api/v1/me\ndet dev curl /api/v1/experiments/7/kill -X POST",
                        define_curl},
                       {.names = {"bindings"},
                        .help = "Call the API by the operation names of its OpenAPI document",
                        .children = {{{"list", "ls"},
                                      "List the calls of the API",
                                      "det dev bindings list experiment",
                                      define_list_bindings},
                                     {{"call"},
                                      "Call the API by operation name",
                                      "det dev bindings call OPERATION id=7",
                                      define_call_binding}}}}};
}

}  // namespace det::cli
