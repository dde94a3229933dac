#pragma once

#include <functional>
#include <optional>
#include <string>

#include "det/checkpoint/storage.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/loop/job.h"
#include "det/pytorch/ranks/ranks.h"

namespace det::pytorch {

/// What rank 0's loop tells the others to do.
struct Order {
  enum class Kind { Train, Validate, Checkpoint, Stored, Wait, Exit };
  Kind kind = Kind::Exit;
  std::int64_t batches = 0;  ///< to train
  std::string uuid;          ///< of the checkpoint

  std::string text() const;
  static Order parse(const std::string& text);  ///< Not one of ours: UsageError.
};

/// Makes an engine ready for its first action, with the files of the checkpoint that the trial goes on from.
/// What that checkpoint says of the loop.
std::optional<SavedLoop> start_engine(const Job& job, Engine& engine, checkpoint::Storage& storage);

/// What a rank that is not the chief does: what the chief says, to the end. It saves and reports nothing.
/// `on_ready` is called when the engine is ready.
void follow_chief(const Job& job, Engine& engine, checkpoint::Storage& storage, Ranks& ranks,
                  const std::function<void()>& on_ready);

}  // namespace det::pytorch
