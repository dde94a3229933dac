// `det migrate`: a master's state from SQLite to PostgreSQL, or back.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "det/det/commands.h"
#include "det/store/move.h"

namespace det::commands {

int migrate(std::vector<std::string> arguments) {
  CLI::App app(
      "Copy the state of a master from SQLite to PostgreSQL, or back, while no master runs. The copy is read "
      "back "
      "and compared before it counts; the source stays.",
      "det migrate");
  std::string from, to;
  const auto* places = "sqlite:DIR or postgres://USER@HOST:PORT/NAME";
  app.add_option("--from", from, std::string("Database to copy: ") + places)->required();
  app.add_option("--to", to, std::string("New or empty database: ") + places)->required();
  if (const auto code = parse(app, std::move(arguments))) return *code;
  std::printf("%-24s %12s  %s\n", "table", "rows", "checksum");
  const auto moved = store::move_store(from, to, [](const store::MovedTable& table) {
    std::printf("%-24s %12lld  %016llx\n", table.name.c_str(), static_cast<long long>(table.rows),
                static_cast<unsigned long long>(table.checksum));
    std::fflush(stdout);
  });
  if (!moved) {
    std::fprintf(stderr, "Failed to migrate: %s\n", moved.error().message().c_str());
    return 1;
  }
  std::int64_t rows = 0;
  for (const auto& table : *moved) rows += table.rows;
  std::printf("Copied %lld rows of %zu tables; all are the same in both databases.\n",
              static_cast<long long>(rows), moved->size());
  return 0;
}

}  // namespace det::commands
