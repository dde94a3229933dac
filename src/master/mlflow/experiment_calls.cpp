// What MLflow's clients do with experiments. One of theirs is an unmanaged experiment of the platform.

#include <algorithm>

#include "det/master/experiments/experiment_patch.h"
#include "det/master/experiments/submit.h"
#include "det/master/mlflow/call.h"
#include "det/master/mlflow/search.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master::mlflow {
namespace {

using enum access::Permission;
using http::Verb;

constexpr std::int64_t kPageMax = 50'000;

asio::awaitable<Result<Experiment*>> make_experiment(const Call& call, std::string name, Words tags) {
  const auto turn = co_await call.book.creations.take();
  if (const auto* known = call.book.named(name)) {
    if (known->doc.deleted)
      co_return fail(ErrorCode::AlreadyExists,
                     "Experiment '{}' already exists in deleted state; restore it, or use another name",
                     name);
    co_return fail(ErrorCode::AlreadyExists, "Experiment '{}' already exists; use another name", name);
  }
  json::object config{{"name", name}};
  if (const auto* storage = call.s.defaults.if_contains("checkpoint_storage"))
    config["checkpoint_storage"] = *storage;
  SubmitRequest request{.config = json::serialize(config), .model_definition = {}, .parent_id = {}};
  request.unmanaged = true;
  request.external_experiment_id = Unmanaged::kMlflow + new_id();
  http::Context context(call.request, call.principal);
  const auto made = co_await create_unmanaged(call.s, std::move(context), std::move(request));
  if (!made) co_return tl::unexpected(made.error());
  const auto now = now_of(call.s);
  ExperimentDoc doc{.name = std::move(name), .created = now, .updated = now};
  doc.tags = std::move(tags);
  auto* const experiment = call.book.add(made->experiment.id, std::move(doc));
  co_await call.book.save(*experiment);
  co_return experiment;
}

Words words_of(const json::array& pairs) {
  Words words;
  for (const auto& pair : pairs)
    if (pair.is_object())
      words[json::text_member(pair.get_object(), "key")] = json::text_member(pair.get_object(), "value");
  return words;
}

asio::awaitable<Result<json::object>> create_experiment(Call call) {
  DET_CO_TRY(auto name, call.required("name"));
  auto tags = words_of(call.items("tags"));
  const auto made = co_await make_experiment(call, std::move(name), std::move(tags));
  if (!made) co_return tl::unexpected(made.error());
  co_return json::object{{"experiment_id", std::to_string((*made)->id.value())}};
}

asio::awaitable<Result<json::object>> get_experiment(Call call) {
  const auto found = co_await experiment_or_default(call, ViewExperimentMetadata);
  if (!found) co_return tl::unexpected(found.error());
  co_return json::object{{"experiment", to_object(**found)}};
}

asio::awaitable<Result<json::object>> get_by_name(Call call) {
  DET_CO_TRY(const auto name, call.required("experiment_name"));
  const auto* found = call.book.named(name);
  if (found == nullptr) co_return not_found("Could not find experiment with name '{}'", name);
  json::value id = found->id.value();
  const auto allowed =
      co_await may(call.s, call.principal, ViewExperimentMetadata, Kind::Experiment, std::move(id));
  if (!allowed) co_return tl::unexpected(allowed.error());
  co_return json::object{{"experiment", to_object(*found)}};
}

Subject subject_of(const Experiment& experiment) {
  Subject subject{.attributes = {{"name", experiment.doc.name},
                                 {"experiment_id", std::to_string(experiment.id.value())},
                                 {"creation_time", std::to_string(experiment.doc.created)},
                                 {"last_update_time", std::to_string(experiment.doc.updated)}}};
  subject.tags = &experiment.doc.tags;
  return subject;
}

asio::awaitable<Result<json::object>> search_experiments(Call call) {
  DET_CO_TRY(const auto filter, parse_filter(call.text("filter")));
  std::vector<Order> orders;
  for (const auto& text : call.texts("order_by")) {
    DET_CO_TRY(auto order, parse_order(text));
    orders.push_back(std::move(order));
  }
  if (orders.empty()) orders.push_back({Field::Attribute, "last_update_time", true});
  const auto view = call.text("view_type");
  std::vector<Experiment*> found;
  for (auto* one : call.book.experiments()) {
    if (view != "ALL" && one->doc.deleted != (view == "DELETED_ONLY")) continue;
    json::value id = one->id.value();
    const auto allowed =
        co_await may(call.s, call.principal, ViewExperimentMetadata, Kind::Experiment, std::move(id));
    if (allowed && matches(filter, subject_of(*one))) found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    return goes_before(orders, subject_of(*a), subject_of(*b));
  });
  const auto size = static_cast<std::int64_t>(found.size());
  const auto begin = std::clamp<std::int64_t>(call.number("page_token", 0), 0, size);
  const auto end =
      std::min(size, begin + std::clamp<std::int64_t>(call.number("max_results", 1000), 1, kPageMax));
  json::array experiments;
  for (auto i = begin; i < end; ++i) experiments.push_back(to_object(*found[static_cast<std::size_t>(i)]));
  json::object reply{{"experiments", std::move(experiments)}};
  if (end < size) reply["next_page_token"] = std::to_string(end);
  co_return reply;
}

asio::awaitable<Result<json::object>> set_deleted(Call call, bool deleted) {
  const auto found = co_await experiment_of(call, UpdateExperiment);
  if (!found) co_return tl::unexpected(found.error());
  (*found)->doc.deleted = deleted;
  (*found)->doc.updated = now_of(call.s);
  co_await call.book.save(**found);
  co_return json::object();
}

asio::awaitable<Result<json::object>> rename_experiment(Call call) {
  const auto found = co_await experiment_of(call, UpdateExperiment);
  if (!found) co_return tl::unexpected(found.error());
  DET_CO_TRY(const auto name, call.required("new_name"));
  const auto turn = co_await call.book.creations.take();
  if (const auto* known = call.book.named(name); known != nullptr && known != *found)
    co_return fail(ErrorCode::AlreadyExists, "Experiment '{}' already exists; use another name", name);
  ExperimentPatchRequest request{.id = (*found)->id, .name = name};
  const auto done = co_await patch_experiment(call.s, std::move(request), principal_name(call.principal));
  if (!done) co_return tl::unexpected(done.error());
  (*found)->doc.name = name;
  (*found)->doc.updated = now_of(call.s);
  co_await call.book.save(**found);
  co_return json::object();
}

asio::awaitable<Result<json::object>> change_tag(Call call, bool sets) {
  const auto found = co_await experiment_of(call, UpdateExperimentMetadata);
  if (!found) co_return tl::unexpected(found.error());
  DET_CO_TRY(const auto key, call.required("key"));
  if (sets)
    (*found)->doc.tags[key] = call.text("value");
  else
    (*found)->doc.tags.erase(key);
  (*found)->doc.updated = now_of(call.s);
  co_await call.book.save(**found);
  co_return json::object();
}

}  // namespace

asio::awaitable<Result<Experiment*>> experiment_or_default(const Call& call, access::Permission permission) {
  if (call.text("experiment_id") == "0" && call.book.named("Default") == nullptr) {
    Words none;
    const auto made = co_await make_experiment(call, "Default", std::move(none));
    if (!made && made.error().code() != ErrorCode::AlreadyExists) co_return tl::unexpected(made.error());
  }
  co_return co_await experiment_of(call, permission);
}

void add_experiment_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book) {
  add_call(router, s, book, Verb::Post, "experiments/create", create_experiment);
  add_call(router, s, book, Verb::Get, "experiments/get", get_experiment);
  add_call(router, s, book, Verb::Get, "experiments/get-by-name", get_by_name);
  add_call(router, s, book, Verb::Post, "experiments/search", search_experiments);
  add_call(router, s, book, Verb::Get, "experiments/search", search_experiments);
  add_call(router, s, book, Verb::Post, "experiments/delete",
           [](Call c) { return set_deleted(std::move(c), true); });
  add_call(router, s, book, Verb::Post, "experiments/restore",
           [](Call c) { return set_deleted(std::move(c), false); });
  add_call(router, s, book, Verb::Post, "experiments/update", rename_experiment);
  add_call(router, s, book, Verb::Post, "experiments/set-experiment-tag",
           [](Call c) { return change_tag(std::move(c), true); });
  add_call(router, s, book, Verb::Post, "experiments/delete-experiment-tag",
           [](Call c) { return change_tag(std::move(c), false); });
}

}  // namespace det::master::mlflow
