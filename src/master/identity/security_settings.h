#pragma once

#include "det/access/decision.h"
#include "det/access/rate.h"
#include "det/base/error.h"
#include "det/base/json.h"

namespace det::master {

struct SecuritySettings {
  access::Mode authz = access::Mode::Basic;
  int audit_days = 90;
  access::RateLimit::Limits rate_limit{};
  std::string tls_certificate;  ///< a file; empty: the master speaks plain HTTP
  std::string tls_key;          ///< set where the certificate is
};

/// Takes `security` out of the master's configuration, and leaves the rest:
///
///     security:
///       authz: {type: rbac}    # or basic
///       audit_days: 90         # how long the audit log remembers
///       tls: {cert: master.crt, key: master.key}
///       rate_limit: {per_second: 5000, burst: 50000}    # of each user; per_second 0: no limit
///
/// InvalidArgument names what is not known or wrong.
Result<SecuritySettings> take_security(json::object& configuration);

/// That there are both files or neither.
Result<void> check_tls_files(const std::string& certificate, const std::string& key);

}  // namespace det::master
