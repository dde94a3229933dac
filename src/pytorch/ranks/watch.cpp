#include "det/pytorch/ranks/watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "det/base/json.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/ranks/stacks.h"

namespace det::pytorch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr milliseconds kClaim{3000};
constexpr milliseconds kAct{1000};
constexpr milliseconds kShipping{400};
constexpr milliseconds kStacks{3000};
constexpr milliseconds kGrace{10000};
constexpr std::size_t kTextMax = 500;

std::string end_text(const std::string& kind, std::int64_t rank, const std::string& text) {
  json::object said;
  said["kind"] = kind;
  said["rank"] = rank;
  said["text"] = text.substr(0, kTextMax);
  return json::serialize(said);
}

}  // namespace

Watch::Watch(Options options) : options_(std::move(options)), thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::note(std::string doing) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(doing);
}

void Watch::begin(const char* what) {
  since_ = Clock::now().time_since_epoch().count();
  waiting_ = what;
}

bool Watch::claim(const std::string& kind, const std::string& text) {
  const auto said = end_text(kind, options_.rank, text);
  try {
    return options_.store->claim("end", said) == said;
  } catch (const StoreLost&) {
    return false;  // rank 0 is gone, and whoever lost it says so
  }
}

void Watch::told(std::optional<std::int64_t> others) {
  try {
    options_.store->set("told", "1");
    if (options_.rank == 0) await_others("followed", others.value_or(options_.size - 1), kClaim);
  } catch (const StoreLost&) {
    return;
  }
}

void Watch::follow() {
  std::this_thread::sleep_for(milliseconds(200));
  const auto end = Clock::now() + 2 * kClaim + kStacks;
  while (claimed() && Clock::now() < end) std::this_thread::sleep_for(milliseconds(50));
}

void Watch::leave() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  try {
    if (options_.store->has("end")) return;
    options_.store->add("over", 1);
    if (options_.rank == 0) await_others("over", options_.size, kGrace);
  } catch (const StoreLost&) {
    return;
  }
}

void Watch::await_others(const char* key, std::int64_t count, milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end && options_.store->add(key, 0) < count)
    std::this_thread::sleep_for(milliseconds(5));
}

bool Watch::claimed() {
  try {
    return options_.store->has("end");
  } catch (const StoreLost&) {
    return false;
  }
}

bool Watch::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return leaving_; });
}

void Watch::run() {
  // One store answers them all.
  const auto interval = std::max(kLook, kLook * options_.size / 64);
  while (pause(interval)) {
    try {
      if (!options_.own->has("end")) {
        if (!look()) return;
        continue;
      }
      return follow_other(options_.own->get("end"));
    } catch (const StoreLost&) {
      return store_lost();
    }
  }
}

void Watch::follow_other(const std::string& said) {
  const auto parsed = json::parse(said);
  if (!parsed || !parsed->is_object()) return exit(kExitFollowed);
  const auto& end = parsed->get_object();
  const auto* number = end.if_contains("rank");
  const auto rank = number != nullptr ? json::to_int64(*number).value_or(-1) : -1;
  if (rank == options_.rank) return;
  const auto kind = json::text_member(end, "kind");
  if (kind == "hung") {
    print_stacks(fmt::format("rank {} waits for the others; this one is {}", rank, state()));
    std::this_thread::sleep_for(kStacks);
  } else {
    try {
      options_.own->wait("told", kClaim);
    } catch (const StoreLost&) {  // rank 0 spoke and is gone
    }
    std::this_thread::sleep_for(kShipping);
  }
  if (kind == "failed")
    print_error(fmt::format("rank {} ends because rank {} failed: {}", options_.rank, rank,
                            json::text_member(end, "text")));
  else if (kind == "lost")
    print_error(fmt::format("rank {} ends because rank {} lost another one", options_.rank, rank));
  act();
  try {
    options_.own->add("followed", 1);
  } catch (const StoreLost&) {
  }
  exit(kind == "stopped" ? 0 : kind == "gone" ? 80 : kExitFollowed);
}

void Watch::act() {
  if (!last_act) return;
  struct Done {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  auto done = std::make_shared<Done>();
  std::thread([done, act = last_act] {
    try {
      act();
    } catch (...) {  // the process ends anyway
    }
    const std::lock_guard lock(done->mutex);
    done->done = true;
    done->changed.notify_all();
  }).detach();
  std::unique_lock lock(done->mutex);
  done->changed.wait_for(lock, kAct, [&] { return done->done; });
}

/// Rank 0 is gone. Whoever talks with it notices; whoever does not is ended here, after a while.
void Watch::store_lost() {
  if (!pause(kGrace)) return;
  print_error(fmt::format("rank {} ends because rank 0 is gone", options_.rank));
  exit(kExitFollowed);
}

bool Watch::look() {
  const char* what = waiting_;
  if (what == nullptr) return true;
  const auto waited = Clock::now().time_since_epoch() - Clock::duration(since_.load());
  if (waited < options_.limit) return true;
  const auto seconds = std::chrono::duration<double>(waited).count();
  const auto text =
      fmt::format("rank {} has waited {:.0f} s for the other ranks, in {}", options_.rank, seconds, what);
  const auto said = end_text("hung", options_.rank, text);
  if (options_.own->claim("end", said) != said) return true;  // another one was first: follow it
  print_stacks(text);
  std::this_thread::sleep_for(kStacks);
  print_error(fmt::format(
      "{}; that is longer than DET_COLLECTIVE_TIMEOUT ({:g} s). The stacks of all ranks are above: a "
      "rank that waits in no exchange is the one the others wait for",
      text, std::chrono::duration<double>(options_.limit).count()));
  try {
    options_.own->set("told", "1");
  } catch (const StoreLost&) {
  }
  exit(kExitHung);
  return false;
}

std::string Watch::state() {
  const char* what = waiting_;
  const std::lock_guard lock(mutex_);
  if (what == nullptr) return doing_ + ", and waits for no other";
  const auto waited = Clock::now().time_since_epoch() - Clock::duration(since_.load());
  return fmt::format("{}, and has waited {:.0f} s in {}", doing_,
                     std::chrono::duration<double>(waited).count(), what);
}

void Watch::exit(int status) {
  if (options_.exit_with) return options_.exit_with(status);
  std::fflush(stdout);
  std::fflush(stderr);
  ::_exit(status);
}

}  // namespace det::pytorch
