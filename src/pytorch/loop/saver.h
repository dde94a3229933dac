#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "det/base/json.h"
#include "det/checkpoint/storage.h"
#include "det/pytorch/loop/master.h"

namespace det::pytorch {

/// Writes a text file of one line.
void write_line(const std::filesystem::path& path, const std::string& text);

/// A checkpoint that is to be saved.
struct PendingCheckpoint {
  std::string uuid;
  std::int64_t batches = 0;
  std::string reason;
  json::object metadata;     ///< for the report
  json::object description;  ///< the content of metadata.json
};

/// Saves the checkpoints of one process, one after the other: written to a draft in the storage, published
/// (hashed, synced, renamed) and only then reported. In Python: determined._run._saving.
class Saver {
 public:
  using Write = std::function<void(const std::filesystem::path& directory)>;

  Saver(Master& master, checkpoint::Storage& storage, std::function<void(const std::string&)> log);
  ~Saver() { finish(); }

  /// Saves, and returns when it is reported. Throws what goes wrong.
  void save(PendingCheckpoint checkpoint, const Write& write);
  /// The same on a thread of its own; `settled` has the result. The former checkpoint must be settled.
  void save_in_background(PendingCheckpoint checkpoint, Write write);

  /// The checkpoint that was reported since the last call. Throws what went wrong.
  std::optional<std::string> settled(bool wait);
  /// Waits for what is on its way, after a failure of the trial: the next run has less to repeat.
  void finish() noexcept;

 private:
  void run(PendingCheckpoint checkpoint, const Write& write);

  Master& master_;
  checkpoint::Storage& storage_;
  const std::function<void(const std::string&)> log_;
  std::string uuid_;  ///< of what is saved and not settled; empty: none
  std::thread thread_;
  std::atomic<bool> done_ = false;
  std::exception_ptr failure_;
};

}  // namespace det::pytorch
