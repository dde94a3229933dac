#pragma once

#include "det/store/sql/sql.h"

namespace det::store {

/// Whether rows of deleted experiments wait for their removal.
bool purge_pending(Connection& connection);
/// Removes some thousand of them, inside the caller's transaction.
void purge_some(Connection& connection);

}  // namespace det::store
