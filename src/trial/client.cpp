#include "det/trial/client.h"

#include <unistd.h>
#include <cmath>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "det/base/text.h"
#include "det/http/message.h"
#include "det/http/routing/status.h"

namespace det::trial {

namespace {

constexpr std::chrono::seconds kPreemptionPoll{60};
constexpr std::chrono::seconds kPollSlack{15};

Time now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

http::Call get(std::string path) {
  http::Call call;
  call.path = std::move(path);
  return call;
}

http::Call post_call(std::string path, const json::object& body) {
  http::Call call;
  call.method = "POST";
  call.path = std::move(path);
  call.body = json::serialize(body);
  return call;
}

ClientOptions completed(ClientOptions options) {
  if (!options.notice)
    options.notice = [](const std::string& text) { std::fprintf(stderr, "determined: %s\n", text.c_str()); };
  return options;
}

Result<config::Unit> unit_from(const std::string& name) {
  if (name.empty() || name == "batches" || name == "unitless") return config::Unit::Batches;
  if (name == "records") return config::Unit::Records;
  if (name == "epochs") return config::Unit::Epochs;
  return invalid_argument(
      "the master counts operations in \"{}\"; the unit must be batches, records or epochs", name);
}

struct OperationAnswer {
  std::int64_t length = 0;
  bool completed = false;
};
BOOST_DESCRIBE_STRUCT(OperationAnswer, (), (length, completed))
struct OperationsAnswer {
  std::vector<OperationAnswer> operations;
  bool closed = false;
  std::string unit;
};
BOOST_DESCRIBE_STRUCT(OperationsAnswer, (), (operations, closed, unit))
struct PreemptionAnswer {
  bool preempt = false;
  std::int64_t preemption = 0;  // which one
};
BOOST_DESCRIBE_STRUCT(PreemptionAnswer, (), (preempt, preemption))
struct WishAnswer {
  std::string wish;
};
BOOST_DESCRIBE_STRUCT(WishAnswer, (), (wish))
struct RendezvousAnswer {
  std::vector<std::string> addresses;
};
BOOST_DESCRIBE_STRUCT(RendezvousAnswer, (), (addresses))
struct MetricAnswer {
  double metric = 0;
};
BOOST_DESCRIBE_STRUCT(MetricAnswer, (), (metric))

template <typename Answer>
Result<Answer> read(const http::Reply& reply) {
  return json::parse(reply.body).and_then([](const json::value& value) {
    return json::from_json<Answer>(value);
  });
}

std::vector<http::Url> masters(const ClientOptions& options) {
  return options.all_masters.empty() ? std::vector{options.master} : options.all_masters;
}

}  // namespace

/// What exists only after the first call, in the process that made it.
struct Client::Threads {
  Threads(const ClientOptions& options)
      : process(::getpid()),
        polls(masters(options), options.token, options.retry, options.notice),
        watch(masters(options), options.token, options.retry, options.notice),
        reporter(std::make_unique<Line>(masters(options), options.token, options.retry, options.notice),
                 options.limits, options.notice, options.poll) {}

  ~Threads() {
    stop();
    if (watcher.joinable()) watcher.join();
  }

  /// Makes every call in progress return.
  void stop() {
    polls.hang_up();
    watch.hang_up();
    reporter.stop();
  }

  const pid_t process;
  std::mutex polling;  ///< for `polls`, which takes one call at a time
  Line polls;
  Line watch;
  std::atomic<bool> preempted = false;
  std::int64_t preemption = 0;  ///< which one; written before `preempted`
  Reporter reporter;
  std::thread watcher;
};

Client::Client(ClientOptions options)
    : options_(completed(std::move(options))),
      trial_path_(fmt::format("/api/v1/trials/{}", options_.trial)),
      allocation_path_("/api/v1/allocations/" + percent_encode(options_.allocation_id)) {}

Client::~Client() {
  abandon_in_fork();
  if (threads_) threads_->stop();
}

void Client::abandon_in_fork() {
  // The threads of a parent do not exist in a fork: nothing can be joined there.
  if (threads_ && threads_->process != ::getpid())
    static_cast<void>(new std::shared_ptr<Threads>(std::move(threads_)));
}

Result<std::shared_ptr<Client::Threads>> Client::threads() {
  const std::lock_guard lock(mutex_);
  if (closed_) return failed_precondition("the connection to the master is closed");
  if (!threads_) {
    threads_ = std::make_shared<Threads>(options_);
    start_watching(*threads_);
  }
  if (threads_->process != ::getpid())
    return failed_precondition(
        "the connection to the master belongs to process {}, the parent of this one; a forked process needs "
        "its own connection",
        threads_->process);
  if (auto failure = threads_->reporter.failure()) return tl::unexpected(*std::move(failure));
  return threads_;
}

Result<http::Reply> Client::send(http::Call call) {
  DET_TRY(const auto own, threads());
  return own->reporter.send(std::move(call));
}

Result<void> Client::post(const std::string& path, const json::object& body) {
  return send(post_call(path, body)).map([](const auto&) {});
}

Result<void> Client::enqueue(Reporter::Kind kind, const std::string& path, const json::object& body) {
  DET_TRY(const auto own, threads());
  return own->reporter.enqueue(kind, post_call(path, body));
}

Result<Operations> Client::operations(std::int64_t known, std::chrono::milliseconds timeout) {
  DET_TRY(const auto own, threads());
  if (own->preempted) {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  auto call = get(fmt::format("{}/searcher/operation?known={}&timeout_seconds={:.3f}", trial_path_, known,
                              static_cast<double>(timeout.count()) / 1000));
  call.timeout = timeout + kPollSlack;
  const std::lock_guard one_at_a_time(own->polling);
  const auto reply = own->polls.call(call, options_.poll);
  if (reply) return read_operations(reply->body);
  if (auto failure = own->reporter.failure()) return tl::unexpected(*std::move(failure));
  if (own->preempted) {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  if (reply.error().code() == ErrorCode::Gone) own->reporter.fail_all(reply.error());
  return tl::unexpected(reply.error());
}

Result<Operations> Client::read_operations(const std::string& body) {
  DET_TRY(const auto parsed, json::parse(body));
  DET_TRY(const auto answer, json::from_json<OperationsAnswer>(parsed));
  DET_TRY(const auto unit, unit_from(answer.unit));
  if (unit != config::Unit::Batches && options_.global_batch_size < 1)
    return invalid_argument(
        "hyperparameters.global_batch_size is {1}; it must be at least 1, because the searcher counts in {0}",
        answer.unit, options_.global_batch_size);
  if (unit == config::Unit::Epochs && options_.records_per_epoch < 1)
    return invalid_argument(
        "records_per_epoch is {}; it must be at least 1, because the searcher counts in epochs",
        options_.records_per_epoch);
  const Units units{unit, options_.global_batch_size, options_.records_per_epoch};
  Operations operations{.closed = answer.closed};
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < answer.operations.size(); ++i) {
    const auto& operation = answer.operations[i];
    const auto batches = units.batches(operation.length);
    if (i >= known_.size()) known_.push_back({.length = operation.length, .batches = batches});
    operations.lengths.push_back(batches);
    operations.completed += operation.completed ? 1 : 0;
  }
  latest_ = operations;
  return operations;
}

Result<void> Client::complete_operation(std::int64_t length, double metric) {
  if (std::isnan(metric))
    return invalid_argument("the searcher metric is NaN after batch {}; it must be a number", length);
  // Two operations can round to the same batches; the first not completed is meant.
  auto counted = length;
  std::size_t which = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; which < known_.size(); ++which) {
      if (known_[which].batches != length) continue;
      counted = known_[which].length;
      if (!known_[which].completed) break;
    }
  }
  json::object body;
  body["op"] = {{"validateAfter", {{"length", std::to_string(counted)}}}};
  body["searcherMetric"] = json::from_double(metric);
  auto answered = post(trial_path_ + "/searcher/completed_operation", body);
  const std::lock_guard lock(mutex_);
  if (answered && which < known_.size()) known_[which].completed = true;
  return answered;
}

json::object Client::metrics_body(const char* group, std::int64_t batches, json::object metrics) const {
  json::object report;
  report["trialId"] = options_.trial.value();
  report["trialRunId"] = options_.run;
  report["stepsCompleted"] = batches;
  report["reportTime"] = to_rfc3339(now());
  report["metrics"] = std::move(metrics);
  json::object body;
  body["group"] = group;
  body["metrics"] = std::move(report);
  return body;
}

Result<void> Client::report_training(std::int64_t batches, json::object average, json::array each_batch,
                                     std::int64_t records) {
  json::object metrics;
  metrics["avgMetrics"] = std::move(average);
  if (!each_batch.empty()) metrics["batchMetrics"] = std::move(each_batch);
  if (records > 0) metrics["numInputs"] = records;
  return enqueue(Reporter::Kind::Report, trial_path_ + "/metrics",
                 metrics_body("training", batches, std::move(metrics)));
}

Result<void> Client::report_validation(std::int64_t batches, json::object average, std::int64_t records) {
  json::object metrics;
  metrics["avgMetrics"] = std::move(average);
  if (records > 0) metrics["numInputs"] = records;
  return post(trial_path_ + "/metrics", metrics_body("validation", batches, std::move(metrics)));
}

Result<void> Client::report_progress(double fraction) {
  DET_TRY([[maybe_unused]] const auto own, threads());
  {
    const auto time = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (fraction < 1 && time - progress_sent_ < options_.progress_interval) return {};
    progress_sent_ = time;
  }
  json::object body;
  body["progress"] = json::from_double(fraction);
  body["is_raw"] = true;
  return enqueue(Reporter::Kind::Progress, trial_path_ + "/progress", body);
}

Result<void> Client::report_state(const std::string& state) {
  json::object body;
  body["state"] = state;
  return enqueue(Reporter::Kind::State, trial_path_ + "/runner/metadata", body);
}

Result<void> Client::report_environment(int rank, json::object environment) {
  json::object body;
  body["rank"] = rank;
  body["environment"] = std::move(environment);
  return enqueue(Reporter::Kind::Environment, trial_path_ + "/environment", body);
}

Result<void> Client::begin_checkpoint(const std::string& uuid) {
  json::object body;
  body["uuid"] = uuid;
  auto answered = post(trial_path_ + "/checkpoints/begin", body);
  if (!answered && answered.error().code() == ErrorCode::Unimplemented) return {};  // an older master
  return answered;
}

Result<void> Client::report_checkpoint(const std::string& uuid, std::int64_t batches,
                                       const std::map<std::string, std::int64_t>& resources,
                                       json::object metadata) {
  json::object sizes;
  for (const auto& [name, bytes] : resources) sizes[name] = std::to_string(bytes);
  metadata["steps_completed"] = batches;
  json::object body;
  body["uuid"] = uuid;
  body["taskId"] = options_.task_id;
  body["allocationId"] = options_.allocation_id;
  body["reportTime"] = to_rfc3339(now());
  body["resources"] = std::move(sizes);
  body["metadata"] = std::move(metadata);
  body["state"] = "STATE_COMPLETED";
  return post("/api/v1/checkpoints", body);
}

Result<void> Client::report_early_exit(const std::string& reason, const std::string& message) {
  json::object body;
  body["reason"] = reason;
  if (!message.empty()) body["message"] = message;
  return post(trial_path_ + "/early_exit", body);
}

Result<bool> Client::preempt_requested() {
  DET_TRY(const auto own, threads());
  return own->preempted.load();
}

Result<void> Client::acknowledge_preemption(bool can_wait) {
  json::object body;
  if (can_wait) {
    DET_TRY(const auto own, threads());
    body["canWait"] = true;
    body["preemption"] = own->preempted ? own->preemption : 0;
  }
  return post(allocation_path_ + "/signals/ack_preemption", body);
}

Result<Client::Wish> Client::wish(std::chrono::milliseconds timeout) {
  DET_TRY(const auto own, threads());
  auto call = get(fmt::format("{}/signals/wish?preemption={}&timeout_seconds={:.3f}", allocation_path_,
                              own->preemption, static_cast<double>(timeout.count()) / 1000));
  call.timeout = timeout + kPollSlack;
  const auto reply = own->watch.call(call, options_.poll);  // The watcher has seen what it watched for.
  if (!reply) {
    const auto code = reply.error().code();  // an older master has no such wishes
    if (code == ErrorCode::NotFound || code == ErrorCode::Unimplemented) return Wish::Leave;
    if (reply.error().code() == ErrorCode::Gone) own->reporter.fail_all(reply.error());
    return tl::unexpected(reply.error());
  }
  DET_TRY(const auto answer, read<WishAnswer>(*reply));
  if (answer.wish == "WAIT") return Wish::Wait;
  if (answer.wish == "LEAVE") return Wish::Leave;
  if (answer.wish != "GO_ON")
    return invalid_argument("the master sent the unknown request \"{}\"; is it of another version?",
                            answer.wish);
  const std::lock_guard lock(mutex_);
  own->watcher.join();
  own->preempted = false;
  own->polls.pick_up();
  start_watching(*own);
  return Wish::GoOn;
}

void Client::start_watching(Threads& threads) {
  threads.watcher = quiet_thread([own = &threads, path = allocation_path_] { watch_preemption(*own, path); });
}

Result<std::optional<double>> Client::best_validation() {
  const auto reply = send(get(
      fmt::format("/api/v1/experiments/{}/searcher/best_searcher_validation_metric", options_.experiment)));
  if (!reply && reply.error().code() == ErrorCode::NotFound) return std::nullopt;
  if (!reply) return tl::unexpected(reply.error());
  DET_TRY(const auto answer, read<MetricAnswer>(*reply));
  return answer.metric;
}

Result<void> Client::publish_rendezvous(const std::vector<std::string>& addresses) {
  json::object body;
  body["addresses"] = json::array(addresses.begin(), addresses.end());
  return post(allocation_path_ + "/rendezvous", body);
}

Result<std::vector<std::string>> Client::rendezvous(std::chrono::milliseconds timeout) {
  auto call = get(fmt::format("{}/rendezvous?timeout_seconds={:.3f}", allocation_path_,
                              static_cast<double>(timeout.count()) / 1000));
  call.timeout = timeout + kPollSlack;
  DET_TRY(const auto reply, send(std::move(call)));
  DET_TRY(auto answer, read<RendezvousAnswer>(reply));
  return std::move(answer.addresses);
}

Result<void> Client::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (!threads_) return {};  // nothing was ever reported
  }
  DET_TRY(const auto own, threads());
  return own->reporter.flush();
}

Result<void> Client::close() {
  auto flushed = flush();
  std::shared_ptr<Threads> ending;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    abandon_in_fork();
    ending = std::move(threads_);
  }
  if (ending) ending->stop();
  return flushed;
}

void Client::watch_preemption(Threads& own, const std::string& allocation_path) {
  auto call = get(fmt::format("{}/signals/preemption?strict=true&timeout_seconds={}", allocation_path,
                              kPreemptionPoll.count()));
  call.timeout = kPreemptionPoll + kPollSlack;
  while (true) {
    const auto reply = own.watch.call(call);
    if (!reply && reply.error().code() == ErrorCode::Gone) {
      own.reporter.fail_all(reply.error());
      own.polls.hang_up();
      return;
    }
    if (!reply && reply.error().code() == ErrorCode::Unavailable) return;  // hung up
    const auto answer = reply ? read<PreemptionAnswer>(*reply) : tl::unexpected(reply.error());
    if (!answer) {
      own.reporter.fail_all(answer.error());
      own.polls.hang_up();
      return;
    }
    if (answer->preempt) {
      own.preemption = answer->preemption;
      own.preempted = true;
      own.polls.hang_up();
      return;
    }
  }
}

}  // namespace det::trial
