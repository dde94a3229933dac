#pragma once

#include <stdexcept>
#include <string>

#include "det/pytorch/export.h"

namespace det::pytorch {

/// The trial uses the library in a way that cannot work. The message says what was found and what the rule
/// is.
class DET_PYTORCH_API UsageError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Thrown by a trial whose hyperparameters make no sense together: the trial ends, is not started again, and
/// the search goes on without it. In Python: det.InvalidHP.
class DET_PYTORCH_API InvalidHP : public std::runtime_error {
 public:
  explicit InvalidHP(const std::string& why = "invalid hyperparameters") : std::runtime_error(why) {}
};

}  // namespace det::pytorch
