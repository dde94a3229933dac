#pragma once

#include <string>

#include "det/master/administration/cluster_message.h"
#include "det/scheduler/scheduler.h"

namespace det::master {

/// The API's name of a policy, such as "SCHEDULER_TYPE_FAIR_SHARE". It has none for first in, first out,
/// which is shown as the priority policy.
std::string scheduler_type(scheduler::Policy policy);

/// The cluster message if it is to be shown now.
asio::awaitable<std::optional<Message>> cluster_message_now(Services& s);

}  // namespace det::master
