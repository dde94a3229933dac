// A message of the administrators to all users, for a time: maintenance tonight.

#include <charconv>

#include "det/master/administration/kept_setting.h"
#include "det/master/agents/cluster_objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr const char* kSetting = "cluster_message";
constexpr std::size_t kBytesMax = 250;

struct Message {
  std::string message;
  Time start_time;
  std::optional<Time> end_time;  ///< none: until it is replaced
  Time created_time;
};
BOOST_DESCRIBE_STRUCT(Message, (), (message, start_time, end_time, created_time))
struct MessageReply {
  std::optional<Message> cluster_message;
};
BOOST_DESCRIBE_STRUCT(MessageReply, (), (cluster_message))
struct ClusterMessagePutRequest {
  std::string message;
  std::optional<Time> start_time, end_time;
  std::string duration;  ///< "90s", as the API writes durations; instead of end_time
  static bool required(std::string_view name) { return name == "message"; }
};
BOOST_DESCRIBE_STRUCT(ClusterMessagePutRequest, (), (message, start_time, end_time, duration))

asio::awaitable<std::optional<Message>> read_message(Services& s) {
  auto read = [&s] { return kept_setting<Message>(s.store, kSetting); };
  co_return co_await offload(s, std::move(read));
}

asio::awaitable<void> keep(Services& s, std::string text) {
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{kSetting, std::move(text)});
  co_await s.ledger.write(std::move(changes));
}

/// A duration as Go writes it: numbers with units, from hours to seconds.
Result<std::int64_t> seconds_of(const std::string& duration) {
  double seconds = 0;
  const char* at = duration.data();
  const char* end = at + duration.size();
  while (at != end) {
    double number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    const double unit = rest == end ? 0 : *rest == 'h' ? 3600 : *rest == 'm' ? 60 : *rest == 's' ? 1 : 0;
    if (error != std::errc() || unit == 0) break;
    seconds += number * unit;
    at = rest + 1;
  }
  if (at == end && seconds >= 1 && seconds < 1e10) return static_cast<std::int64_t>(seconds);
  return invalid_argument("duration is '{}'; it must be a duration such as 24h, 1h30m or 3600s", duration);
}

asio::awaitable<Result<Empty>> put(Services& s, Context context, ClusterMessagePutRequest request) {
  if (const auto admin = require_admin(context.principal); !admin) co_return tl::unexpected(admin.error());
  if (request.message.empty() || request.message.size() > kBytesMax)
    co_return invalid_argument("the message has {} bytes; it must have 1 to {}", request.message.size(),
                               kBytesMax);
  const auto now = s.ledger.now();
  Message message{.message = std::move(request.message),
                  .start_time = request.start_time.value_or(now),
                  .end_time = request.end_time,
                  .created_time = now};
  if (!request.duration.empty()) {
    const auto seconds = seconds_of(request.duration);
    if (!seconds) co_return tl::unexpected(seconds.error());
    message.end_time = message.start_time + *seconds * kSecond;
  }
  if (message.end_time && *message.end_time < message.start_time)
    co_return invalid_argument("the message ends before it starts; give a later end or a longer duration");
  auto text = json::serialize(json::to_json(message));
  co_await keep(s, std::move(text));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> remove(Services& s, Context context) {
  if (const auto admin = require_admin(context.principal); !admin) co_return tl::unexpected(admin.error());
  co_await keep(s, "");
  co_return Empty{};
}

}  // namespace

asio::awaitable<json::value> cluster_message_now(Services& s) {
  const auto message = co_await read_message(s);
  const auto now = s.ledger.now();
  if (!message || now < message->start_time || (message->end_time && *message->end_time <= now))
    co_return nullptr;
  co_return http::to_wire(*message);
}

void add_cluster_message_routes(http::Router& router, Services& s) {
  const std::string path = "/api/v1/master/cluster_message";
  const std::string tag = "Cluster";
  const std::vector<ErrorCode> denied = {ErrorCode::PermissionDenied};
  router.add<Empty, MessageReply>(
      Verb::Get, path,
      [&s](Context, Empty) -> asio::awaitable<Result<MessageReply>> {
        auto message = co_await read_message(s);
        co_return MessageReply{std::move(message)};
      },
      Doc{.summary = "Get the cluster message, even if it is not shown yet", .tag = tag});
  router.add<ClusterMessagePutRequest, Empty>(
      Verb::Put, path,
      [&s](Context c, ClusterMessagePutRequest r) { return put(s, std::move(c), std::move(r)); },
      Doc{.summary = "Set the cluster message, which all users see", .tag = tag, .errors = denied});
  router.add<Empty, Empty>(
      Verb::Delete, path, [&s](Context c, Empty) { return remove(s, std::move(c)); },
      Doc{.summary = "Delete the cluster message", .tag = tag, .errors = denied});
}

}  // namespace det::master
