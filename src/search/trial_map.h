#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "det/search/columns.h"
#include "det/search/search_method.h"

namespace det::search {

/// What is known of each trial, by its request id. For searches with a million of them: whoever is looked for
/// is found in a step or two, and a name takes 16 bytes. What is found stays there until the next insertion.
template <typename State>
class TrialMap {
 public:
  std::size_t size() const { return states_.size(); }

  /// Null where the trial is not known. By its UUID or its text, as all that follow.
  const State* find(const Uuid& trial) const {
    const auto it = states_.find(trial);
    return it == states_.end() ? nullptr : &it->second;
  }
  const State* find(const RequestId& trial) const {
    const auto uuid = parse_uuid(trial);
    return uuid ? find(*uuid) : nullptr;
  }
  template <typename Trial>
  State* find(const Trial& trial) {
    return const_cast<State*>(std::as_const(*this).find(trial));
  }
  template <typename Trial>
  bool contains(const Trial& trial) const {
    return find(trial) != nullptr;
  }
  /// Requires: the trial is known.
  template <typename Trial>
  const State& at(const Trial& trial) const {
    const auto* state = find(trial);
    DET_ASSERT(state != nullptr);
    return *state;
  }
  template <typename Trial>
  State& at(const Trial& trial) {
    return const_cast<State&>(std::as_const(*this).at(trial));
  }

  /// False: the trial is known, and stays as it is.
  bool insert(const Uuid& trial, State state = {}) {
    return states_.try_emplace(trial, std::move(state)).second;
  }
  bool insert(const RequestId& trial, State state = {}) { return insert(uuid_of(trial), std::move(state)); }
  bool erase(const Uuid& trial) { return states_.erase(trial) > 0; }
  bool erase(const RequestId& trial) {
    const auto uuid = parse_uuid(trial);
    return uuid && erase(*uuid);
  }

  /// All, in the order of their names: what is done for each is done in the same order everywhere.
  std::vector<std::pair<Uuid, const State*>> in_order() const {
    std::vector<std::pair<Uuid, const State*>> all;
    all.reserve(size());
    for (const auto& [trial, state] : states_) all.emplace_back(trial, &state);
    std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
    return all;
  }

  /// {"trial": [...]}, and a column for each member of the states.
  json::value to_json() const {
    const auto all = in_order();
    auto columns = to_columns<State>(all, [](const auto& one) -> const State& { return *one.second; });
    json::array trials;
    trials.reserve(all.size());
    for (const auto& [trial, state] : all) trials.push_back(json::to_json(trial));
    columns.emplace("trial", std::move(trials));
    return columns;
  }
  std::optional<Error> read_json(const json::value& value, const std::string& path) {
    const auto* columns = value.if_object();
    const auto* named = columns == nullptr ? nullptr : columns->if_contains("trial");
    if (named == nullptr) return json::read(value, states_, path);  // as earlier releases wrote: by name
    std::vector<Uuid> trials;
    if (auto error = json::read(*named, trials, json::member_path(path, "trial"))) return error;
    std::vector<State> states(trials.size());
    if (auto error = read_columns(*columns, states, path)) return error;
    states_.clear();
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (!insert(trials[i], std::move(states[i])))
        return json::path_error(json::member_path(path, "trial"), "names a trial twice");
    return std::nullopt;
  }

 private:
  struct Hash {
    std::size_t operator()(const Uuid& uuid) const { return uuid.high ^ uuid.low * 0x9e3779b97f4a7c15; }
  };
  boost::unordered_flat_map<Uuid, State, Hash> states_;
};

}  // namespace det::search
