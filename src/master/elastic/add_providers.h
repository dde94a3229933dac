#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "det/master/elastic/provisioner.h"

namespace det::master {

/// Where a master is reached, and by what it is known.
struct MasterAddress {
  std::string address;  ///< that it listens on
  std::uint16_t port = 0;
  std::string certificate_file;    ///< empty: plain HTTP
  std::vector<std::string> names;  ///< in the certificate
  std::filesystem::path directory;
};

/// Makes the provider of each pool. An engine that could never serve its pool is an error; one that does not
/// answer may do so later.
Result<void> add_providers(Provisioner& provisioner, const std::map<std::string, ProviderSettings>& providers,
                           const MasterAddress& master);

}  // namespace det::master
