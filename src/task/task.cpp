#include "det/task/task.h"

#include <algorithm>

namespace det::task {

const char* type_word(Type type) {
  switch (type) {
    case Type::Command: return "command";
    case Type::Shell: return "shell";
    case Type::Notebook: return "notebook";
    case Type::Tensorboard: return "tensorboard";
    case Type::Generic: return "generic task";
  }
  return "task";
}

const char* type_name(Type type) {
  return type == Type::Generic ? "generic" : type_word(type);
}

std::string duration_text(std::int64_t seconds) {
  if (seconds <= 0) return "0s";
  std::string text;
  if (const auto hours = seconds / 3600; hours > 0) text += fmt::format("{}h", hours);
  if (const auto minutes = seconds / 60 % 60; minutes > 0) text += fmt::format("{}m", minutes);
  if (const auto rest = seconds % 60; rest > 0) text += fmt::format("{}s", rest);
  return text;
}

std::string Task::allocation() const {
  return over() || record_.state == State::Paused || record_.run_id == 0
             ? ""
             : fmt::format("{}.{}", record_.id, record_.run_id);
}

Wish Task::submitted() {
  record_.state = State::Queued;
  record_.run_id = 1;
  return Wish::Start;
}

void Task::placed() {
  if (record_.state == State::Queued) record_.state = State::Starting;
}

namespace {

/// Whether it runs a program of its user, which does not say when it is idle.
bool has_own_program(const TaskRecord& record) {
  return record.type == Type::Command || record.type == Type::Generic;
}

bool has_proxy_ports(const json::object& config) {
  const auto* environment = config.if_contains("environment");
  const auto* ports = environment == nullptr || !environment->is_object()
                          ? nullptr
                          : environment->get_object().if_contains("proxy_ports");
  return ports != nullptr && ports->is_array() && !ports->get_array().empty();
}

}  // namespace

void Task::running(Time now) {
  if (record_.state != State::Starting) return;
  record_.state = State::Running;
  // Nobody has used its ports yet, and nobody but the master will say when somebody does.
  if (record_.idle_timeout_seconds && has_own_program(record_) && has_proxy_ports(record_.config))
    idle_since_ = now;
}

Wish Task::kill(std::string why, Time now) {
  if (over() || record_.state == State::Terminating) return Wish::Nothing;
  record_.killed = true;
  return stop(std::move(why), now);
}

Wish Task::stop(std::string why, Time now) {
  if (over() || record_.state == State::Terminating) return Wish::Nothing;
  if (record_.state == State::Paused) {
    record_.state = State::Terminated;
    record_.end_time = now;
    record_.exit_status = std::move(why);
    return Wish::Nothing;
  }
  stop_reason_ = std::move(why);
  record_.state = State::Terminating;
  return Wish::Stop;
}

Result<Wish> Task::pause() {
  const auto name = fmt::format("{} {}", type_word(record_.type), record_.id);
  if (record_.type != Type::Generic)
    return failed_precondition("{} cannot be paused; only generic tasks can", name);
  if (record_.no_pause)
    return failed_precondition("{} cannot be paused: it was created with noPause, or with pausable: false",
                               name);
  if (record_.state == State::Terminating) return failed_precondition("{} is ending", name);
  if (record_.state == State::Paused || record_.state == State::Pausing) return Wish::Nothing;
  const bool leaving = record_.state == State::Yielding;
  record_.state = State::Pausing;
  return leaving ? Wish::Nothing : Wish::GiveWay;
}

Result<Wish> Task::unpause() {
  if (record_.type != Type::Generic)
    return failed_precondition("{} {} cannot be paused and resumed; only generic tasks can",
                               type_word(record_.type), record_.id);
  if (record_.state == State::Terminating)
    return failed_precondition("{} {} is ending", type_word(record_.type), record_.id);
  if (record_.state == State::Paused) return run_again();
  if (record_.state == State::Pausing) record_.state = State::Yielding;
  return Wish::Nothing;
}

Wish Task::yield() {
  if (record_.state >= State::Terminating) return Wish::Nothing;
  record_.state = State::Yielding;
  return Wish::GiveWay;
}

Wish Task::run_again() {
  ++record_.run_id;
  record_.state = State::Queued;
  return Wish::Start;
}

Result<void> Task::ready(Address address) {
  if (address.port < 1 || address.port > 65535)
    return invalid_argument("port of {} {} is {}; it must be 1 to 65535", type_word(record_.type), record_.id,
                            address.port);
  if (address.ssh_port < 0 || address.ssh_port > 65535)
    return invalid_argument("SSH port of {} {} is {}; it must be 1 to 65535, or 0 for none",
                            type_word(record_.type), record_.id, address.ssh_port);
  if (record_.state != State::Starting && record_.state != State::Running)
    return failed_precondition("{} {} is not running", type_word(record_.type), record_.id);
  record_.address = std::move(address);
  return {};
}

void Task::report_idle(std::optional<Time> since, Time now) {
  idle_since_ = since ? std::optional(std::min(*since, now)) : std::nullopt;
}

bool Task::idle_for_too_long(Time now) const {
  return record_.idle_timeout_seconds && idle_since_ && record_.state == State::Running &&
         now - *idle_since_ >= *record_.idle_timeout_seconds * kSecond;
}

std::string Task::idle_reason() const {
  return fmt::format("idle for more than {}", duration_text(record_.idle_timeout_seconds.value_or(0)));
}

Wish Task::ended(const Exit& exit, Time now) {
  if (over()) return Wish::Nothing;
  record_.address.reset();
  idle_since_.reset();
  const bool stopping = record_.state == State::Terminating;
  // What ended by itself while it was asked to give way is over all the same.
  const bool gave_way = exit.kind != Exit::Kind::Ended || exit.asked;
  if (record_.state == State::Pausing && gave_way) {
    record_.state = State::Paused;
    return Wish::Nothing;
  }
  if (record_.state == State::Yielding && gave_way) return run_again();
  if (exit.kind == Exit::Kind::NeverBegan && !stopping) return run_again();
  record_.state = State::Terminated;
  record_.end_time = now;
  if (exit.kind == Exit::Kind::Ended) record_.exit_code = exit.code;
  if (stopping)
    record_.exit_status = stop_reason_;
  else if (!exit.reason.empty())
    record_.exit_status = exit.reason;
  else if (exit.signal != 0)
    record_.exit_status = fmt::format("ended by signal {}", exit.signal);
  else
    record_.exit_status = fmt::format("exited with status {}", exit.code);
  return Wish::Nothing;
}

Saved save(const Task& task) {
  return {.record = task.record_,
          .stop_reason = task.stop_reason_,
          .idle_since = task.idle_since_,
          .position = task.position_};
}

Task load(Saved saved) {
  Task task(std::move(saved.record));
  task.stop_reason_ = std::move(saved.stop_reason);
  task.idle_since_ = saved.idle_since;
  task.position_ = saved.position;
  return task;
}

}  // namespace det::task
