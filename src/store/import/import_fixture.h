#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "det/store/contract/contract_fixture.h"
#include "det/store/import/import.h"

namespace det::store {

/// A database of the original's shape, and a directory for a master.
class PostgresImport : public testing::Test {
 protected:
  PostgresImport() {
    server.database("original");
    server.execute("original", sql());
  }
  ~PostgresImport() override { server.drop("original"); }

  static std::string sql() {
    std::stringstream text;
    text << std::ifstream(DET_SOURCE_DIR "/import/testing/original_0_38.sql").rdbuf();
    return text.str();
  }
  Result<ImportReport> import_into(const std::string& into) {
    return import_determined({.from = server.url("original"), .into = into});
  }
  std::string refused(const Result<ImportReport>& report) {
    return report ? "imported" : report.error().message();
  }
  std::unique_ptr<Store> open() { return *open_sqlite(directory.path() / "determined.db", SqliteSettings{}); }
  static const ImportCount& count(const ImportReport& report, std::string_view what) {
    static const ImportCount none;
    for (const auto& count : report.counts)
      if (count.what == what) return count;
    return none;
  }
  static std::string why(const std::vector<ImportNote>& notes, std::string_view what) {
    std::string all;
    for (const auto& note : notes)
      if (note.what == what) all += note.why + ";";
    return all;
  }
  static std::string why(const ImportReport& report, std::string_view what) {
    return why(report.left_out, what);
  }

  PostgresServer& server = PostgresServer::shared();
  TemporaryDirectory directory;
  std::string into = directory.path().string();
};

}  // namespace det::store
