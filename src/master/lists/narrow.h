#pragma once

#include "det/master/lists/filter.h"
#include "det/master/services.h"

namespace det::master {

/// What of a filter the database can answer: a query that finds everything that can match, and perhaps more.
/// `runs`: the rows are trials, whose IDs and states are not those of their experiments.
store::ExperimentQuery narrowed(Services& s, const Condition& root, bool runs);

}  // namespace det::master
