#pragma once

#include <string>
#include <string_view>

#include "det/cli/session/session.h"

namespace CLI {
class App;
}

namespace det::cli {

/// How much of a list is wanted: all of it, unless a flag says otherwise.
struct Paging {
  std::int64_t limit = 200;  ///< items a page
  std::int64_t offset = 0;
  std::string pages = "all";
};

/// Adds --limit, --offset and --pages. `--limit` alone is the size of what the master sends at a time.
void add_paging_flags(CLI::App& app, Paging& paging);

/// That much of the list `member` of the answers to GET `path`.
Result<json::array> fetch(Session& session, const std::string& path, QueryItems query,
                          std::string_view member, const Paging& paging);

}  // namespace det::cli
