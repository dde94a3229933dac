#pragma once

#include "det/master/services.h"

/// What calls of the processes of an allocation have in common.
namespace det::master {

/// Whether the caller is this allocation, and it is not over: PermissionDenied, Gone.
Result<void> require_allocation(Services& s, const std::any& principal, const std::string& named);

/// Handles one event for which the reply says nothing.
asio::awaitable<Result<http::Empty>> heard(Services& s, http::Context context, cluster::Event event);

}  // namespace det::master
