#include "det/master/lists/wanted.h"

#include "det/master/lists/columns.h"
#include "det/master/lists/expression.h"
#include "det/master/lists/grouping.h"
#include "det/master/lists/narrow.h"
#include "det/master/rights/rights.h"

namespace det::master {

Result<Wanted> parse_wanted(Services& s, const std::any& principal, const FindRequest& request) {
  Wanted wanted;
  DET_TRY(wanted.filter, parse_filter(request.filter));
  DET_TRY(wanted.sort, parse_sort(request.sort));
  if (!request.group_by.empty()) {
    wanted.columns.push_back(request.group_by);
    wanted.group = {request.group_by, group_key(request.group_value)};
  }
  if (request.limit < -1 || request.limit > 100'000)
    return invalid_argument("limit is {}; it must be from 0 to 100000", request.limit);
  if (request.query.empty()) return wanted;
  DET_TRY(const auto user, require_user(principal));
  DET_TRY(auto typed, parse_expression(request.query, {.me = user.username, .now = s.ledger.now()}));
  if (typed.any_column([](const std::string& column) { return column == "archived"; }))
    wanted.filter.show_archived = true;
  wanted.filter.root = {.join = Condition::Join::And,
                        .children = {std::move(wanted.filter.root), std::move(typed)}};
  return wanted;
}

std::vector<std::size_t> select(const std::vector<Row>& rows, const Wanted& wanted) {
  std::vector<std::size_t> chosen;
  std::vector<std::vector<json::value>> keys(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!matches(wanted.filter.root, rows[i])) continue;
    if (wanted.group && group_key(rows[i](wanted.group->first)) != wanted.group->second) continue;
    for (const auto& key : wanted.sort) keys[i].push_back(rows[i](key.column));
    chosen.push_back(i);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](auto a, auto b) {
    for (std::size_t k = 0; k < wanted.sort.size(); ++k) {
      if (before(keys[a][k], keys[b][k], wanted.sort[k].descending)) return true;
      if (before(keys[b][k], keys[a][k], wanted.sort[k].descending)) return false;
    }
    return false;
  });
  return chosen;
}

asio::awaitable<std::vector<api::Experiment>> experiments_of(Services& s, const std::any& principal,
                                                             std::optional<std::int64_t> project,
                                                             const Filter& filter, bool runs) {
  auto query = narrowed(s, filter.root, runs);
  query.project_id = project;
  query.projects = Sight(s, principal, access::Permission::ViewExperimentMetadata).projects();
  if (!filter.show_archived) query.archived = false;
  query.page.descending = true;
  auto read = [&s, query] { return s.store.list_experiments(query); };
  const auto found = co_await offload(s, std::move(read));
  std::vector<api::Experiment> experiments;
  for (const auto& summary : found.experiments) experiments.push_back(to_api(s, summary));
  co_return experiments;
}

std::vector<TrialId> best_trials(std::span<const api::Experiment> experiments) {
  std::vector<TrialId> trials;
  for (const auto& e : experiments)
    if (e.best_trial_id) trials.push_back(*e.best_trial_id);
  return trials;
}

Details::Details(store::Store& store, std::span<const api::Experiment> experiments, const Wanted& wanted) {
  const auto best = best_trials(experiments);
  if (wanted.needs_metrics()) metrics_ = store.summaries(best);
  if (!wanted.needs_hyperparameters()) return;
  for (auto& trial : store.trials(best)) drawn_.emplace(trial.id, std::move(trial.hparams));
  std::vector<ExperimentId> others;
  for (const auto& e : experiments)
    if (!e.best_trial_id) others.push_back(e.id);
  for (auto& [id, record] : store.experiments(others))
    if (auto* found = record.config.if_contains("hyperparameters"); found != nullptr && found->is_object())
      configured_.emplace(id, std::move(found->get_object()));
}

json::value Details::column(const api::Experiment& e, const std::string& name) const {
  if (name.find('.') == std::string::npos) return plain_column(e, name);
  const bool metric = !name.starts_with("hp.");
  const auto path = metric ? std::string_view() : std::string_view(name).substr(3);
  if (!e.best_trial_id) {
    const auto found = configured_.find(e.id);
    return metric || found == configured_.end() ? json::value() : constant(found->second, path);
  }
  const auto& of_trials = metric ? metrics_ : drawn_;
  const auto found = of_trials.find(*e.best_trial_id);
  if (found == of_trials.end()) return nullptr;
  return metric ? metric_column(found->second, name) : at_path(found->second, path);
}

std::vector<Row> Details::rows(std::span<const api::Experiment> experiments) const {
  std::vector<Row> rows;
  for (const auto& e : experiments)
    rows.emplace_back([this, &e](const std::string& name) { return column(e, name); });
  return rows;
}

}  // namespace det::master
