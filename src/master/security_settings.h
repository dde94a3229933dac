#pragma once

#include "det/access/decision.h"
#include "det/base/error.h"
#include "det/base/json.h"

namespace det::master {

struct SecuritySettings {
  access::Mode authz = access::Mode::Basic;
  int audit_days = 90;
};

/// Takes `security` out of the master's configuration, and leaves the rest:
///
///     security:
///       authz: {type: rbac}    # or basic
///       audit_days: 90         # how long the audit log remembers
///
/// InvalidArgument names what is not known or wrong.
Result<SecuritySettings> take_security(json::object& configuration);

}  // namespace det::master
