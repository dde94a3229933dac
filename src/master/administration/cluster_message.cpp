#include "det/master/administration/cluster_message.h"

#include <charconv>

namespace det::master {
namespace {

constexpr std::size_t kMessageBytesMax = 250;

/// A duration as Go writes it: numbers with units, from hours to seconds.
Result<std::int64_t> duration_seconds(const std::string& duration) {
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

}  // namespace

Result<Message> new_cluster_message(ClusterMessagePutRequest request, Time now) {
  if (request.message.empty() || request.message.size() > kMessageBytesMax)
    return invalid_argument("the message has {} bytes; it must have 1 to {}", request.message.size(),
                            kMessageBytesMax);
  Message message{.message = std::move(request.message),
                  .start_time = request.start_time.value_or(now),
                  .end_time = request.end_time,
                  .created_time = now};
  if (!request.duration.empty()) {
    DET_TRY(const auto seconds, duration_seconds(request.duration));
    message.end_time = message.start_time + seconds * kSecond;
  }
  if (message.end_time && *message.end_time < message.start_time)
    return invalid_argument("the message ends before it starts; give a later end or a longer duration");
  return message;
}

bool is_shown(const Message& message, Time now) {
  return message.start_time <= now && (!message.end_time || now < *message.end_time);
}

}  // namespace det::master
