#include "det/searcher/events.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace det::searcher {
namespace {

double number_of(const json::object& body, const char* name) {
  const auto* found = body.if_contains(name);
  return found == nullptr ? std::nan("") : json::to_double(*found).value_or(std::nan(""));
}

ExitedReason reason_of(const std::string& text) {
  if (text == "EXITED_REASON_USER_REQUESTED_STOP") return ExitedReason::UserCanceled;
  if (text == "EXITED_REASON_INVALID_HP" || text == "EXITED_REASON_INIT_INVALID_HP")
    return ExitedReason::InvalidHparams;
  return ExitedReason::Errored;
}

}  // namespace

std::string new_request_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error(fmt::format("cannot read random numbers: {}", std::strerror(errno)));
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::string Event::trial() const {
  return json::text_member(body, "requestId");
}

std::string Event::ended() const {
  static constexpr std::array kOver = {"COMPLETED", "CANCELED",      "ERROR",
                                       "DELETED",   "DELETE_FAILED", "DELETING"};
  auto state = json::text_member(body, "experimentState");
  if (state.starts_with("STATE_")) state.erase(0, 6);
  return kind == "experimentInactive" && std::ranges::find(kOver, state) != kOver.end() ? state : "";
}

Result<std::vector<Event>> read_events(const json::value& answer) {
  std::vector<Event> events;
  const auto* list = answer.is_object() ? answer.get_object().if_contains("searcherEvents") : nullptr;
  if (list == nullptr || !list->is_array())
    return invalid_argument("the server is not a Determined master: its response has no searcherEvents");
  for (const auto& item : list->get_array()) {
    Event event;
    if (item.is_object()) {
      for (const auto& [key, value] : item.get_object()) {
        if (key == "id")
          event.id = json::to_int64(value).value_or(0);
        else if (value.is_object())
          event.kind = key, event.body = value.get_object();
      }
    }
    if (event.id < 1 || event.kind.empty())
      return invalid_argument("the master sent {}, which is not an event", json::serialize(item));
    events.push_back(std::move(event));
  }
  return events;
}

Result<Operations> tell(SearchMethod& method, SearchState& state, const Event& event) {
  const auto trial = event.trial();
  if (event.kind == "initialOperations") return method.initial_operations(state);
  if (event.kind == "experimentInactive") return Operations{};
  if (event.kind == "trialProgress") {
    state.trial_progress[trial] = number_of(event.body, "partialUnits");
    return Operations{};
  }
  if (event.kind == "trialCreated") {
    state.trials_created.insert(trial);
    return method.on_trial_created(state, trial);
  }
  if (event.kind == "validationCompleted") {
    const auto* length = event.body.if_contains("validateAfterLength");
    const auto units = length == nullptr ? 0 : json::to_int64(*length).value_or(0);
    return method.on_validation_completed(state, trial, number_of(event.body, "metric"), units);
  }
  if (event.kind == "trialClosed") {
    state.trials_closed.insert(trial);
    return method.on_trial_closed(state, trial);
  }
  if (event.kind == "trialExitedEarly") {
    state.failures.insert(trial);
    return method.on_trial_exited_early(state, trial,
                                        reason_of(json::text_member(event.body, "exitedReason")));
  }
  return invalid_argument("the master sent the event {}, which this version does not know", event.kind);
}

json::object to_json(const Operation& operation) {
  struct Writer {
    json::object operator()(const Create& o) const {
      json::object what{{"requestId", o.request_id}, {"hyperparams", json::serialize(o.hparams)}};
      if (!o.checkpoint.empty()) what["checkpointUuid"] = o.checkpoint;
      return {{"createTrial", std::move(what)}};
    }
    json::object operator()(const ValidateAfter& o) const {
      const json::object what{{"requestId", o.request_id}, {"length", o.length}};
      return {{"trialOperation", {{"validateAfter", what}}}};
    }
    json::object operator()(const Close& o) const { return {{"closeTrial", {{"requestId", o.request_id}}}}; }
    json::object operator()(const Shutdown& o) const {
      return {{"shutDown", {{"cancel", o.cancel}, {"failure", o.failure}}}};
    }
  };
  return std::visit(Writer{}, operation);
}

json::object progress_json(double fraction) {
  const double bounded = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  return {{"setSearcherProgress", {{"progress", bounded}}}};
}

}  // namespace det::searcher
