#pragma once

#include <string>

#include "det/searcher/method.h"

namespace det::searcher {

/// One event of a search, as the master tells it.
struct Event {
  std::int64_t id = 0;
  std::string kind;  ///< "trialCreated"
  json::object body;

  std::string trial() const;  ///< The request id; empty where it is of no trial.
  std::string ended() const;  ///< "COMPLETED", where it says that the experiment is over; else empty.
};

/// The list of an answer. InvalidArgument where it is none.
Result<std::vector<Event>> read_events(const json::value& answer);

/// Tells the method of the event, and remembers it in `state`. InvalidArgument: an event of a newer master.
Result<Operations> tell(SearchMethod& method, SearchState& state, const Event& event);

/// As the master reads it.
json::object to_json(const Operation& operation);
json::object progress_json(double fraction);

}  // namespace det::searcher
