#include "det/master/web.h"

#include "det/http/static_files.h"

namespace det::webui {
det::http::EmbeddedFiles files();
}

namespace det::master {

void add_web(http::Router& router) { http::add_static_files(router, "/det", webui::files()); }

}  // namespace det::master
