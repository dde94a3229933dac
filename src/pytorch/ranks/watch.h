#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "det/pytorch/ranks/store.h"

namespace det::pytorch {

/// The exit status of a rank that ended because another one did, and of one that waited too long for the
/// others.
inline constexpr int kExitFollowed = 81;
inline constexpr int kExitHung = 82;

/// Watches over the ranks of a trial: ends this one when another failed, and finds out why nothing moves. The
/// counterpart of Python's _watch.py; keys and promises are those of docs/reference/protocols.md.
///
/// A thread of its own waits for what another rank says of the end, and looks whether this rank has waited
/// for the others for longer than the limit. The first rank that has something to say claims the end; all
/// others follow it, and say so in one line.
class Watch {
 public:
  struct Options {
    std::int64_t rank = 0;
    std::int64_t size = 1;
    std::chrono::milliseconds limit{};
    Store* store = nullptr;              ///< Of the main thread; lives as long.
    std::unique_ptr<Store> own;          ///< The same, for the watch's thread.
    std::function<void(int)> exit_with;  ///< Ends the process; for tests. Absent: it is ended.
  };
  explicit Watch(Options options);
  ~Watch();

  // For the main thread.

  void note(std::string doing);  ///< What this rank does from now on; told where nothing moves.
  void begin(const char* what);  ///< This rank waits for the others from now on. `what` is a literal.
  void end() { waiting_ = nullptr; }
  class Waiting {
   public:
    Waiting(Watch& watch, const char* what) : watch_(watch) { watch.begin(what); }
    ~Waiting() { watch_.end(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Watch& watch_;
  };

  /// True when this rank's end is the first: it may say why at length, and calls `told` after that.
  bool claim(const std::string& kind, const std::string& text);
  /// What this rank had to say is written. Rank 0 keeps the store until `others` know.
  void told(std::optional<std::int64_t> others = {});
  void follow();  ///< Waits to be ended by what another rank claimed; returns where none did.
  /// The trial is over. Rank 0 waits for the others to need its store no more.
  void leave();

  /// What is still to be done when this rank follows another into the end; it has a second. Set it before
  /// training.
  std::function<void()> last_act;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool pause(std::chrono::milliseconds time);  ///< False when it is over.
  void follow_other(const std::string& said);
  void store_lost();
  bool look();
  void act();
  void exit(int status);
  void await_others(const char* key, std::int64_t count, std::chrono::milliseconds time);
  std::string state();
  bool claimed();

  Options options_;
  std::atomic<const char*> waiting_{nullptr};
  std::atomic<Clock::rep> since_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string doing_ = "starting";
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace det::pytorch
