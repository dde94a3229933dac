#pragma once

#include <optional>
#include <string>

#include "det/base/error.h"
#include "det/det/paths.h"
#include "det/master/master.h"

namespace CLI {
class App;
}

namespace det::commands {

/// The options of `det master`, and of `det up` for its master.
class MasterFlags {
 public:
  void add_to(CLI::App& app);

  /// After parsing: reads the configuration file, which options precede, and checks what it can without a
  /// database.
  Result<void> finish();

  master::MasterOptions options{.directory = default_directory()};
  bool verbose = false;

 private:
  Result<void> read_config_file();

  std::string config_file_;
  std::string authz_;
  std::optional<int> idle_seconds_;
};

}  // namespace det::commands
