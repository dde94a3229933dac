#pragma once

#include "det/http/routing/router.h"

namespace det::master {

/// Serves the browser's pages, which are part of the binary, at /det.
void add_web(http::Router& router);

}  // namespace det::master
