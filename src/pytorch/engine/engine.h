#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "det/pytorch/environment.h"
#include "det/pytorch/numbers.h"
#include "det/pytorch/trial_classes.h"

namespace det::pytorch {

class Ranks;

/// How far the loop is, as it is kept in a checkpoint: trial::LoopState and the newest searcher metric.
struct SavedLoop {
  std::int64_t batches_trained = 0;
  std::int64_t batches_validated = -1;
  std::int64_t batches_checkpointed = -1;
  std::int64_t operations_done = 0;
  std::optional<double> best;
  bool validation_is_best = false;
  std::optional<double> searcher_metric;
  std::int64_t slots = 1;  ///< Of the trial that saved it. Read from a checkpoint, not written by the loop.
};

/// The batches of a workload: their metrics, and the mean of each.
struct Trained {
  Numbers averages;
  std::vector<std::string> names;
  std::vector<std::vector<double>> batches;
};

/// Drives one trial in this process: trains batches, validates, saves, restores. In Python:
/// PyTorchTrialController. It knows tensors and nothing of the master; this header knows no tensors, so that
/// what includes it compiles fast.
///
/// Order of calls: `prepare_process` (process.h) once, the constructor, `start`, then any; `close` last.
class Engine {
 public:
  /// Builds the trial. Throws what its constructor throws.
  /// `ranks`, which lives as long, where the trial has several processes; then every rank makes the same
  /// calls.
  Engine(MakeTrial make, Environment environment, Ranks* ranks = nullptr);
  ~Engine();

  /// Makes everything ready for the first action. With a checkpoint, returns its loop unless `weights_only`.
  std::optional<SavedLoop> start(const std::optional<std::filesystem::path>& checkpoint,
                                 const std::string& uuid, bool weights_only);
  Trained train(std::int64_t batches);
  Numbers validate();
  /// Collects the state of all ranks, which is then written by one of the next two.
  void collect(const SavedLoop& loop);
  /// Writes state-dict.pth and trial-state.pth; `describe` adds what is not the engine's before callbacks see
  /// it.
  void write(const std::filesystem::path& directory, const std::function<void()>& describe);
  /// Copies the state. Returns what writes the copy, on any thread and while the trial goes on, until the
  /// next `collect`. Nothing where there is no memory for it: `free` is how many bytes there still are, if
  /// known.
  std::function<void(const std::filesystem::path&)> staged(std::optional<std::int64_t> free);
  /// Whether the trial may go on before a checkpoint is stored: no callback has a part in saving. That is
  /// known after the first checkpoint.
  bool saves_in_background() const;
  void contribute();                     ///< What the other ranks do while rank 0 collects.
  void stored(const std::string& uuid);  ///< The checkpoint is in storage.
  void close();
  /// The same after a failure, which is what will be told: whatever fails now is not.
  void close_after_failure() noexcept;

  bool stop_requested() const;   ///< On this rank, or on any where all were asked.
  std::int64_t records() const;  ///< Of the newest workload; over all ranks where they were asked.
  void ask_all_ranks();          ///< Whether any stops, and how many records it had.

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace det::pytorch
