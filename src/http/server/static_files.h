#pragma once

#include <string>
#include <string_view>

#include "det/http/message.h"
#include "det/http/routing/router.h"
#include "det/http/server/embedded.h"

namespace det::http {

/// The response for one path below the mount, "/assets/main-1a2b.js": the file
/// with its type and ETag, 304 where the browser has it, gzip where the browser
/// takes it and "<path>.gz" was embedded too. A path without an extension is a
/// view of the page and gets index.html; an unknown file gets 404.
///
/// Files below /assets/ have their content's hash in their names and may be
/// kept for ever; all others are asked for again each time.
Response static_file(EmbeddedFiles files, const Request& request, std::string_view path);

/// Serves `files` at `mount` ("/det") and below, and sends "/" there.
/// Requires: `files` live as long as the router (they are constants).
void add_static_files(Router& router, const std::string& mount, EmbeddedFiles files);

}  // namespace det::http
