#pragma once

#include <optional>
#include <string>

#include "det/base/json.h"

namespace det::cli {

/// One line about how far a trial is, made from the API's experiment and trial:
///
///     Trial 12  RUNNING  1200/2000 batches (60.0%)  loss 0.0312  validation_error 0.021  ETA 1 m 20 s
///
/// Parts that are not known yet are left out. The rest of the time is what the
/// batches since the first look took, carried on.
class ProgressMeter {
 public:
  std::string line(double now_seconds, const json::value& experiment, const json::value& trial);

 private:
  struct Sample {
    double seconds = 0;
    double batches = 0;
  };
  std::optional<Sample> first_;
};

/// How many batches a trial trains at most, where the configuration says it in batches.
std::optional<std::int64_t> length_in_batches(const json::value& experiment);

/// "0.0312": four significant digits.
std::string metric_text(const json::value& metric);

}  // namespace det::cli
