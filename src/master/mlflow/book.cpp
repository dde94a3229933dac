#include "det/master/mlflow/book.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <tuple>

#include "det/checkpoint/scratch.h"
#include "det/master/administration/kept_setting.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master::mlflow {
namespace {

std::string experiment_key(ExperimentId id) {
  return fmt::format("mlflow.experiment/{}", id);
}
std::string model_key(const std::string& id) {
  return "mlflow.model/" + id;
}

template <class T>
asio::awaitable<void> put_setting(Services& s, std::string key, const T& doc) {
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{std::move(key), json::serialize(json::to_json(doc))});
  co_await s.ledger.write(std::move(changes));
}

bool is_later(const Latest& a, const Latest& b) {
  return std::tuple(a.step, a.timestamp, a.value) > std::tuple(b.step, b.timestamp, b.value);
}

}  // namespace

Book::Book(Services& s) : s_(s), storages_(std::make_shared<ExperimentStorages>(s.store)) {
  for (const auto& [id, name] : s.unmanaged.names()) {
    if (!name.starts_with(Unmanaged::kMlflow)) continue;
    auto doc = kept_setting<ExperimentDoc>(s.store, experiment_key(id));
    if (!doc) continue;
    for (const auto& model : doc->models)
      if (auto known = kept_setting<ModelDoc>(s.store, model_key(std::string(model.as_string()))))
        add(*std::move(known));
    experiments_[id] = {id, *std::move(doc)};
  }
  for (const auto& [names, trial] : s.unmanaged.named_trials()) {
    if (!experiments_.contains(names.first)) continue;
    const auto metadata = s.store.trial_metadata(trial);
    const auto* kept = metadata ? metadata->if_contains("mlflow") : nullptr;
    if (kept == nullptr) continue;
    if (auto doc = json::from_json<RunDoc>(*kept)) add(trial, names.first, *std::move(doc));
  }
}

bool Book::is_there(ExperimentId id) const {
  const auto name = s_.unmanaged.name_of(id);
  return !name.empty() && s_.unmanaged.named(name) == id;
}

Experiment* Book::experiment(const std::string& id) {
  std::int64_t number = 0;
  const auto* end = id.data() + id.size();
  if (std::from_chars(id.data(), end, number).ptr != end) return nullptr;
  if (number == 0) return named("Default");
  const auto found = experiments_.find(ExperimentId(number));
  return found == experiments_.end() || !is_there(found->first) ? nullptr : &found->second;
}

Experiment* Book::named(const std::string& name) {
  for (auto* one : experiments())
    if (one->doc.name == name) return one;
  return nullptr;
}

Run* Book::run(const std::string& id) {
  const auto found = runs_.find(id);
  return found == runs_.end() || !is_there(found->second.experiment) ? nullptr : &found->second;
}

ModelDoc* Book::model(const std::string& id) {
  const auto found = models_.find(id);
  return found == models_.end() || found->second.deleted ? nullptr : &found->second;
}

std::vector<Experiment*> Book::experiments() {
  std::vector<Experiment*> all;
  for (auto& [id, one] : experiments_)
    if (is_there(id)) all.push_back(&one);
  return all;
}

std::vector<Run*> Book::runs(ExperimentId experiment) {
  std::vector<Run*> all;
  for (auto& [id, one] : runs_)
    if (one.experiment == experiment) all.push_back(&one);
  return all;
}

Experiment* Book::add(ExperimentId id, ExperimentDoc doc) {
  return &(experiments_[id] = {id, std::move(doc)});
}
Run* Book::add(TrialId trial, ExperimentId experiment, RunDoc doc) {
  auto id = doc.run_id;
  return &(runs_[std::move(id)] = {trial, experiment, std::move(doc)});
}
ModelDoc* Book::add(ModelDoc doc) {
  auto id = doc.model_id;
  return &(models_[std::move(id)] = std::move(doc));
}

asio::awaitable<void> Book::save(const Experiment& experiment) {
  co_await put_setting(s_, experiment_key(experiment.id), experiment.doc);
}
asio::awaitable<void> Book::save(const ModelDoc& model) {
  co_await put_setting(s_, model_key(model.model_id), model);
}
asio::awaitable<void> Book::save(const Run& run) {
  std::vector<store::Change> changes;
  json::object metadata{{"mlflow", json::to_json(run.doc)}};
  changes.push_back(store::SetTrialMetadata{run.trial, std::move(metadata)});
  co_await s_.ledger.write(std::move(changes));
}

asio::awaitable<Result<void>> Book::report(TrialId trial, std::string group, std::int64_t batches,
                                           json::object values, std::int64_t timestamp) {
  experiment::MetricRecord record{.trial_id = trial, .group = std::move(group), .batches = batches};
  record.avg_metrics = std::move(values);
  record.report_time = Time{timestamp * 1000};
  co_return co_await s_.unmanaged.report(std::move(record));
}

asio::awaitable<Result<void>> Book::log(Run& run, std::vector<Metric> metrics) {
  if (s_.store.overloaded())
    co_return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
  const auto turn = co_await logs_.take(run.trial);
  for (const auto& metric : metrics) {
    bool fits = metric.step >= 0;
    if (fits) {
      json::object values{{metric.key, json::from_double(metric.value)}};
      auto done = co_await report(run.trial, "training", metric.step, std::move(values), metric.timestamp);
      fits = done.has_value();
      // It says something else than an earlier report of that step.
      const bool contradicts = !done && (done.error().code() == ErrorCode::AlreadyExists ||
                                         done.error().code() == ErrorCode::InvalidArgument);
      if (!done && !contradicts) co_return tl::unexpected(done.error());
    }
    if (!fits) {
      json::object values{{"key", metric.key},
                          {"value", json::from_double(metric.value)},
                          {"step", metric.step},
                          {"timestamp", metric.timestamp}};
      const auto place = run.doc.repeats++;
      auto done = co_await report(run.trial, kRepeats, place, std::move(values), metric.timestamp);
      if (!done) co_return tl::unexpected(done.error());
    }
    const Latest told{metric.value, metric.timestamp, metric.step};
    const auto [at, fresh] = run.doc.metrics.emplace(metric.key, told);
    if (!fresh && is_later(told, at->second)) at->second = told;
  }
  co_await save(run);
  co_return Result<void>{};
}

asio::awaitable<std::vector<Metric>> Book::history(const Run& run, const std::string& key) {
  auto read = [this, trial = run.trial] {
    return std::pair(s_.store.metrics({.trial = trial, .group = "training"}),
                     s_.store.metrics({.trial = trial, .group = kRepeats}));
  };
  const auto [curves, repeats] = co_await offload(s_, std::move(read));
  std::vector<Metric> all;
  for (const auto& record : curves) {
    const auto* value = record.avg_metrics.if_contains(key);
    const auto number = value == nullptr ? std::nullopt : json::to_double(*value);
    if (number) all.push_back({key, *number, record.report_time.microseconds / 1000, record.batches});
  }
  for (const auto& record : repeats) {
    const auto& values = record.avg_metrics;
    if (json::text_member(values, "key") != key) continue;
    all.push_back({key, json::to_double(values.at("value")).value_or(0),
                   json::to_int64(values.at("timestamp")).value_or(0),
                   json::to_int64(values.at("step")).value_or(0)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Metric& a, const Metric& b) {
    return std::pair(a.timestamp, a.step) < std::pair(b.timestamp, b.step);
  });
  co_return all;
}

asio::awaitable<Result<Artifact>> Book::store_file(ExperimentId experiment, std::string name,
                                                   std::string content, std::optional<Artifact> before) {
  auto write = [storages = storages_, opening = opening_, experiment, name = std::move(name),
                content = std::move(content), before]() -> Result<Artifact> {
    checkpoint::Storage* storage = nullptr;
    {
      const std::lock_guard alone(*opening);
      DET_TRY(storage, storages->of(experiment));
    }
    if (storage == nullptr) return not_found("experiment '{}' not found", experiment);
    const Scratch draft("mlflow");
    std::ofstream out(draft.path() / name, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) return fail(ErrorCode::ResourceExhausted, "no space to store '{}'; free some and retry", name);
    Artifact made{checkpoint::new_uuid(), static_cast<std::int64_t>(content.size())};
    DET_TRY(const auto saved, storage->save(draft.path(), made.uuid));
    if (before)
      if (const auto gone = storage->remove(before->uuid); !gone) return tl::unexpected(gone.error());
    return made;
  };
  co_return co_await offload(s_, std::move(write));
}

asio::awaitable<Result<std::string>> Book::read_file(ExperimentId experiment, std::string uuid,
                                                     std::string name) {
  auto read = [storages = storages_, opening = opening_, experiment, uuid = std::move(uuid),
               name = std::move(name)]() -> Result<std::string> {
    checkpoint::Storage* storage = nullptr;
    {
      const std::lock_guard alone(*opening);
      DET_TRY(storage, storages->of(experiment));
    }
    if (storage == nullptr) return not_found("experiment '{}' not found", experiment);
    DET_TRY(const auto files, checkpoint::LocalFiles::of(*storage, uuid));
    std::ifstream in(files->path() / name, std::ios::binary);
    if (!in) return not_found("the file of '{}' is not in the checkpoint storage", name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  co_return co_await offload(s_, std::move(read));
}

asio::awaitable<Result<void>> Book::delete_file(ExperimentId experiment, std::string uuid) {
  auto remove = [storages = storages_, opening = opening_, experiment,
                 uuid = std::move(uuid)]() -> Result<void> {
    const std::lock_guard alone(*opening);
    return storages->delete_files(experiment, uuid);
  };
  co_return co_await offload(s_, std::move(remove));
}

}  // namespace det::master::mlflow
