// Logged models of MLflow 3: what `mlflow.sklearn.log_model` and others describe before they upload files.

#include "det/master/mlflow/call.h"
#include "det/master/mlflow/search.h"

namespace det::master::mlflow {
namespace {

using enum access::Permission;
using http::Verb;

void merge_pairs(Words& words, const json::array& pairs) {
  for (const auto& pair : pairs)
    if (pair.is_object())
      words[json::text_member(pair.get_object(), "key")] = json::text_member(pair.get_object(), "value");
}

asio::awaitable<Result<json::object>> create_model(Call call) {
  const auto experiment = co_await experiment_or_default(call, UpdateExperiment);
  if (!experiment) co_return tl::unexpected(experiment.error());
  ModelDoc doc{.model_id = "m-" + new_id(), .name = call.text("name")};
  doc.type = call.text("model_type");
  doc.run_id = call.text("source_run_id");
  doc.experiment = (*experiment)->id.value();
  doc.created = doc.updated = now_of(call.s);
  if (doc.name.empty()) doc.name = doc.model_id;
  merge_pairs(doc.params, call.items("params"));
  merge_pairs(doc.tags, call.items("tags"));
  auto* const model = call.book.add(std::move(doc));
  (*experiment)->doc.models.push_back(json::value(model->model_id));
  co_await call.book.save(*model);
  co_await call.book.save(**experiment);
  co_return json::object{{"model", to_object(*model)}};
}

asio::awaitable<Result<json::object>> get_model(Call call) {
  const auto model = co_await model_of(call, ViewExperimentMetadata);
  if (!model) co_return tl::unexpected(model.error());
  co_return json::object{{"model", to_object(**model)}};
}

/// What all changes end with.
asio::awaitable<Result<json::object>> saved(const Call& call, ModelDoc& model) {
  model.updated = now_of(call.s);
  co_await call.book.save(model);
  co_return json::object{{"model", to_object(model)}};
}

asio::awaitable<Result<json::object>> finalize_model(Call call) {
  const auto model = co_await model_of(call, UpdateExperiment);
  if (!model) co_return tl::unexpected(model.error());
  const auto status = call.text("status");
  if (status != "LOGGED_MODEL_READY" && status != "LOGGED_MODEL_UPLOAD_FAILED")
    co_return invalid_argument("status is '{}'; it must be LOGGED_MODEL_READY or LOGGED_MODEL_UPLOAD_FAILED",
                               status);
  (*model)->status = status;
  co_return co_await saved(call, **model);
}

asio::awaitable<Result<json::object>> delete_model(Call call) {
  const auto model = co_await model_of(call, UpdateExperiment);
  if (!model) co_return tl::unexpected(model.error());
  (*model)->deleted = true;
  co_return co_await saved(call, **model);
}

asio::awaitable<Result<json::object>> add_model_params(Call call) {
  const auto model = co_await model_of(call, UpdateExperiment);
  if (!model) co_return tl::unexpected(model.error());
  merge_pairs((*model)->params, call.items("params"));
  co_return co_await saved(call, **model);
}

asio::awaitable<Result<json::object>> set_model_tags(Call call) {
  const auto model = co_await model_of(call, UpdateExperiment);
  if (!model) co_return tl::unexpected(model.error());
  merge_pairs((*model)->tags, call.items("tags"));
  co_return co_await saved(call, **model);
}

Subject subject_of_model(const ModelDoc& model) {
  Subject subject{.attributes = {{"model_id", model.model_id},
                                 {"name", model.name},
                                 {"model_type", model.type},
                                 {"source_run_id", model.run_id},
                                 {"status", model.status}}};
  subject.params = &model.params;
  subject.tags = &model.tags;
  return subject;
}

asio::awaitable<Result<json::object>> search_models(Call call) {
  DET_CO_TRY(const auto filter, parse_filter(call.text("filter")));
  json::array models;
  for (const auto& id : call.texts("experiment_ids")) {
    const auto* experiment = call.book.experiment(id);
    if (experiment == nullptr) continue;
    json::value number = experiment->id.value();
    const auto allowed =
        co_await may(call.s, call.principal, ViewExperimentMetadata, Kind::Experiment, std::move(number));
    if (!allowed) continue;
    for (const auto& model : experiment->doc.models)
      if (const auto* known = call.book.model(std::string(model.as_string()));
          known != nullptr && matches(filter, subject_of_model(*known)))
        models.push_back(to_object(*known));
  }
  co_return json::object{{"models", std::move(models)}};
}

}  // namespace

void add_model_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book) {
  add_call(router, s, book, Verb::Post, "logged-models", create_model);
  add_call(router, s, book, Verb::Post, "logged-models/search", search_models);
  add_call(router, s, book, Verb::Get, "logged-models/{modelId}", get_model);
  add_call(router, s, book, Verb::Patch, "logged-models/{modelId}", finalize_model);
  add_call(router, s, book, Verb::Delete, "logged-models/{modelId}", delete_model);
  add_call(router, s, book, Verb::Post, "logged-models/{modelId}/params", add_model_params);
  add_call(router, s, book, Verb::Patch, "logged-models/{modelId}/tags", set_model_tags);
}

}  // namespace det::master::mlflow
