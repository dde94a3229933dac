#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// What lists show of trials, read for a page of them at once.
namespace det::store {

/// See Store::overviews.
std::map<TrialId, TrialOverview> read_overviews(Connection& connection, const OverviewQuery& query);

}  // namespace det::store
