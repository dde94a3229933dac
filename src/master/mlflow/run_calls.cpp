// What MLflow's clients do with runs. One of theirs is a trial of an unmanaged experiment.

#include <algorithm>

#include "det/master/mlflow/call.h"
#include "det/master/mlflow/search.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master::mlflow {
namespace {

using enum access::Permission;
using http::Verb;

constexpr const char* kNameTag = "mlflow.runName";
constexpr std::int64_t kRunsMax = 50'000;

Result<experiment::State> state_of_status(const std::string& status) {
  using experiment::State;
  if (status == "RUNNING" || status == "SCHEDULED") return State::Active;
  if (status == "FINISHED") return State::Completed;
  if (status == "FAILED") return State::Error;
  if (status == "KILLED") return State::Canceled;
  return invalid_argument("status is '{}'; it must be RUNNING, SCHEDULED, FINISHED, FAILED or KILLED",
                          status);
}

asio::awaitable<Result<json::object>> create_run(Call call) {
  auto found = co_await experiment_or_default(call, UpdateExperiment);
  if (!found) co_return tl::unexpected(found.error());
  const auto experiment = (*found)->id;
  if ((*found)->doc.deleted)
    co_return invalid_argument("The experiment {} must be in the 'active' state; restore it first",
                               experiment);
  RunDoc doc{.run_id = new_id(), .name = call.text("run_name"), .user = call.text("user_id")};
  for (const auto& pair : call.items("tags"))
    if (pair.is_object())
      doc.tags[json::text_member(pair.get_object(), "key")] = json::text_member(pair.get_object(), "value");
  if (doc.name.empty()) doc.name = doc.tags[kNameTag];
  if (doc.name.empty()) doc.name = "run-" + doc.run_id.substr(0, 8);
  doc.tags[kNameTag] = doc.name;
  if (doc.user.empty())
    if (const auto user = require_user(call.principal)) doc.user = user->username;
  doc.start_time = call.number("start_time", now_of(call.s));
  json::object none;
  const auto trial = co_await call.s.unmanaged.create_trial(experiment, std::move(none), doc.run_id,
                                                            principal_name(call.principal));
  if (!trial) co_return tl::unexpected(trial.error());
  const auto started = co_await call.s.unmanaged.start(*trial, false);
  if (!started) co_return tl::unexpected(started.error());
  auto* const run = call.book.add(*trial, experiment, std::move(doc));
  co_await call.book.save(*run);
  co_return json::object{{"run", to_object(*run)}};
}

asio::awaitable<Result<json::object>> get_run(Call call) {
  const auto run = co_await run_of(call, ViewExperimentMetadata);
  if (!run) co_return tl::unexpected(run.error());
  co_return json::object{{"run", to_object(**run)}};
}

asio::awaitable<Result<json::object>> update_run(Call call) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  auto& doc = (*run)->doc;
  if (const auto status = call.text("status"); !status.empty()) {
    DET_CO_TRY(const auto state, state_of_status(status));
    std::string error = state == experiment::State::Error ? "its MLflow client reported FAILED" : "";
    const auto told = co_await call.s.unmanaged.heard((*run)->trial, state, std::move(error));
    if (!told) co_return tl::unexpected(told.error());
    doc.status = status;
    doc.end_time = state == experiment::State::Active ? 0 : call.number("end_time", now_of(call.s));
  } else if (call.in.contains("end_time")) {
    doc.end_time = call.number("end_time", doc.end_time);
  }
  if (const auto name = call.text("run_name"); !name.empty()) doc.tags[kNameTag] = doc.name = name;
  co_await call.book.save(**run);
  co_return json::object{{"run_info", info_of(**run)}};
}

asio::awaitable<Result<json::object>> set_run_deleted(Call call, bool deleted) {
  const auto run = co_await run_of(call, UpdateExperiment);
  if (!run) co_return tl::unexpected(run.error());
  (*run)->doc.deleted = deleted;
  co_await call.book.save(**run);
  co_return json::object();
}

Subject subject_of_run(const Run& run) {
  const auto& doc = run.doc;
  Subject subject{.attributes = {{"run_id", doc.run_id},
                                 {"run_name", doc.name},
                                 {"user_id", doc.user},
                                 {"status", doc.status},
                                 {"experiment_id", std::to_string(run.experiment.value())},
                                 {"artifact_uri", std::string(info_of(run).at("artifact_uri").as_string())},
                                 {"start_time", std::to_string(doc.start_time)}}};
  if (doc.end_time != 0) subject.attributes["end_time"] = std::to_string(doc.end_time);
  subject.params = &doc.params;
  subject.tags = &doc.tags;
  subject.metrics = &doc.metrics;
  return subject;
}

asio::awaitable<Result<json::object>> search_runs(Call call) {
  DET_CO_TRY(const auto filter, parse_filter(call.text("filter")));
  std::vector<Order> orders;
  for (const auto& text : call.texts("order_by")) {
    DET_CO_TRY(auto order, parse_order(text));
    orders.push_back(std::move(order));
  }
  orders.push_back({Field::Attribute, "start_time", true});
  orders.push_back({Field::Attribute, "run_id", false});
  const auto view = call.text("run_view_type");
  struct Found {
    const Run* run = nullptr;
    Subject subject;
  };
  std::vector<Found> found;
  for (const auto& id : call.texts("experiment_ids")) {
    const auto* experiment = call.book.experiment(id);
    if (experiment == nullptr) continue;
    json::value number = experiment->id.value();
    const auto allowed =
        co_await may(call.s, call.principal, ViewExperimentMetadata, Kind::Experiment, std::move(number));
    if (!allowed) continue;
    for (const auto* run : call.book.runs(experiment->id)) {
      if (view != "ALL" && run->doc.deleted != (view == "DELETED_ONLY")) continue;
      auto subject = subject_of_run(*run);
      if (matches(filter, subject)) found.push_back({run, std::move(subject)});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return goes_before(orders, a.subject, b.subject); });
  const auto size = static_cast<std::int64_t>(found.size());
  const auto begin = std::clamp<std::int64_t>(call.number("page_token", 0), 0, size);
  const auto end =
      std::min(size, begin + std::clamp<std::int64_t>(call.number("max_results", 1000), 1, kRunsMax));
  json::array runs;
  for (auto i = begin; i < end; ++i) runs.push_back(to_object(*found[static_cast<std::size_t>(i)].run));
  json::object reply{{"runs", std::move(runs)}};
  if (end < size) reply["next_page_token"] = std::to_string(end);
  co_return reply;
}

}  // namespace

void add_run_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book) {
  add_call(router, s, book, Verb::Post, "runs/create", create_run);
  add_call(router, s, book, Verb::Get, "runs/get", get_run);
  add_call(router, s, book, Verb::Post, "runs/update", update_run);
  add_call(router, s, book, Verb::Post, "runs/delete",
           [](Call c) { return set_run_deleted(std::move(c), true); });
  add_call(router, s, book, Verb::Post, "runs/restore",
           [](Call c) { return set_run_deleted(std::move(c), false); });
  add_call(router, s, book, Verb::Post, "runs/search", search_runs);
}

}  // namespace det::master::mlflow

namespace det::master {

void add_mlflow_routes(http::Router& router, Services& s) {
  const auto book = std::make_shared<mlflow::Book>(s);
  mlflow::add_experiment_calls(router, s, book);
  mlflow::add_run_calls(router, s, book);
  mlflow::add_log_calls(router, s, book);
  mlflow::add_model_calls(router, s, book);
  mlflow::add_artifact_calls(router, s, book);
}

}  // namespace det::master
