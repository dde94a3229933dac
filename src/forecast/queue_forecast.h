#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "det/scheduler/pool_state.h"

/// When jobs that wait in a queue will start, if those before them go on as they do now. The scheduler of the
/// pool decides, in virtual time. Pure.
namespace det::forecast {

struct QueueQuestion {
  std::vector<scheduler::Agent> agents;
  std::vector<scheduler::Request> requests;  ///< of jobs that run and that wait
  scheduler::Options options;
  /// By job (`Request::group`): the slot-seconds that it has still to use. A job that is missing never ends.
  std::map<std::string, double> work;
};

/// Seconds from now.
struct JobOutlook {
  std::optional<double> start;  ///< of the first of its requests that waits; none: not in sight
  std::optional<double> end;    ///< none: not in sight
  friend bool operator==(const JobOutlook&, const JobOutlook&) = default;
};

/// The work of a job is divided among its requests in proportion to their slots: each runs so long that all
/// of them together have done it. Jobs that give way start where they stopped. No machine comes or goes.
/// `give_up` is asked now and then; what is not known by then is not in sight.
std::map<std::string, JobOutlook> queue_forecast(const QueueQuestion& question,
                                                 const std::function<bool()>& give_up = {});

}  // namespace det::forecast
