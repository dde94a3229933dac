#include "det/pytorch/ranks/follower.h"

#include <charconv>
#include <exception>
#include <filesystem>
#include <future>

#include "det/checkpoint/scratch.h"
#include "det/pytorch/engine/failure.h"

namespace det::pytorch {

namespace {

constexpr std::pair<Order::Kind, const char*> kNames[] = {{Order::Kind::Train, "train"},
                                                          {Order::Kind::Validate, "validate"},
                                                          {Order::Kind::Checkpoint, "checkpoint"},
                                                          {Order::Kind::Stored, "stored"},
                                                          {Order::Kind::Wait, "wait"},
                                                          {Order::Kind::Exit, "exit"}};

}  // namespace

std::string Order::text() const {
  std::string word;
  for (const auto& [known, name] : kNames)
    if (known == kind) word = name;
  if (kind == Kind::Train) word += " " + std::to_string(batches);
  if (kind == Kind::Checkpoint || kind == Kind::Stored) word += " " + uuid;
  return word;
}

Order Order::parse(const std::string& text) {
  const auto space = text.find(' ');
  const auto word = text.substr(0, space);
  const auto rest = space == std::string::npos ? std::string() : text.substr(space + 1);
  Order order;
  bool found = false;
  for (const auto& [known, name] : kNames)
    if (word == name) order.kind = known, found = true;
  if (order.kind == Kind::Train)
    found = found && std::from_chars(rest.data(), rest.data() + rest.size(), order.batches).ec == std::errc();
  order.uuid = rest;
  if (!found) throw UsageError("rank 0 sent the unknown command \"" + text + "\"; is it of another version?");
  return order;
}

std::optional<SavedLoop> start_engine(const Job& job, Engine& engine, checkpoint::Storage& storage) {
  const auto& uuid = job.latest_checkpoint;
  std::optional<std::filesystem::path> directory;
  std::optional<Scratch> scratch;
  if (uuid) {
    directory = storage.path(*uuid);
    if (!directory->empty()) {
      // Compared with what was saved while it is read. Damage explains whatever else fails; once on each
      // machine.
      std::future<Result<checkpoint::Resources>> verified;
      if (job.environment.local_rank == 0)
        verified = std::async(std::launch::async, [&] { return storage.verify(*uuid); });
      std::optional<SavedLoop> loop;
      std::exception_ptr failure;
      try {
        loop = engine.start(directory, *uuid, job.warm_start);
      } catch (...) {
        failure = std::current_exception();
      }
      if (verified.valid()) must(verified.get());
      if (failure) std::rethrow_exception(failure);
      return loop;
    } else {
      scratch.emplace("checkpoint");
      if (auto restored = storage.restore(*uuid, scratch->path()); !restored)
        throw LoopFailure(std::move(restored).error());
      directory = scratch->path();
    }
  }
  return engine.start(directory, uuid.value_or(""), job.warm_start);
}

void follow_chief(const Job& job, Engine& engine, checkpoint::Storage& storage, Ranks& ranks,
                  const std::function<void()>& on_ready) {
  start_engine(job, engine, storage);
  on_ready();
  while (true) {
    const auto order = Order::parse(ranks.announce(""));
    switch (order.kind) {
      case Order::Kind::Train: engine.train(order.batches); break;
      case Order::Kind::Validate: engine.validate(); break;
      case Order::Kind::Checkpoint: engine.contribute(); continue;
      case Order::Kind::Stored: engine.stored(order.uuid); continue;
      case Order::Kind::Wait: continue;
      case Order::Kind::Exit: return;
    }
    engine.ask_all_ranks();
  }
}

}  // namespace det::pytorch
