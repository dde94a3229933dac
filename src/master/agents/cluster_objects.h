#pragma once

#include <string>

#include "det/scheduler/scheduler.h"

namespace det::master {

/// "SCHEDULER_TYPE_FAIR_SHARE". The API has no name for first in, first out: it is the policy by priority
/// for those who know only that.
std::string scheduler_type(scheduler::Policy policy);

/// The administrators' message, if one is to be shown now; else null.
asio::awaitable<json::value> cluster_message_now(Services& s);

}  // namespace det::master
