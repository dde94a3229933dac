#pragma once

#include <memory>
#include <string>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/master/master.h"

namespace det::commands {

/// Takes `db` out of the master's configuration, as the target that libpq takes; empty: there is none.
///
///     db:
///       host: db.example.com
///       port: 5432
///       user: determined
///       password: secret          # or DET_DB_PASSWORD, PGPASSWORD, or ~/.pgpass
///       name: determined
///       ssl_mode: verify-full     # disable, allow, prefer, require, verify-ca
///       ssl_root_cert: ca.pem
///
/// InvalidArgument names what is not known or wrong.
Result<std::string> take_database(json::object& configuration);

/// The same configuration as it may be shown.
void mask_database(json::object& configuration);

/// That `--db` names a PostgreSQL server.
Result<void> check_database(const std::string& target);

/// The target with the password in the environment variable DET_DB_PASSWORD, which is then taken away.
std::string with_password(std::string target);

/// The store of a PostgreSQL database, once this master leads; until then calls to its address are answered
/// with 503. Nothing: SIGINT or SIGTERM ended the wait.
Result<std::unique_ptr<store::Store>> open_database(const master::MasterOptions& options);

}  // namespace det::commands
