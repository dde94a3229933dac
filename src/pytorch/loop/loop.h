#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "det/checkpoint/storage.h"
#include "det/pytorch/compile/source.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/engine/failure.h"
#include "det/pytorch/loop/job.h"
#include "det/pytorch/loop/master.h"
#include "det/pytorch/loop/saver.h"
#include "det/pytorch/ranks/follower.h"
#include "det/trial/plan.h"

namespace det::pytorch {

/// Runs one trial in this process, from its checkpoint (if any) to its end or to a pause: asks what is next,
/// does it, reports it. What is next is decided by trial::next_action; this is the C++ counterpart of
/// Python's _loop.py.
/// Of a trial with several ranks this is rank 0's: it alone decides, talks with the master and saves, and
/// says to the others (follower.h) what to do.
///
/// A restarted trial goes on from the state *in its checkpoint*, never from what the master knows: it may
/// train and report again what is known already, with the same numbers.
class Loop {
 public:
  struct Parts {
    const Job& job;
    Engine& engine;
    Master& master;
    checkpoint::Storage& storage;
    const Source& source;
    std::function<void(const std::string&)> log;
    Ranks* ranks = nullptr;  ///< where the trial has several processes
  };
  /// Throws LoopFailure where the configuration does not say what the loop needs.
  explicit Loop(Parts parts);

  void start();  ///< Loads the checkpoint and makes everything ready.
  void run();    ///< One action after the other until there is none left.

 private:
  bool step();
  trial::Action next();
  /// Tells all ranks of a checkpoint that is stored now.
  void settle(bool wait);
  void train(std::int64_t batches);
  void validate();
  void save(trial::CheckpointReason reason);
  void complete(std::int64_t length);
  void wait();
  bool exit(bool preempted);  ///< True: it is no end, the trial was only paused.
  bool waited_to_go_on();
  void report_state(const char* state);
  void tell(const Order& order);
  /// Adds what is needed to build the trial again.
  void describe(const std::filesystem::path& directory) const;
  json::object described(json::object reported) const;
  SavedLoop saved() const;

  Parts p_;
  trial::LoopConfig config_;
  trial::LoopState state_;
  std::optional<double> searcher_metric_;
  std::vector<std::int64_t> lengths_;
  bool closed_ = false;
  std::string reported_state_;
  Saver saver_;
};

}  // namespace det::pytorch
