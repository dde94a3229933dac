#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "det/base/json.h"

/// Decisions about the administrators' message to all users, without I/O.
namespace det::master {

struct Message {
  std::string message;
  Time start_time;
  std::optional<Time> end_time;  ///< none: until it is replaced
  Time created_time;
};
BOOST_DESCRIBE_STRUCT(Message, (), (message, start_time, end_time, created_time))

/// PUT /api/v1/master/cluster_message
struct ClusterMessagePutRequest {
  std::string message;
  std::optional<Time> start_time, end_time;
  std::string duration;  ///< "90s", as the API writes durations; instead of end_time
  static bool required(std::string_view name) { return name == "message"; }
};
BOOST_DESCRIBE_STRUCT(ClusterMessagePutRequest, (), (message, start_time, end_time, duration))

/// The message that the request sets; without a start it starts now.
Result<Message> new_cluster_message(ClusterMessagePutRequest request, Time now);

/// Whether users see the message at that time.
bool is_shown(const Message& message, Time now);

}  // namespace det::master
