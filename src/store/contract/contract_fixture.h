#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "det/store/postgres/postgres_server.h"
#include "det/store/postgres/postgres_store.h"
#include "det/store/sqlite/sqlite.h"
#include "det/store/sqlite/sqlite_store.h"

namespace det::store {

/// A directory that lives as long as the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "det-store-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A kind of database, and how to open the one of a directory.
struct Backend {
  const char* name;
  std::function<Result<std::unique_ptr<Store>>(const std::filesystem::path& directory,
                                               const WriterOptions& options)>
      open;
  /// To look at the rows themselves.
  std::function<std::unique_ptr<Connection>(const std::filesystem::path& directory)> connect;
  /// At the end.
  std::function<void(const std::filesystem::path& directory)> remove = nullptr;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

inline const Backend kSqlite{"sqlite",
                             [](const std::filesystem::path& directory, const WriterOptions& options) {
                               SqliteSettings settings{options};
                               settings.checkpoint_pages = 256;  // reserves little, checkpoints often
                               return open_sqlite(directory / "det.db", settings);
                             },
                             [](const std::filesystem::path& directory) {
                               return std::make_unique<SqliteConnection>(directory / "det.db",
                                                                         SqliteConnection::Mode::Write);
                             }};

inline const Backend kPostgres{
    "postgres",
    [](const std::filesystem::path& directory, const WriterOptions& options) {
      auto& server = PostgresServer::shared();
      // Tables are made once, and copied.
      static const bool made [[maybe_unused]] =
          open_postgres(server.database("contract"), {}, {.holder = "test"}).has_value();
      return open_postgres(server.database(directory.filename().string(), "contract"), options,
                           {.holder = "test", .on_wait = nullptr, .give_up = nullptr});
    },
    [](const std::filesystem::path& directory) {
      return std::make_unique<PostgresConnection>(PostgresServer::shared().url(directory.filename().string()),
                                                  PostgresConnection::Mode::Write);
    },
    [](const std::filesystem::path& directory) {
      PostgresServer::shared().drop(directory.filename().string());
    }};

/// Each of them must do the same.
inline const auto kBackends = testing::Values(kSqlite, kPostgres);

/// What every backend must do. `store` can be closed and opened again by `reopen`.
class StoreContract : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { reopen(); }
  void TearDown() override {
    store.reset();
    if (GetParam().remove) GetParam().remove(directory.path());
  }

  void reopen() {
    store.reset();
    auto opened = GetParam().open(directory.path(), {});
    ASSERT_TRUE(opened) << opened.error().message();
    store = *std::move(opened);
  }

  template <class... C>
  void commit(C... changes) {
    std::vector<Change> all;
    (all.emplace_back(std::move(changes)), ...);
    store->commit(std::move(all), [] {});
    store->flush();
  }

  std::unique_ptr<Connection> connect() { return GetParam().connect(directory.path()); }
  /// What the database says itself.
  std::int64_t count(const char* sql) {
    const auto connection = connect();
    Query query(*connection, sql);
    query.next();
    return query.get<std::int64_t>();
  }

  TemporaryDirectory directory;
  std::unique_ptr<Store> store;
};

/// Records that differ from the default in every member.
inline ExperimentRecord sample_experiment(std::int64_t id) {
  ExperimentRecord r;
  r.id = ExperimentId(id);
  r.state = experiment::State::Active;
  r.name = "mnist";
  r.description = "a description";
  r.notes = "# notes";
  r.labels = {"vision", "baseline"};
  r.config = json::parse(R"({"searcher":{"name":"single","metric":"loss","smaller_is_better":true},
                             "hyperparameters":{"lr":0.1}})")
                 ->get_object();
  r.original_config = "name: mnist\n";
  r.model_definition = "digest-1";
  r.model_definition_bytes = 919;
  r.owner = UserId(3);
  r.job_id = "job";
  r.resource_pool = "default";
  r.start_time = Time{1'700'000'000'123'456};
  r.end_time = Time{1'700'000'001'000'000};
  r.progress = 0.25;
  r.archived = true;
  r.forked_from = ExperimentId(1);
  r.error = "none";
  r.project_id = 7;
  r.git = {{"commit", "89ab"}, {"dirty", true}};
  return r;
}

inline TrialRecord sample_trial(std::int64_t id, std::int64_t experiment) {
  TrialRecord r;
  r.id = TrialId(id);
  r.experiment_id = ExperimentId(experiment);
  r.request_id = fmt::format("request-{}", id);
  r.task_id = fmt::format("{}.request-{}", experiment, id);
  r.hparams = {{"lr", 0.1}};
  r.seed = 42;
  r.restarts = 2;
  r.run_id = 3;
  r.batches = 100;
  r.latest_checkpoint = "checkpoint";
  r.warm_start_checkpoint = "warm";
  r.runner_state = "training";
  r.log_policy_matched = "CUDA OOM, ECC Error";
  r.best_metric = 0.5;
  r.error = "none";
  r.start_time = Time{10};
  r.end_time = Time{20};
  return r;
}

inline MetricRecord report(std::int64_t trial, std::int64_t run, std::string group, std::int64_t batches,
                           json::object metrics) {
  MetricRecord r;
  r.trial_id = TrialId(trial);
  r.run_id = run;
  r.group = std::move(group);
  r.batches = batches;
  r.avg_metrics = std::move(metrics);
  r.report_time = Time{batches};
  return r;
}

inline LogRecord line(std::string task, std::string text) {
  LogRecord r;
  r.task_id = std::move(task);
  r.source = "task";
  r.stdtype = "stdout";
  r.log = std::move(text);
  return r;
}

/// Equal in every member, NaN equal to NaN; the difference is shown as JSON.
template <class Record>
testing::AssertionResult same(const Record& a, const Record& b) {
  const auto x = json::to_json(a), y = json::to_json(b);
  if (same_document(x, y)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << json::serialize(x) << "\n  differs from\n" << json::serialize(y);
}

}  // namespace det::store
