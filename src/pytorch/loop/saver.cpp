#include "det/pytorch/loop/saver.h"

#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "det/pytorch/engine/failure.h"
#include "det/trial/reporter.h"

namespace det::pytorch {

namespace fs = std::filesystem;

Saver::Saver(Master& master, checkpoint::Storage& storage, std::function<void(const std::string&)> log)
    : master_(master), storage_(storage), log_(std::move(log)) {}

void Saver::save(PendingCheckpoint checkpoint, const Write& write) {
  uuid_ = checkpoint.uuid;
  run(std::move(checkpoint), write);
}

void Saver::run(PendingCheckpoint checkpoint, const Write& write) {
  const auto& uuid = checkpoint.uuid;
  must(master_.begin_checkpoint(uuid));
  const auto draft = must(storage_.draft(uuid));
  try {
    write(draft);
    write_line(draft / "metadata.json", json::serialize(checkpoint.description));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(draft, ignored);
    throw;
  }
  const auto resources = must(storage_.publish(uuid, draft));
  must(master_.report_checkpoint(uuid, checkpoint.batches, resources, std::move(checkpoint.metadata)));
  log_(fmt::format("checkpoint {} after batch {} ({})", uuid, checkpoint.batches, checkpoint.reason));
}

void Saver::save_in_background(PendingCheckpoint checkpoint, Write write) {
  uuid_ = checkpoint.uuid;
  done_ = false;
  thread_ = trial::quiet_thread([this, checkpoint = std::move(checkpoint), write = std::move(write)] {
    try {
      run(checkpoint, write);
    } catch (...) {
      failure_ = std::current_exception();
    }
    done_ = true;
  });
}

std::optional<std::string> Saver::settled(bool wait) {
  if (thread_.joinable()) {
    if (!wait && !done_) return std::nullopt;
    thread_.join();
  }
  auto uuid = std::exchange(uuid_, {});
  if (auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  if (uuid.empty()) return std::nullopt;
  return uuid;
}

void Saver::finish() noexcept {
  if (thread_.joinable()) thread_.join();
}

void write_line(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  if (!file.flush()) throw LoopFailure(Error(ErrorCode::ResourceExhausted, "cannot write " + path.string()));
}

}  // namespace det::pytorch
