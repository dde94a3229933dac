#pragma once

#include <string>
#include <string_view>

#include "det/api/objects.h"
#include "det/base/json.h"
#include "det/experiment/records.h"

/// The columns of lists of experiments and runs: what a row has in each. Null: nothing. Pure.
namespace det::master {

/// The member at "a.b.c" of nested objects; a member whose own name has dots is found, too.
json::value at_path(const json::object& o, std::string_view path);
/// A hyperparameter of an experiment that has no best trial: of a constant its value; null for a range.
json::value constant(const json::object& hparams, std::string_view path);
/// "validation.loss.last" in summary metrics; null for a column of another kind.
json::value metric_column(const json::object& summary, const std::string& column);
/// The columns that an experiment and a run have in common, under either's names.
json::value plain_column(const api::Experiment& e, const std::string& name);
/// A run's own columns, then those of its experiment.
json::value run_column(const api::Experiment& e, const experiment::TrialRecord& trial,
                       const std::string& name);

}  // namespace det::master
