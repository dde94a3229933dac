#include "det/pytorch/ranks/meeting.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <thread>

#include "det/pytorch/engine/failure.h"
#include "det/pytorch/ranks/network.h"

namespace det::pytorch {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kSayAgain{5000};
constexpr milliseconds kConnect{5000};
constexpr const char* kLanguage = "c++";

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

json::object parse(const std::string& text) {
  auto parsed = json::parse(text);
  return parsed && parsed->is_object() ? parsed->get_object() : json::object();
}

std::int64_t number(const json::object& object, const char* name) {
  const auto* found = object.if_contains(name);
  return found != nullptr ? json::to_int64(*found).value_or(0) : 0;
}

std::string missing(const std::set<std::int64_t>& ranks, const MeetingOptions& options) {
  std::string names;
  for (const auto rank : ranks) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return fmt::format(
      "{} {} of {} did not connect within {:g} s; see the agents' logs for why. If they only need more time, "
      "set DET_RENDEZVOUS_TIMEOUT (seconds) in environment.environment_variables",
      ranks.size() == 1 ? "rank" : "ranks", names, options.size, seconds(options.patience));
}

/// Rank 0: opens the store and waits.
class Chief {
 public:
  Chief(const MeetingOptions& options, trial::Client& client) : options_(options), client_(client) {
    const bool outward = options_.size > options_.local_size;
    const auto listener = must(listen_for_ranks(outward));
    meeting_.host = "127.0.0.1";
    meeting_.port = listener.port;
    meeting_.store = Store::serve(listener.socket, listener.port);
    meeting_.store->set("name", options_.name);
    const auto hosts =
        outward ? must(own_addresses(options_.master_host)) : std::vector<std::string>{"127.0.0.1"};
    for (const auto& host : hosts) addresses_.push_back(address_text(host, listener.port));
  }

  Meeting run() {
    await();
    json::array machines{options_.cross_rank};
    meeting_.machines.push_back(options_.cross_rank);
    meeting_.via = "127.0.0.1";
    std::string strangers;
    for (std::int64_t rank = options_.size - 1; rank > 0; --rank) {
      const auto come = parse(meeting_.store->get(fmt::format("come/{}", rank)));
      if (const auto host = json::text_member(come, "host"); !host.empty() && !is_loopback(host))
        meeting_.via = host;
      if (json::text_member(come, "language") != kLanguage)
        strangers = std::to_string(rank) + (strangers.empty() ? "" : ", ") + strangers;
      meeting_.machines.insert(meeting_.machines.begin() + 1, number(come, "machine"));
    }
    if (!strangers.empty())
      give_up(fmt::format(
          "rank {} runs Python and rank 0 runs C++; all ranks of a trial must use the same language",
          strangers));
    json::object go;
    go["machines"] = json::array(meeting_.machines.begin(), meeting_.machines.end());
    go["via"] = meeting_.via;
    meeting_.store->set("go", json::serialize(go));
    return std::move(meeting_);
  }

 private:
  void await() {
    for (std::int64_t rank = 1; rank < options_.size; ++rank) waited_for_.insert(rank);
    const auto end = Clock::now() + options_.patience;
    auto say_again = Clock::now();
    milliseconds pause{5};
    while (!waited_for_.empty()) {
      if (Clock::now() >= say_again) {
        // Again and again: a master that was restarted has forgotten it.
        must(client_.publish_rendezvous(addresses_));
        say_again = Clock::now() + kSayAgain;
      }
      if (must(client_.preempt_requested())) {
        meeting_.store->set("go", R"({"preempted":true})");
        linger();
        throw PreemptedEarly();
      }
      std::erase_if(waited_for_,
                    [this](auto rank) { return meeting_.store->has(fmt::format("come/{}", rank)); });
      if (waited_for_.empty()) break;
      if (Clock::now() > end) give_up(missing(waited_for_, options_));
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 3 / 2, milliseconds(100));
    }
  }

  [[noreturn]] void give_up(const std::string& why) {
    json::object go;
    go["error"] = why;
    meeting_.store->set("go", json::serialize(go));
    linger();
    throw RanksMissing(why);
  }

  /// Lets the ranks that have come read why it ends: the store ends with this process.
  void linger() {
    const auto count = options_.size - 1 - static_cast<std::int64_t>(waited_for_.size());
    const auto end = Clock::now() + milliseconds(3000);
    while (count > 0 && Clock::now() < end && meeting_.store->add("left", 0) < count)
      std::this_thread::sleep_for(milliseconds(10));
  }

  const MeetingOptions& options_;
  trial::Client& client_;
  Meeting meeting_;
  std::vector<std::string> addresses_;
  std::set<std::int64_t> waited_for_;
};

/// A connection to the store, if it is one, and this run's; else why not.
Result<std::unique_ptr<Store>> reach(const Address& address, const std::string& name) {
  if (!answers(address.host, address.port, static_cast<int>(kConnect.count())))
    return fail(ErrorCode::Unavailable, "no answer");
  try {
    auto store = Store::connect(address.host, address.port, 3 * kConnect);
    if (store->get("name") != name)
      return fail(ErrorCode::Unavailable, "rank 0 of another trial answers there");
    return store;
  } catch (const StoreLost& error) {
    return fail(ErrorCode::Unavailable, "{}", error.what());
  }
}

Meeting come(const MeetingOptions& options, std::unique_ptr<Store> store, const Address& address) {
  json::object mine;
  mine["host"] = address.host;
  mine["machine"] = options.cross_rank;
  mine["language"] = kLanguage;
  json::object go;
  try {
    store->set(fmt::format("come/{}", options.rank), json::serialize(mine));
    const auto end = Clock::now() + options.patience + std::chrono::minutes(1);
    while (!store->wait("go", kSayAgain))
      if (Clock::now() > end)
        throw RanksMissing(
            fmt::format("rank 0 sent nothing for more than {:g} s", seconds(options.patience)));
    go = parse(store->get("go"));
  } catch (const StoreLost&) {
    throw ChiefLost("rank 0 ended before all ranks connected");
  }
  try {
    store->add("left", 1);
  } catch (const StoreLost&) {  // it said what it had to say
  }
  if (go.contains("preempted")) throw PreemptedEarly();
  if (go.contains("error")) throw ChiefLost(json::text_member(go, "error"));
  Meeting meeting{.store = std::move(store),
                  .host = address.host,
                  .port = address.port,
                  .machines = {},
                  .via = json::text_member(go, "via")};
  if (const auto* machines = go.if_contains("machines"); machines != nullptr && machines->is_array())
    for (const auto& machine : machines->get_array())
      meeting.machines.push_back(json::to_int64(machine).value_or(0));
  if (static_cast<std::int64_t>(meeting.machines.size()) != options.size)
    throw ChiefLost(
        fmt::format("rank 0 expects {} ranks, but the trial has {}", meeting.machines.size(), options.size));
  return meeting;
}

Meeting follow(const MeetingOptions& options, trial::Client& client) {
  const auto end = Clock::now() + options.patience;
  std::map<std::string, std::string> tried;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const auto addresses = must(client.rendezvous(std::clamp(left, milliseconds(100), kSayAgain)));
    for (const auto& text : addresses) {
      const auto address = must(parse_address(text));
      if (!address.here) continue;
      auto store = reach(address, options.name);
      if (store) {
        try {
          return come(options, *std::move(store), address);
        } catch (const ChiefLost&) {  // it may have given way when this rank was about to come
          if (must(client.preempt_requested())) throw PreemptedEarly();
          throw;
        }
      }
      tried[text] = store.error().message();
    }
    if (must(client.preempt_requested())) throw PreemptedEarly();
    if (Clock::now() > end) {
      if (tried.empty()) throw RanksMissing(missing({0}, options));
      std::string reasons;
      for (const auto& [address, why] : tried)
        reasons += (reasons.empty() ? "" : "; ") + address + ": " + why;
      throw RanksMissing(
          fmt::format("rank {} cannot reach rank 0 ({}); the machines of one pool must reach each other "
                      "on all ports",
                      options.rank, reasons));
    }
    if (!addresses.empty()) std::this_thread::sleep_for(milliseconds(200));
  }
}

}  // namespace

std::unique_ptr<Store> Meeting::another_connection() const {
  return Store::connect(host, port, 3 * kConnect);
}

Meeting meet(const MeetingOptions& options, trial::Client& client) {
  if (options.rank == 0) return Chief(options, client).run();
  return follow(options, client);
}

Result<milliseconds> seconds_from(const char* text, const char* name, milliseconds otherwise) {
  if (text == nullptr || *text == '\0') return otherwise;
  double seconds = 0;
  const auto* end = text + std::char_traits<char>::length(text);
  const auto parsed = std::from_chars(text, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds > 0) || seconds >= 1e7)
    return invalid_argument("{} is \"{}\"; it must be a number of seconds greater than 0", name, text);
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace det::pytorch
