#include "det/search/halving/tournament.h"

namespace det::search {

Tournament::Tournament(std::vector<std::unique_ptr<SearchMethod>> searches)
    : searches_(std::move(searches)) {}

Operations Tournament::owned(std::size_t search, Operations operations) {
  for (const auto& operation : operations)
    if (const auto* create = std::get_if<Create>(&operation))
      table_.insert(create->request_id, static_cast<std::uint32_t>(search));
  return operations;
}

Operations Tournament::start(Random& random) {
  Operations all;
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    auto operations = owned(i, searches_[i]->start(random));
    all.insert(all.end(), std::make_move_iterator(operations.begin()),
               std::make_move_iterator(operations.end()));
  }
  return all;
}

Operations Tournament::trial_created(const RequestId& trial, Random& random) {
  const auto i = owner(trial);
  return owned(i, searches_[i]->trial_created(trial, random));
}

Operations Tournament::validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                            Random& random) {
  const auto i = owner(trial);
  return owned(i, searches_[i]->validation_completed(trial, metric, length, random));
}

Operations Tournament::trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) {
  const auto i = owner(trial);
  return owned(i, searches_[i]->trial_exited_early(trial, reason, random));
}

Operations Tournament::trial_closed(const RequestId& trial, Random& random) {
  const auto i = owner(trial);
  table_.erase(trial);
  return owned(i, searches_[i]->trial_closed(trial, random));
}

void Tournament::trial_progressed(const RequestId& trial, double units) {
  searches_[owner(trial)]->trial_progressed(trial, units);
}

double Tournament::progress() const {
  double sum = 0;
  for (const auto& search : searches_) sum += search->progress();
  return sum / static_cast<double>(searches_.size());
}

Operations Tournament::resized(Random& random) {
  Operations all;
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    auto operations = owned(i, searches_[i]->resized(random));
    all.insert(all.end(), std::make_move_iterator(operations.begin()),
               std::make_move_iterator(operations.end()));
  }
  return all;
}

Operations Tournament::run_again(std::vector<Again>& trials, Random& random) {
  Operations all;
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    auto operations = owned(i, searches_[i]->run_again(trials, random));
    all.insert(all.end(), std::make_move_iterator(operations.begin()),
               std::make_move_iterator(operations.end()));
  }
  return all;
}

namespace {

struct Saved {
  std::string search_method_type = "tournament";
  std::vector<json::value> sub_search_states;
  TrialMap<std::uint32_t> trial_table;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (search_method_type, sub_search_states, trial_table))

}  // namespace

json::value Tournament::snapshot() const {
  json::array states;
  for (const auto& search : searches_) states.push_back(search->snapshot());
  return json::object{{"search_method_type", "tournament"},
                      {"sub_search_states", std::move(states)},
                      {"trial_table", table_.to_json()}};
}

Result<void> Tournament::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  if (saved.search_method_type != "tournament")
    return invalid_argument("search_method_type is \"{}\"; must be \"tournament\"", saved.search_method_type);
  if (saved.sub_search_states.size() != searches_.size())
    return invalid_argument("sub_search_states has {} entries; the configuration makes {}",
                            saved.sub_search_states.size(), searches_.size());
  for (const auto& [trial, search] : saved.trial_table.in_order())
    if (*search >= searches_.size())
      return invalid_argument("trial_table.{} is {}; must be below {}", uuid_text(trial), *search,
                              searches_.size());
  for (std::size_t i = 0; i < searches_.size(); ++i)
    if (auto restored = searches_[i]->restore(saved.sub_search_states[i]); !restored) return restored;
  table_ = std::move(saved.trial_table);
  return {};
}

}  // namespace det::search
