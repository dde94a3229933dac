#include "det/master/mlflow/call.h"

#include <algorithm>

#include "det/http/routing/status.h"

namespace det::master::mlflow {
namespace {

std::string_view error_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "INVALID_PARAMETER_VALUE";
    case ErrorCode::Unauthenticated: return "UNAUTHENTICATED";
    case ErrorCode::NotFound: return "RESOURCE_DOES_NOT_EXIST";
    case ErrorCode::AlreadyExists: return "RESOURCE_ALREADY_EXISTS";
    case ErrorCode::FailedPrecondition: return "INVALID_STATE";
    case ErrorCode::PermissionDenied: return "PERMISSION_DENIED";
    case ErrorCode::ResourceExhausted: return "RESOURCE_LIMIT_EXCEEDED";
    case ErrorCode::Unimplemented: return "NOT_IMPLEMENTED";
    case ErrorCode::Unavailable: return "TEMPORARILY_UNAVAILABLE";
    default: return "INTERNAL_ERROR";
  }
}

std::string plain_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

asio::awaitable<http::Response> answer(Handler handler, Services& s, Book& book, http::Request request,
                                       std::any principal) {
  json::object in;
  if (!request.body.empty()) {
    auto parsed = json::parse(request.body);
    if (!parsed || !parsed->is_object()) {
      auto wrong = invalid_argument("the body is not a JSON object; send one");
      co_return refusal(wrong.value());
    }
    in = std::move(parsed->get_object());
  }
  if (const auto user = require_user(principal); !user) co_return refusal(user.error());
  auto shared = std::make_shared<const http::Request>(std::move(request));
  Call call{s, book, std::move(principal), std::move(shared), std::move(in)};
  auto done = co_await handler(std::move(call));
  if (!done) co_return refusal(done.error());
  co_await s.ledger.durable();
  co_return http::json_response(json::serialize(*done));
}

std::string artifact_uri(ExperimentId experiment, const std::string& below) {
  return fmt::format("mlflow-artifacts:/{}/{}/artifacts", experiment, below);
}

}  // namespace

std::string Call::text(std::string_view name) const {
  if (const auto* value = in.if_contains(name); value != nullptr && !value->is_null())
    return plain_text(*value);
  if (const auto* value = request->query.find(name)) return *value;
  const auto found = request->parameters.find(http::camel_case(name));
  return found == request->parameters.end() ? "" : found->second;
}

std::vector<std::string> Call::texts(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& value : items(name)) all.push_back(plain_text(value));
  if (all.empty()) all = request->query.all(name);
  return all;
}

std::int64_t Call::number(std::string_view name, std::int64_t otherwise) const {
  const auto given = text(name);
  return given.empty() ? otherwise : json::to_int64(json::value(given)).value_or(otherwise);
}

const json::array& Call::items(std::string_view name) const {
  static const json::array kNone;
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

Result<std::string> Call::required(std::string_view name) const {
  auto given = text(name);
  if (given.empty()) return invalid_argument("{} is missing; it is required", name);
  return given;
}

void add_call(http::Router& router, Services& s, const std::shared_ptr<Book>& book, http::Verb verb,
              const std::string& path, Handler handler) {
  router.add_closed_raw(verb, "/api/2.0/mlflow/" + path,
                        [&s, book, handler = std::move(handler)](http::Request request, std::any principal) {
                          return answer(handler, s, *book, std::move(request), std::move(principal));
                        });
}

http::Response refusal(const Error& error) {
  const json::object body{{"error_code", error_code(error.code())}, {"message", error.message()}};
  const auto status = http::error_response(error).status;
  return http::json_response(json::serialize(body), status == 409 ? 400 : status);
}

asio::awaitable<Result<Experiment*>> experiment_of(const Call& call, access::Permission permission) {
  DET_CO_TRY(const auto id, call.required("experiment_id"));
  auto* const found = call.book.experiment(id);
  if (found == nullptr) co_return not_found("No Experiment with id={} exists", id);
  json::value number = found->id.value();
  const auto allowed = co_await may(call.s, call.principal, permission, Kind::Experiment, std::move(number));
  if (!allowed) co_return tl::unexpected(allowed.error());
  co_return found;
}

asio::awaitable<Result<Run*>> run_of(const Call& call, access::Permission permission) {
  auto id = call.text("run_id");
  if (id.empty()) id = call.text("run_uuid");
  if (id.empty()) co_return invalid_argument("run_id is missing; it is required");
  auto* const found = call.book.run(id);
  if (found == nullptr) co_return not_found("Run with id={} not found", id);
  json::value number = found->experiment.value();
  const auto allowed = co_await may(call.s, call.principal, permission, Kind::Experiment, std::move(number));
  if (!allowed) co_return tl::unexpected(allowed.error());
  co_return found;
}

asio::awaitable<Result<ModelDoc*>> model_of(const Call& call, access::Permission permission) {
  DET_CO_TRY(const auto id, call.required("model_id"));
  auto* const found = call.book.model(id);
  if (found == nullptr) co_return not_found("Logged model with ID '{}' not found", id);
  json::value number = found->experiment;
  const auto allowed = co_await may(call.s, call.principal, permission, Kind::Experiment, std::move(number));
  if (!allowed) co_return tl::unexpected(allowed.error());
  co_return found;
}

std::int64_t now_of(const Services& s) {
  return s.ledger.now().microseconds / 1000;
}

std::string new_id() {
  auto text = checkpoint::new_uuid();
  std::erase(text, '-');
  return text;
}

json::array pairs_of(const Words& words) {
  json::array all;
  for (const auto& [key, value] : words) all.push_back(json::object{{"key", key}, {"value", value}});
  return all;
}

json::object to_object(const Metric& metric) {
  return {{"key", metric.key},
          {"value", json::from_double(metric.value)},
          {"timestamp", metric.timestamp},
          {"step", metric.step}};
}

json::object to_object(const Experiment& experiment) {
  const auto& doc = experiment.doc;
  return {{"experiment_id", std::to_string(experiment.id.value())},
          {"name", doc.name},
          {"artifact_location", fmt::format("mlflow-artifacts:/{}", experiment.id)},
          {"lifecycle_stage", doc.deleted ? "deleted" : "active"},
          {"creation_time", doc.created},
          {"last_update_time", doc.updated},
          {"tags", pairs_of(doc.tags)}};
}

json::object info_of(const Run& run) {
  const auto& doc = run.doc;
  json::object info{{"run_id", doc.run_id},
                    {"run_uuid", doc.run_id},
                    {"run_name", doc.name},
                    {"experiment_id", std::to_string(run.experiment.value())},
                    {"user_id", doc.user},
                    {"status", doc.status},
                    {"start_time", doc.start_time},
                    {"artifact_uri", artifact_uri(run.experiment, doc.run_id)},
                    {"lifecycle_stage", doc.deleted ? "deleted" : "active"}};
  if (doc.end_time != 0) info["end_time"] = doc.end_time;
  return info;
}

json::object to_object(const Run& run) {
  json::array metrics;
  for (const auto& [key, one] : run.doc.metrics)
    metrics.push_back(to_object(Metric{key, one.value, one.timestamp, one.step}));
  json::object data{{"metrics", std::move(metrics)},
                    {"params", pairs_of(run.doc.params)},
                    {"tags", pairs_of(run.doc.tags)}};
  json::object inputs{{"dataset_inputs", run.doc.inputs}};
  json::object outputs{{"model_outputs", run.doc.outputs}};
  return {{"info", info_of(run)},
          {"data", std::move(data)},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)}};
}

json::object to_object(const ModelDoc& model) {
  json::object info{
      {"model_id", model.model_id},
      {"experiment_id", std::to_string(model.experiment)},
      {"name", model.name},
      {"creation_timestamp_ms", model.created},
      {"last_updated_timestamp_ms", model.updated},
      {"artifact_uri", artifact_uri(ExperimentId(model.experiment), "models/" + model.model_id)},
      {"status", model.status},
      {"model_type", model.type},
      {"source_run_id", model.run_id},
      {"tags", pairs_of(model.tags)}};
  json::object data{{"params", pairs_of(model.params)}, {"metrics", json::array()}};
  return {{"info", std::move(info)}, {"data", std::move(data)}};
}

}  // namespace det::master::mlflow
