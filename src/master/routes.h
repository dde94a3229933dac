#pragma once

#include <cstddef>

#include "det/http/message.h"
#include "det/http/routing/router.h"
#include "det/master/services.h"

namespace det::master {

/// Adds the routes of all folders of the master, except those that depend on its options.
void add_all_routes(http::Router& router, Services& services);

/// How many bytes the body of this request may have.
std::size_t body_limit(const http::Request& head);

}  // namespace det::master
