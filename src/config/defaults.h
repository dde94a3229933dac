#pragma once

#include "det/config/experiment_config.h"
#include "det/config/schema/schema.h"

namespace det::config {

/// Which generation a merged document is written in: in steps if its searcher
/// counts in steps, in time if it has max_time, else in lengths.
Generation generation_of(const json::object& document);

/// Puts the description's defaults where nothing was given, and brings what was
/// given to one form: integers as integers, hyperparameters with their type,
/// labels as a list, `gpu` as cuda. Applied again it changes nothing.
json::object with_defaults(const json::object& merged, Generation generation);
/// The same for the configuration of a task that is no trial.
json::object with_task_defaults(const schema::Type& type, const json::object& merged);

/// The names of the other generation beside those that the user wrote, so that
/// code for either finds its own: max_steps gets a max_length, batches_per_step a
/// scheduling_unit, description a name.
void translate_steps(json::object& document, Generation generation);

}  // namespace det::config
