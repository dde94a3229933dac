#pragma once

#include "det/search/search_method.h"

namespace det::search {

/// Draws every hyperparameter in ascending order of names, nested ones at the
/// place of their parent (searchers.md §2, §3.1). Constants draw nothing.
/// Requires: check_samplable.
json::object sample(const config::Hyperparameters& hyperparameters, config::Generation generation,
                    Random& random);

/// A new trial with these values: draws its request id, then its seed.
Create create_trial(json::object hparams, Random& random);

/// Whether every range has a value in it.
Result<void> check_samplable(const config::Hyperparameters& hyperparameters, config::Generation generation);

}  // namespace det::search
