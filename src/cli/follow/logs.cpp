#include "det/cli/follow/logs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "det/base/time.h"
#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kLevels[] = {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
constexpr std::size_t kQueueMax = 10'000;
constexpr auto kTick = 1s;
constexpr auto kReconnectDelay = 300ms;
constexpr auto kPatience = 5min;

void show_entry(Console& console, const json::value& entry, bool as_json) {
  if (as_json) return console.write_line(json::serialize(entry));
  auto text = text_at(entry, "message");
  if (text.empty()) text = text_at(entry, "log");
  console.log_line(text);
}

// How far a log was shown: the master numbers the lines of a log in their order.
class Place {
 public:
  // Whether the entry is new. One without a number always is.
  bool add(const json::value& entry) {
    const auto id = integer_at(entry, "id");
    if (id <= 0) return true;
    if (id <= last_) return false;
    last_ = id;
    return true;
  }

  // After which line another stream should start; nothing: from the beginning.
  std::optional<std::string> last() const {
    if (last_ == 0) return std::nullopt;
    return std::to_string(last_);
  }

 private:
  std::int64_t last_ = 0;
};

// Entries on their way from the thread that reads them to the one that shows them.
class Inbox {
 public:
  // False: the reader has gone.
  bool push(json::value entry) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return entries_.size() < kQueueMax || stopped_; });
    if (stopped_) return false;
    entries_.push_back(std::move(entry));
    arrived_.notify_one();
    return true;
  }
  void close(Result<void> result) {
    const std::lock_guard lock(mutex_);
    closed_ = std::move(result);
    arrived_.notify_one();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    room_.notify_one();
  }
  // What has arrived until `deadline`; the stream's result once it is over and read.
  std::deque<json::value> take(Clock::time_point deadline, std::optional<Result<void>>& result) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, deadline, [&] { return !entries_.empty() || closed_; });
    if (entries_.empty()) result = closed_;
    room_.notify_one();
    return std::exchange(entries_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_, room_;
  std::deque<json::value> entries_;
  std::optional<Result<void>> closed_;
  bool stopped_ = false;
};

// One stream, from its start to its end, shown as it comes.
Result<void> follow_once(Session& session, const std::string& path, const QueryItems& query, bool as_json,
                         Place& place, bool& contact, const FollowHooks& hooks,
                         Clock::time_point& next_tick) {
  const auto twin = session.twin();
  Inbox inbox;
  std::thread reader([&] {
    inbox.close(twin->stream(path, query, [&](const json::value& entry) { return inbox.push(entry); }));
  });
  struct Join {
    Session& twin;
    Inbox& inbox;
    std::thread& reader;
    ~Join() {
      inbox.stop();
      twin.cancel();
      reader.join();
    }
  } join{*twin, inbox, reader};

  std::optional<Result<void>> result;
  while (!result) {
    const auto entries = inbox.take(next_tick, result);
    for (const auto& entry : entries)
      if (place.add(entry)) show_entry(session.console(), entry, as_json);
    contact = contact || !entries.empty();
    if (!entries.empty()) session.console().flush();
    if (Clock::now() >= next_tick) {
      if (hooks.on_tick) hooks.on_tick();
      next_tick = Clock::now() + kTick;
    }
  }
  return *std::move(result);
}

Result<void> follow(Session& session, const std::string& path, const LogOptions& options, Place place,
                    const FollowHooks& hooks) {
  auto next_tick = Clock::now();
  auto last_contact = Clock::now();
  bool told = false;
  while (true) {
    auto items = log_query(options);
    items.emplace_back("follow", "true");
    if (const auto last = place.last()) items.emplace_back("afterId", *last);
    bool contact = false;
    auto ended = follow_once(session, path, items, options.json, place, contact, hooks, next_tick);
    if (ended) {
      if (!hooks.is_over) return {};
      const auto over = hooks.is_over();
      if (over && *over) return {};
      if (!over && over.error().code() != ErrorCode::Unavailable) return tl::unexpected(over.error());
      contact = contact || over.has_value();
    } else if (ended.error().code() != ErrorCode::Unavailable) {
      return ended;
    }
    if (contact) last_contact = Clock::now();
    if (contact) told = false;
    if (Clock::now() - last_contact > kPatience)
      return fail(
          ErrorCode::Unavailable,
          "the master has not answered for {} minutes; check that it runs, or give another address with -m",
          kPatience / 1min);
    if (!ended && !told && Clock::now() - last_contact > 2s) {
      session.console().warn("The master does not answer; waiting for it. Trials keep running.");
      told = true;
    }
    std::this_thread::sleep_for(kReconnectDelay);
  }
}

}  // namespace

void add_log_flags(CLI::App& app, LogOptions& options) {
  auto* follow = app.add_flag("-f,--follow", options.follow, "Follow the log until the task ends");
  app.add_option("--tail", options.tail, "Show only the last N lines")->type_name("N")->check(at_least(0));
  app.add_option("--head", options.head, "Show only the first N lines")
      ->type_name("N")
      ->check(at_least(0))
      ->excludes(follow)
      ->excludes("--tail");
  app.add_option("--agent-id", options.agent_ids, "Show only lines from this agent; may be repeated")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_option("--container-id", options.container_ids,
                 "Show only lines from this container; may be repeated")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_option("--rank-id", options.rank_ids, "Show only lines from this rank; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false);
  app.add_option("--source", options.sources,
                 "Show only lines from this source: task, agent or master; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--stdtype", options.stdtypes, "Show only this stream: stdout or stderr; may be repeated")
      ->type_name("STREAM")
      ->check(CLI::IsMember({"stdout", "stderr"}))
      ->allow_extra_args(false);
  app.add_option("--level", options.level, "Minimum level: TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL")
      ->type_name("LEVEL")
      ->transform(
          CLI::IsMember(std::vector<std::string>(std::begin(kLevels), std::end(kLevels)), CLI::ignore_case));
  app.add_option("--timestamp-before", options.timestamp_before,
                 "Show only lines before this time (RFC 3339)")
      ->type_name("TIME");
  app.add_option("--timestamp-after", options.timestamp_after, "Show only lines after this time (RFC 3339)")
      ->type_name("TIME");
  app.add_flag("--json", options.json, "Print one JSON object per line");
}

QueryItems log_query(const LogOptions& options) {
  QueryItems items;
  for (const auto& id : options.agent_ids) items.emplace_back("agentIds", id);
  for (const auto& id : options.container_ids) items.emplace_back("containerIds", id);
  for (const int id : options.rank_ids) items.emplace_back("rankIds", std::to_string(id));
  for (const auto& source : options.sources) items.emplace_back("sources", source);
  for (const auto& type : options.stdtypes) items.emplace_back("stdtypes", type);
  const auto level = std::find(std::begin(kLevels), std::end(kLevels), options.level);
  for (auto graver = level; graver != std::end(kLevels); ++graver)
    items.emplace_back("levels", std::string("LOG_LEVEL_") + *graver);
  if (!options.timestamp_before.empty()) items.emplace_back("timestampBefore", options.timestamp_before);
  if (!options.timestamp_after.empty()) items.emplace_back("timestampAfter", options.timestamp_after);
  return items;
}

Result<void> show_logs(Session& session, const std::string& path, const LogOptions& options,
                       FollowHooks hooks) {
  Place place;
  if (options.tail) {
    // Newest first is how the master counts from the end.
    auto items = log_query(options);
    // To follow from the end on takes its place, which is its last line's.
    items.emplace_back("limit", std::to_string(std::max<std::int64_t>(*options.tail, 1)));
    items.emplace_back("orderBy", "ORDER_BY_DESC");
    std::vector<json::value> entries;
    if (*options.tail > 0 || options.follow) {
      if (auto read = session.stream(path, items,
                                     [&](const json::value& entry) {
                                       entries.push_back(entry);
                                       return true;
                                     });
          !read)
        return read;
    }
    std::reverse(entries.begin(), entries.end());
    for (const auto& entry : entries)
      if (place.add(entry) && *options.tail > 0) show_entry(session.console(), entry, options.json);
  } else if (!options.follow) {
    auto items = log_query(options);
    if (options.head) items.emplace_back("limit", std::to_string(*options.head));
    if (options.head && *options.head == 0) return {};
    return session.stream(path, items, [&](const json::value& entry) {
      show_entry(session.console(), entry, options.json);
      return true;
    });
  }
  if (!options.follow) return {};
  // Connects and logs in here, since the reading thread may not ask for a password.
  if (const auto me = session.get("/api/v1/me"); !me) return tl::unexpected(me.error());
  return follow(session, path, options, place, hooks);
}

}  // namespace det::cli
