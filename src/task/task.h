#pragma once

#include <optional>
#include <string>

#include "det/base/error.h"
#include "det/task/records.h"

namespace det::task {

/// What a task wants of the cluster after something happened to it.
enum class Wish {
  Nothing,
  Start,    ///< an allocation with the id `Task::allocation`
  Stop,     ///< that allocation ended: at once if it still waits, else killed
  GiveWay,  ///< that allocation ended: at once if it still waits, else when its process is done
};

/// How the process of a task ended.
struct Exit {
  enum class Kind {
    Ended,       ///< by itself, or by a signal; `code` says how
    NeverBegan,  ///< it was not started, and never will be: another run changes nothing for its user
    Lost,        ///< nobody knows how it ended: its machine or agent is gone
  };
  Kind kind = Kind::Ended;
  int code = 0;  ///< 128 + signal where one ended it
  int signal = 0;
  std::string reason;  ///< in words, where the numbers do not say enough
  /// Because the master wanted it to: it was sent a signal, or has acknowledged that it gives way.
  bool asked = false;
};

struct Saved;

/// One task that is no trial, from its submission to its end.
///
/// It runs once: a command that was lost with its machine may have done half of its work, and is not done
/// again. Only what never began gets another run, and a generic task that was paused or gave way to others.
/// Over is over.
///
/// Pure: the same calls give the same task.
class Task {
 public:
  Task() = default;
  /// Requires: an id that no task had before. Ask `submitted` next.
  explicit Task(TaskRecord record) : record_(std::move(record)) {}

  const TaskRecord& record() const { return record_; }
  /// The id of the live allocation: "<task id>.<run>".
  std::string allocation() const;
  bool over() const { return record_.state == State::Terminated; }
  /// Since when its program says that nobody uses it.
  std::optional<Time> idle_since() const { return idle_since_; }
  /// Its place in the queue, where somebody moved it.
  std::optional<std::int64_t> position() const { return position_; }
  void move_to(std::int64_t position) { position_ = position; }
  void set_priority(int priority) { record_.priority = priority; }

  Wish submitted();
  void placed();           ///< it has its slots
  void running(Time now);  ///< its process runs
  /// Somebody ends it; `why` becomes its exit status: "killed by user ada". The first reason stays. One that
  /// is paused is over at once.
  Wish kill(std::string why, Time now);
  /// The cluster ends it: "agent a was disabled".
  Wish stop(std::string why, Time now);
  /// FailedPrecondition for what cannot be paused, or is ending. What is paused stays so.
  Result<Wish> pause();
  /// The same the other way.
  Result<Wish> unpause();
  /// Whether it may be asked to give way to others, and run again later.
  bool can_yield() const { return record_.type == Type::Generic && !record_.no_pause; }
  /// Requires: can_yield().
  Wish yield();
  /// Its program answers there. FailedPrecondition where it does not run; InvalidArgument for an odd port.
  Result<void> ready(Address address);
  /// Its program says that nobody uses it since `since`, or (nothing) that somebody does. A moment that is
  /// still to come counts as now.
  void report_idle(std::optional<Time> since, Time now);
  /// Whether nobody used it for as long as its configuration allows.
  bool idle_for_too_long(Time now) const;
  /// "idle for more than 30s"
  std::string idle_reason() const;
  /// Its allocation is over.
  Wish ended(const Exit& exit, Time now);

 private:
  friend Saved save(const Task& task);
  friend Task load(Saved saved);
  Wish run_again();

  TaskRecord record_;
  std::string stop_reason_;  // why it was asked to end
  std::optional<Time> idle_since_;
  std::optional<std::int64_t> position_;
};

/// A task as snapshots keep it.
struct Saved {
  TaskRecord record;
  std::string stop_reason;
  std::optional<Time> idle_since;
  std::optional<std::int64_t> position;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (record, stop_reason, idle_since, position))
Saved save(const Task& task);
Task load(Saved saved);

/// "30s", "1m30s", "2h": as configurations write durations.
std::string duration_text(std::int64_t seconds);

}  // namespace det::task
