// What MLflow's clients log in a run.

#include "det/master/mlflow/call.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master::mlflow {
namespace {

using enum access::Permission;
using http::Verb;

constexpr std::size_t kValueBytesMax = 8000;

Result<Metric> read_metric(const json::object& in, std::int64_t now) {
  Metric metric{.key = json::text_member(in, "key"), .timestamp = now};
  if (metric.key.empty()) return invalid_argument("key is missing; it must be the name of the metric");
  const auto* value = in.if_contains("value");
  const auto number = value == nullptr ? std::nullopt : json::to_double(*value);
  if (!number)
    return invalid_argument("value of metric '{}' is {}; it must be a number", metric.key,
                            value == nullptr ? "missing" : json::serialize(*value));
  metric.value = *number;
  if (const auto* at = in.if_contains("timestamp")) metric.timestamp = json::to_int64(*at).value_or(now);
  if (const auto* step = in.if_contains("step")) metric.step = json::to_int64(*step).value_or(0);
  return metric;
}

Result<void> check_word(const std::string& key, const std::string& value) {
  if (key.empty()) return invalid_argument("key is missing; it must be a name");
  if (value.size() > kValueBytesMax)
    return invalid_argument("the value of '{}' has {} bytes; at most {} are allowed", key, value.size(),
                            kValueBytesMax);
  return {};
}

/// The trial shows the params as hyperparameters.
asio::awaitable<Result<void>> add_params(const Call& call, Run& run, Words params) {
  for (const auto& [key, value] : params) {
    if (const auto fine = check_word(key, value); !fine) co_return tl::unexpected(fine.error());
    const auto known = run.doc.params.find(key);
    if (known != run.doc.params.end() && known->second != value)
      co_return invalid_argument(
          "Changing param values is not allowed. Param with key='{}' was already logged with value='{}' for "
          "run "
          "ID='{}'. Attempted logging new value '{}'.",
          key, known->second, run.doc.run_id, value);
  }
  const auto before = run.doc.params.size();
  run.doc.params.merge(params);
  if (run.doc.params.size() == before) co_return Result<void>{};
  json::object hparams;
  for (const auto& [key, value] : run.doc.params) hparams[key] = value;
  co_return co_await call.s.unmanaged.set_hparams(run.trial, std::move(hparams));
}

Result<void> set_tag(Run& run, const std::string& key, const std::string& value) {
  DET_TRY(const auto fine, check_word(key, value).map([] { return true; }));
  (void)fine;
  run.doc.tags[key] = value;
  if (key == "mlflow.runName") run.doc.name = value;
  return {};
}

asio::awaitable<Result<json::object>> log_metric(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  DET_CO_TRY(auto metric, read_metric(call.in, now_of(call.s)));
  std::vector<Metric> one = {std::move(metric)};
  const auto done = co_await call.book.log(**run, std::move(one));
  if (!done) co_return tl::unexpected(done.error());
  co_return json::object();
}

asio::awaitable<Result<json::object>> log_batch(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  std::vector<Metric> metrics;
  for (const auto& item : call.items("metrics")) {
    if (!item.is_object()) co_return invalid_argument("metrics has an item that is no object");
    DET_CO_TRY(auto metric, read_metric(item.get_object(), now_of(call.s)));
    metrics.push_back(std::move(metric));
  }
  Words params;
  for (const auto& item : call.items("params"))
    if (item.is_object())
      params[json::text_member(item.get_object(), "key")] = json::text_member(item.get_object(), "value");
  const auto added = co_await add_params(call, **run, std::move(params));
  if (!added) co_return tl::unexpected(added.error());
  for (const auto& item : call.items("tags"))
    if (item.is_object()) {
      const auto key = json::text_member(item.get_object(), "key");
      const auto set = set_tag(**run, key, json::text_member(item.get_object(), "value"));
      if (!set) co_return tl::unexpected(set.error());
    }
  const auto done = co_await call.book.log(**run, std::move(metrics));  // which saves the rest, too
  if (!done) co_return tl::unexpected(done.error());
  co_return json::object();
}

asio::awaitable<Result<json::object>> log_param(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  Words params{{call.text("key"), call.text("value")}};
  const auto added = co_await add_params(call, **run, std::move(params));
  if (!added) co_return tl::unexpected(added.error());
  co_await call.book.save(**run);
  co_return json::object();
}

asio::awaitable<Result<json::object>> set_run_tag(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  const auto set = set_tag(**run, call.text("key"), call.text("value"));
  if (!set) co_return tl::unexpected(set.error());
  co_await call.book.save(**run);
  co_return json::object();
}

asio::awaitable<Result<json::object>> delete_run_tag(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  const auto key = call.text("key");
  if ((*run)->doc.tags.erase(key) == 0)
    co_return not_found("No tag with name: {} in run with id {}", key, (*run)->doc.run_id);
  co_await call.book.save(**run);
  co_return json::object();
}

asio::awaitable<Result<json::object>> get_history(Call call) {
  const auto run = co_await run_of(call, ViewExperimentMetadata);
  if (!run) co_return tl::unexpected(run.error());
  DET_CO_TRY(const auto key, call.required("metric_key"));
  const auto all = co_await call.book.history(**run, key);
  const auto size = static_cast<std::int64_t>(all.size());
  const auto begin = std::clamp<std::int64_t>(call.number("page_token", 0), 0, size);
  const auto wanted = call.number("max_results", 0);
  const auto end = wanted <= 0 ? size : std::min(size, begin + wanted);
  json::array metrics;
  for (auto i = begin; i < end; ++i) metrics.push_back(to_object(all[static_cast<std::size_t>(i)]));
  json::object reply{{"metrics", std::move(metrics)}};
  if (end < size) reply["next_page_token"] = std::to_string(end);
  co_return reply;
}

/// The flavors of a model in the form before logged models: a list in a tag.
asio::awaitable<Result<json::object>> log_model(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  const auto model = json::parse(call.text("model_json"));
  if (!model || !model->is_object())
    co_return invalid_argument("model_json is not a JSON object; it must describe the model");
  auto& tag = (*run)->doc.tags["mlflow.log-model.history"];
  const auto known = json::parse(tag.empty() ? "[]" : tag);
  auto history = known && known->is_array() ? known->get_array() : json::array();
  history.push_back(*model);
  tag = json::serialize(history);
  co_await call.book.save(**run);
  co_return json::object();
}

asio::awaitable<Result<json::object>> log_inputs(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  for (const auto& item : call.items("datasets")) (*run)->doc.inputs.push_back(item);
  co_await call.book.save(**run);
  co_return json::object();
}

asio::awaitable<Result<json::object>> log_outputs(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  for (const auto& item : call.items("models")) (*run)->doc.outputs.push_back(item);
  co_await call.book.save(**run);
  co_return json::object();
}

}  // namespace

void add_log_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book) {
  add_call(router, s, book, Verb::Post, "runs/log-metric", log_metric);
  add_call(router, s, book, Verb::Post, "runs/log-batch", log_batch);
  add_call(router, s, book, Verb::Post, "runs/log-parameter", log_param);
  add_call(router, s, book, Verb::Post, "runs/set-tag", set_run_tag);
  add_call(router, s, book, Verb::Post, "runs/delete-tag", delete_run_tag);
  add_call(router, s, book, Verb::Post, "runs/log-model", log_model);
  add_call(router, s, book, Verb::Post, "runs/log-inputs", log_inputs);
  add_call(router, s, book, Verb::Post, "runs/outputs", log_outputs);
  add_call(router, s, book, Verb::Get, "metrics/get-history", get_history);
}

}  // namespace det::master::mlflow
