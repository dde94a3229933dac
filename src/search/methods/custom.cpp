#include "det/search/methods/custom.h"

namespace det::search {

using Kind = SearchEvent::Kind;

namespace {

struct Saved {
  std::string search_method_type = "custom";
  std::vector<SearchEvent> events;
  std::int64_t next_event = 1;
  double progress = 0;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (search_method_type, events, next_event, progress))

}  // namespace

void CustomSearch::add(SearchEvent event) {
  event.id = next_event_++;
  events_.push_back(std::move(event));
}

Operations CustomSearch::start(Random&) {
  add({.kind = Kind::InitialOperations});
  return {};
}

Operations CustomSearch::trial_created(const RequestId& trial, Random&) {
  add({.kind = Kind::TrialCreated, .request_id = trial});
  return {};
}

Operations CustomSearch::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                              Random&) {
  add({.kind = Kind::ValidationCompleted,
       .request_id = trial,
       .value = smaller_is_better_ ? metric : -metric,  // as the trial said it
       .length = length});
  return {};
}

Operations CustomSearch::trial_exited_early(const RequestId& trial, ExitedReason reason, Random&) {
  add({.kind = Kind::TrialExitedEarly, .request_id = trial, .reason = reason});
  return {};
}

Operations CustomSearch::trial_closed(const RequestId& trial, Random&) {
  add({.kind = Kind::TrialClosed, .request_id = trial});
  return {};
}

void CustomSearch::trial_progressed(const RequestId& trial, double units) {
  const auto [report, added] = reports_.try_emplace(trial, next_event_);
  if (added)
    add({.kind = Kind::TrialProgress, .request_id = trial, .value = units});
  else
    events_[static_cast<std::size_t>(report->second - events_.front().id)].value = units;
}

void CustomSearch::inactive(const std::string& state) {
  add({.kind = Kind::ExperimentInactive, .state = state});
}

Result<void> CustomSearch::find(std::int64_t event_id) const {
  if (events_.empty() || event_id < events_.front().id || event_id > events_.back().id)
    return not_found("event {} not found", event_id);
  return {};
}

void CustomSearch::answered(std::int64_t event_id) {
  for (; !events_.empty() && events_.front().id <= event_id; events_.pop_front())
    if (events_.front().kind == Kind::TrialProgress) reports_.erase(events_.front().request_id);
}

json::value CustomSearch::snapshot() const {
  Saved saved{.events = {events_.begin(), events_.end()}, .next_event = next_event_, .progress = progress_};
  return json::to_json(saved);
}

Result<void> CustomSearch::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "custom")
    return invalid_argument("search_method_type is \"{}\"; must be \"custom\"", saved.search_method_type);
  auto expected = saved.next_event - static_cast<std::int64_t>(saved.events.size());
  for (const auto& event : saved.events)
    if (event.id != expected++)
      return invalid_argument("events has id {} where {} must be", event.id, expected - 1);
  events_.assign(saved.events.begin(), saved.events.end());
  next_event_ = saved.next_event;
  progress_ = saved.progress;
  reports_.clear();
  for (const auto& event : events_)
    if (event.kind == Kind::TrialProgress) reports_.emplace(event.request_id, event.id);
  return {};
}

bool is_request_id(std::string_view text) {
  return parse_uuid(text).has_value();
}

Result<std::unique_ptr<SearchMethod>> make_custom(const config::ExperimentConfig& config) {
  return std::make_unique<CustomSearch>(config.searcher.smaller_is_better);
}

}  // namespace det::search
