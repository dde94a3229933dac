#include "det/cli/output/paging.h"

#include <CLI/CLI.hpp>

#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"

namespace det::cli {

void add_paging_flags(CLI::App& app, Paging& paging) {
  app.add_option("--limit", paging.limit,
                 fmt::format("Maximum number of items per page (default: {})", paging.limit))
      ->type_name("N")
      ->check(at_least(1));
  app.add_option("--offset", paging.offset, "Number of items to skip (default: 0)")
      ->type_name("N")
      ->check(at_least(0));
  app.add_option("--pages", paging.pages, "Pages to fetch: 1 or all (default: all)")
      ->type_name("{1,all}")
      ->check(CLI::IsMember({"1", "all"}));
}

Result<json::array> fetch(Session& session, const std::string& path, QueryItems query,
                          std::string_view member, const Paging& paging) {
  if (paging.pages != "1") return session.pages(path, std::move(query), member, paging.limit, paging.offset);
  query.emplace_back("limit", std::to_string(paging.limit));
  query.emplace_back("offset", std::to_string(paging.offset));
  DET_TRY(const auto page, session.get(path, query));
  return list_at(page, member);
}

}  // namespace det::cli
