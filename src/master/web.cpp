#include "det/master/web.h"

#include "det/http/server/static_files.h"
#include "webui_files.h"

namespace det::master {

void add_web(http::Router& router) {
  http::add_static_files(router, "/det", webui::files());
}

}  // namespace det::master
