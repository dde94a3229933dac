#include "det/http/routing/router.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <set>
#include "det/logging/log.h"

namespace det::http {

namespace {

constexpr std::string_view kApi = "/api/v1";

bool is_cancellation(const std::exception& failure) {
  const auto* error = dynamic_cast<const boost::system::system_error*>(&failure);
  return error != nullptr && error->code() == asio::error::operation_aborted;
}

// A handler threw: a bug of ours or a broken disk. Logged here, once.
Error internal_error(const Request& request, const std::exception& failure) {
  logging::error("{} {}: {}", request.method, request.path, failure.what());
  return Error(ErrorCode::Internal, fmt::format("{} {} failed inside the server ({}); see the server's log",
                                                request.method, request.path, failure.what()));
}

Response no_such_route(const Request& request, const std::vector<Verb>& allowed) {
  // The original answers 501 to the verbs of its API; TRACE and the like are refused as RFC 9110 says.
  if (request.path.starts_with(kApi) && (allowed.empty() || verb_of(request.method))) {
    if (allowed.empty())
      return error_response(
          Error(ErrorCode::Unimplemented, fmt::format("path {} not found in this API", request.path)));
    return error_response(Error(ErrorCode::Unimplemented, fmt::format("{} does not support the method {}",
                                                                      request.path, request.method)));
  }
  if (allowed.empty())
    return json_response(json::serialize({{"message", fmt::format("path {} not found", request.path)}}), 404);
  auto response = json_response(json::serialize({{"message", fmt::format("{} does not support the method {}",
                                                                         request.path, request.method)}}),
                                405);
  std::string verbs;
  for (const auto verb : allowed) verbs += (verbs.empty() ? "" : ", ") + std::string(verb_text(verb));
  response.headers.add("Allow", verbs);
  return response;
}

asio::awaitable<Response> serve_raw(const Router::RawHandler& handler, Context context) {
  Request request = *context.request;
  co_return co_await handler(std::move(request));
}

asio::awaitable<Response> serve_closed_raw(const Router::ClosedRawHandler& handler, Context context) {
  Request request = *context.request;
  co_return co_await handler(std::move(request), std::move(context.principal));
}

asio::awaitable<Response> serve_document(const Router& router, Context context) {
  co_return json_response(wants_pretty(*context.request) ? json::pretty(router.openapi())
                                                         : json::serialize(router.openapi()));
}

asio::awaitable<void> run_body(std::function<asio::awaitable<Result<void>>(StreamWriter&)> body,
                               StreamWriter& writer) {
  const auto outcome = co_await body(writer);
  if (outcome) co_return;
  if (!writer.started()) {
    writer.replace(json_response(stream_error_body(outcome.error()), status_of(outcome.error().code()).http));
    co_return;
  }
  co_await writer.write(stream_error_body(outcome.error()) + "\n");
}

// Routes that differ only in a verb make their summary from it: "kill" + " an experiment".
std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

constexpr const char* kLines = "application/x-ndjson";  // one JSON object a line

json::object response_of(std::string description, json::object schema,
                         const char* type = "application/json") {
  json::object media{{"schema", std::move(schema)}};
  json::object content{{type, std::move(media)}};
  return json::object{{"description", std::move(description)}, {"content", std::move(content)}};
}

// "get", "/api/v1/trials/{trialId}/metrics" -> "getTrialsTrialIdMetrics"
std::string operation_id(std::string_view verb, std::string_view path) {
  std::string id;
  for (const char c : verb) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (path.starts_with(kApi)) path.remove_prefix(kApi.size());
  bool upper = true;
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      upper = true;
    } else {
      id += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return id;
}

std::string lower_text(Verb verb) {
  std::string text(verb_text(verb));
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Parameter names in the document are those that clients may send.
std::string document_path(const std::string& path) {
  std::string out;
  std::string name;
  bool inside = false;
  for (const char c : path) {
    if (c == '{') {
      inside = true;
      name.clear();
    } else if (c == '}') {
      inside = false;
      out += "{" + camel_case(name) + "}";
    } else {
      (inside ? name : out) += c;
    }
  }
  return out;
}

}  // namespace

asio::awaitable<Response> stream_response(std::function<asio::awaitable<Result<void>>(StreamWriter&)> body) {
  Response response;
  response.headers.add("Content-Type", kLines);
  response.stream = [body = std::move(body)](StreamWriter& writer) { return run_body(body, writer); };
  co_return response;
}

asio::awaitable<Response> refuse(Error error) {
  co_return error_response(error);
}

asio::awaitable<Response> refuse_stream(Error error) {
  auto response = error_response(error);
  response.body = stream_error_body(error);
  co_return response;
}

Response reply(const Request& request, const Headers& headers, const WireType& type, const void* out) {
  const auto written = type.write(out);
  auto response = json_response(wants_pretty(request) ? json::pretty(written) : json::serialize(written));
  for (const auto& [name, value] : headers) response.headers.add(name, value);
  return response;
}

Response error_reply(const Error& error, const Headers& headers) {
  auto response = error_response(error);
  for (const auto& [name, value] : headers) response.headers.add(name, value);
  return response;
}

std::optional<Error> read_input(const WireStruct& in, const Request& request, bool has_body,
                                const std::string& body_member, void* out) {
  const bool read_from_body = has_body && !request.body.empty();
  if (read_from_body) {
    auto parsed = json::parse_unambiguous(request.body);
    if (!parsed) return parsed.error();
    auto body = *std::move(parsed);
    if (!body_member.empty()) {
      json::object whole;
      whole[camel_case(body_member)] = std::move(body);
      body = std::move(whole);
    } else if (in.required != nullptr && body.is_object()) {
      // A required member may come from the path; the body need not repeat it.
      for (const auto& [name, text] : request.parameters)
        if (!body.get_object().contains(name)) body.get_object()[name] = text;
    }
    if (auto error = read_members(in, body, out, "")) return error;
  }
  for (std::size_t i = 0; i < in.members.size(); ++i) {
    const auto& [cpp_name, type, at] = in.members[i];
    const auto& name = in.names[i];
    auto* member = const_cast<void*>(at(out));
    if (type->read_text != nullptr) {
      if (const auto found = request.parameters.find(name); found != request.parameters.end()) {
        if (auto error = type->read_text(std::span(&found->second, 1), member, name)) return error;
        continue;
      }
      if (!has_body) {
        if (const auto& values = request.query.all(name); !values.empty()) {
          if (auto error = type->read_text(std::span<const std::string>(values), member, name)) return error;
          continue;
        }
      }
    }
    if (!read_from_body && in.required != nullptr && in.required(cpp_name))
      return json::path_error(name, "is required");
  }
  return std::nullopt;
}

Router::Router(std::string title, std::string version, ParameterText parameter_text)
    : title_(std::move(title)), version_(std::move(version)), parameter_text_(parameter_text) {
  for (const auto* path : {"/api/v1/api.swagger.json", "/api/v1/openapi.json"})
    insert(
        Verb::Get, path, [this](Context context) { return serve_document(*this, std::move(context)); }, true);
}

void Router::describe_typed(const WireStruct& in, Verb verb, const std::string& path, const Doc& doc,
                            json::object reply, bool streams) {
  std::vector<Parameter> parameters;
  std::optional<json::object> body;
  const auto in_path = path_parameters(path);
  bool members_in_body = false;
  std::size_t bound = 0;
  for (std::size_t i = 0; i < in.members.size(); ++i) {
    const auto& name = in.names[i];
    const auto& type = *in.members[i].type;
    if (std::find(in_path.begin(), in_path.end(), name) != in_path.end()) {
      DET_ASSERT(type.read_text != nullptr);
      ++bound;
      parameters.push_back(Parameter{name, type.schema(schemas_), true});
    } else if (!has_body(verb, doc)) {
      DET_ASSERT(type.read_text != nullptr);
      const bool required = in.required != nullptr && in.required(in.members[i].name);
      parameters.push_back(Parameter{name, type.schema(schemas_), false, required});
    } else if (!doc.body_member.empty()) {
      if (camel_case(doc.body_member) == name) body = type.schema(schemas_);
    } else {
      members_in_body = true;
    }
  }
  DET_ASSERT(bound == in_path.size());  // every path parameter is a member of In
  if (members_in_body) body = schemas_.component(in);
  describe(verb, path, doc, std::move(parameters), std::move(body), std::move(reply), streams);
}

void Router::insert(Verb verb, const std::string& path, Serve serve, bool open) {
  table_.insert(verb, path, entries_.size());
  entries_.push_back(Entry{.serve = std::move(serve),
                           .open = open,
                           .path = path,
                           .operation = fmt::format("{} {}", verb_text(verb), document_path(path))});
}

void Router::add_raw(Verb verb, const std::string& path, RawHandler handler, json::object operation) {
  if (!operation.empty()) paths_[document_path(path)][lower_text(verb)] = std::move(operation);
  insert(
      verb, path,
      [handler = std::move(handler)](Context context) { return serve_raw(handler, std::move(context)); },
      true);
}

void Router::add_closed_raw(Verb verb, const std::string& path, ClosedRawHandler handler,
                            json::object operation) {
  if (!operation.empty()) paths_[document_path(path)][lower_text(verb)] = std::move(operation);
  insert(
      verb, path,
      [handler = std::move(handler)](Context context) {
        return serve_closed_raw(handler, std::move(context));
      },
      false);
}

asio::awaitable<Response> Router::handle(Request request) const {
  const auto begun = std::chrono::steady_clock::now();
  const auto lookup = table_.find(request.method, request.path);
  // Other verbs than those of routes have no name of their own: clients could think of any number.
  const std::string verb = lookup.match ? request.method : "other";
  std::string_view route;
  Response response;
  if (lookup.match) {
    const auto& entry = entries_[lookup.match->route];
    route = entry.path;
    request.parameters = lookup.match->parameters;
    response = co_await serve(entry, std::move(request));
  } else {
    response = no_such_route(request, lookup.allowed);
  }
  if (meter_) meter_(verb, route, response.status, std::chrono::steady_clock::now() - begun);
  co_return response;
}

asio::awaitable<Response> Router::serve(const Entry& entry, Request request) const {
  const auto shared = std::make_shared<const Request>(std::move(request));
  std::any principal;
  std::string about;
  std::optional<Error> failure;
  try {
    auto response = co_await serve(entry, shared, principal, about);
    if (observer_) {
      const Call call{entry.operation, *shared, principal, about, response.status};
      co_await observer_(call);
    }
    co_return response;
  } catch (const std::exception& thrown) {
    if (is_cancellation(thrown)) throw;
    failure = internal_error(*shared, thrown);
  }
  co_return error_response(*failure);
}

asio::awaitable<Response> Router::serve(const Entry& entry, std::shared_ptr<const Request> request,
                                        std::any& principal, std::string& about) const {
  if (!entry.open && authenticator_) {
    auto known = co_await authenticator_(*request);
    if (!known) co_return error_response(known.error());
    principal = *std::move(known);
    if (authorizer_) {
      auto allowed = co_await authorizer_(entry.operation, *request, principal);
      if (!allowed) co_return error_response(allowed.error());
      about = *std::move(allowed);
    }
  }
  Context context(std::move(request), principal);
  co_return co_await entry.serve(std::move(context));
}

std::vector<std::string> Router::closed_operations() const {
  std::vector<std::string> operations;
  for (const auto& entry : entries_)
    if (!entry.open) operations.push_back(entry.operation);
  return operations;
}

void Router::describe(Verb verb, const std::string& path, const Doc& doc, std::vector<Parameter> parameters,
                      std::optional<json::object> body, json::object reply, bool streams) {
  json::object operation;
  operation["operationId"] = operation_id(verb_text(verb), path);
  operation["summary"] = capitalized(doc.summary);
  if (!doc.tag.empty()) operation["tags"] = json::array{json::value(doc.tag)};
  json::array described;
  for (auto& parameter : parameters) {
    json::object entry{{"name", parameter.name}, {"in", parameter.in_path ? "path" : "query"}};
    if (parameter_text_ != nullptr)
      if (auto text = parameter_text_(path, parameter.name); !text.empty()) entry["description"] = text;
    if (parameter.in_path || parameter.required) entry["required"] = true;
    entry["schema"] = std::move(parameter.schema);
    described.push_back(std::move(entry));
  }
  if (!described.empty()) operation["parameters"] = std::move(described);
  if (body) {
    json::object media{{"schema", *std::move(body)}};
    operation["requestBody"] =
        json::object{{"content", json::object{{"application/json", std::move(media)}}}};
  }
  std::map<std::string, json::object> responses;
  if (streams) {
    responses["200"] =
        response_of("One such object per line, until the stream ends", std::move(reply), kLines);
  } else {
    responses["200"] = response_of("Done", std::move(reply));
  }
  const auto add_error = [&](ErrorCode code) {
    const auto status = status_of(code);
    auto& entry = responses[std::to_string(status.http)];
    if (entry.empty())
      entry = response_of(std::string(status.reason), {{"$ref", "#/components/schemas/Error"}});
    else
      entry["description"] =
          std::string(entry["description"].as_string()) + " or " + std::string(status.reason);
  };
  if (!parameters.empty() || operation.contains("requestBody")) add_error(ErrorCode::InvalidArgument);
  std::set<ErrorCode> errors(doc.errors.begin(), doc.errors.end());
  if (!doc.open) errors.insert({ErrorCode::Unauthenticated, ErrorCode::PermissionDenied});
  for (const auto code : errors) add_error(code);
  if (std::ranges::any_of(parameters, [](const Parameter& p) { return !p.in_path; }))
    responses["414"] = response_of("URI Too Long", {{"$ref", "#/components/schemas/Error"}});
  json::object all;
  for (auto& [status, response] : responses) all[status] = std::move(response);
  operation["responses"] = std::move(all);
  if (doc.open) operation["security"] = json::array{};
  paths_[document_path(path)][lower_text(verb)] = std::move(operation);
}

json::object Router::openapi() const {
  json::object paths;
  for (const auto& [path, operations] : paths_) paths[path] = operations;
  auto schemas = schemas_.components();
  const json::object integer{{"type", "integer"}};
  const json::object text{{"type", "string"}};
  json::object members{{"code", integer}, {"reason", text}, {"error", text}};
  json::object inner{{"type", "object"}, {"properties", std::move(members)}};
  schemas["Error"] =
      json::object{{"type", "object"}, {"properties", json::object{{"error", std::move(inner)}}}};
  json::object bearer{{"type", "http"}, {"scheme", "bearer"}};
  json::object cookie{{"type", "apiKey"}, {"in", "cookie"}, {"name", "auth"}};
  json::object out;
  out["openapi"] = "3.0.3";
  out["info"] = json::object{{"title", title_}, {"version", version_}};
  out["paths"] = std::move(paths);
  out["components"] = json::object{{"schemas", std::move(schemas)},
                                   {"securitySchemes", json::object{{"token", bearer}, {"cookie", cookie}}}};
  json::array either;
  either.push_back(json::object{{"token", json::array{}}});
  either.push_back(json::object{{"cookie", json::array{}}});
  out["security"] = std::move(either);
  return out;
}

}  // namespace det::http
