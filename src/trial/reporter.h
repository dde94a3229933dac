#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "det/base/error.h"
#include "det/trial/line.h"

namespace det::trial {

/// Sends a trial's reports to the master, one after the other in the order
/// given, on a thread of its own. None is lost: the queue is bounded, and who
/// finds it full waits. So whatever was reported before a checkpoint is durable
/// before the checkpoint is: a trial that resumes there has nothing to repeat.
///
/// Once the master says Gone, everything queued is dropped and every call fails
/// with Gone. A queued report that the master refuses for another reason
/// makes every later call fail with that reason: it would be lost in silence otherwise.
///
/// Threads: safe.
class Reporter {
 public:
  struct Limits {
    std::size_t reports_max = 256;
    std::size_t bytes_max = 64 << 20;
  };
  /// What becomes of a report that the master refuses, and of older ones still queued.
  enum class Kind {
    Report,       ///< must arrive
    Progress,     ///< only the newest matters; a refusal is only noticed
    State,        ///< the same
    Environment,  ///< the same
  };

  /// `poll` is called now and then by whoever waits; it may throw.
  Reporter(std::unique_ptr<Line> line, Limits limits, std::function<void(const std::string&)> notice,
           std::function<void()> poll);
  ~Reporter();

  /// Drops what is still queued and makes every call return; `flush` before.
  void stop();

  Result<void> enqueue(Kind kind, http::Call call);
  /// Enqueues and waits for the answer: what was queued before has been answered, too.
  Result<http::Reply> send(http::Call call);
  Result<void> flush();

  /// Nothing, or why no call can succeed any more.
  std::optional<Error> failure() const;
  /// For what another line has learnt.
  void fail_all(const Error& why);

 private:
  struct Item {
    Kind kind = Kind::Report;
    http::Call call;
    bool awaited = false;
    std::optional<Result<http::Reply>> answer;
  };

  void run();
  Result<void> push(const std::shared_ptr<Item>& item, std::unique_lock<std::mutex>& lock);
  void settle(const std::shared_ptr<Item>& item, Result<http::Reply> answer);
  template <typename Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition condition);

  const std::unique_ptr<Line> line_;
  const Limits limits_;
  const std::function<void(const std::string&)> notice_;
  const std::function<void()> poll_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Item>> queue_;  ///< the first is on its way
  std::size_t bytes_ = 0;
  std::uint64_t enqueued_ = 0;
  std::uint64_t settled_ = 0;
  std::optional<Error> failure_;
  bool stopping_ = false;
  std::thread thread_;  ///< last: uses all of the above
};

/// Starts a thread that no signal is delivered to: those belong to the user's threads.
std::thread quiet_thread(std::function<void()> body);

}  // namespace det::trial
