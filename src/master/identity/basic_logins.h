#pragma once

#include <map>
#include <string>

#include "det/master/services.h"

namespace det::master {

/// Callers of MLflow's routes that send a name and a password with each call: the first logs in, and its
/// session serves the others until it ends.
class BasicLogins {
 public:
  explicit BasicLogins(Services& s) : s_(s) {}

  /// Who calls. Everybody else is left to Auth.
  asio::awaitable<Result<std::any>> authenticate(const http::Request& request);

 private:
  asio::awaitable<Result<std::string>> log_in(std::string header, std::string remote);

  Services& s_;
  std::map<std::string, std::string> tokens_;  // by the digest of the header
};

}  // namespace det::master
