#include "det/master/lists/columns.h"

#include <functional>
#include <map>

#include "det/master/objects.h"

namespace det::master {

json::value at_path(const json::object& o, std::string_view path) {
  if (const auto* whole = o.if_contains(path)) return *whole;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const auto* inner = o.if_contains(path.substr(0, dot));
    if (inner == nullptr || !inner->is_object()) continue;
    if (auto found = at_path(inner->get_object(), path.substr(dot + 1)); !found.is_null()) return found;
  }
  return nullptr;
}

json::value constant(const json::object& hparams, std::string_view path) {
  auto found = at_path(hparams, path);
  if (!found.is_object()) return found;
  const auto* value = found.get_object().if_contains("val");
  return value == nullptr ? json::value() : *value;
}

json::value metric_column(const json::object& summary, const std::string& column) {
  const auto dot = column.find('.'), last = column.rfind('.');
  if (dot == std::string::npos || last == dot) return nullptr;
  auto group = column.substr(0, dot);
  if (group == "training") group = "avg_metrics";
  if (group == "validation") group = "validation_metrics";
  const auto* metrics = summary.if_contains(group);
  if (metrics == nullptr || !metrics->is_object()) return nullptr;
  const auto* found = metrics->get_object().if_contains(column.substr(dot + 1, last - dot - 1));
  if (found == nullptr || !found->is_object()) return nullptr;
  const auto* value = found->get_object().if_contains(column.substr(last + 1));
  return value == nullptr ? json::value() : *value;
}

json::value plain_column(const api::Experiment& e, const std::string& name) {
  static const std::map<std::string, std::function<json::value(const api::Experiment&)>> kColumns = {
      {"id", [](const auto& x) { return json::value(x.id.value()); }},
      {"name", [](const auto& x) { return json::value(x.name); }},
      {"description", [](const auto& x) { return json::value(x.description); }},
      {"tags", [](const auto& x) { return json::to_json(x.labels); }},
      {"forkedFrom",
       [](const auto& x) { return x.forked_from ? json::value(x.forked_from->value()) : json::value(); }},
      {"startTime", [](const auto& x) { return json::value(to_rfc3339(x.start_time)); }},
      {"endTime",
       [](const auto& x) { return x.end_time ? json::value(to_rfc3339(*x.end_time)) : json::value(); }},
      {"duration", [](const auto& x) { return x.duration ? json::value(*x.duration) : json::value(); }},
      {"numTrials", [](const auto& x) { return json::value(x.num_trials); }},
      {"searcherType", [](const auto& x) { return json::value(x.searcher_type); }},
      {"searcherMetric", [](const auto& x) { return json::value(x.searcher_metric); }},
      {"searcherMetricsVal",
       [](const auto& x) {
         return x.best_trial_searcher_metric ? json::value(*x.best_trial_searcher_metric) : json::value();
       }},
      {"user", [](const auto& x) { return json::value(x.username); }},
      {"state", [](const auto& x) { return json::value(x.state.substr(std::string_view("STATE_").size())); }},
      {"resourcePool", [](const auto& x) { return json::value(x.resource_pool); }},
      {"checkpointSize", [](const auto& x) { return json::value(x.checkpoint_size); }},
      {"checkpointCount", [](const auto& x) { return json::value(x.checkpoint_count); }},
      {"progress", [](const auto& x) { return json::value(x.progress); }},
      {"projectId", [](const auto& x) { return json::value(x.project_id); }},
      {"archived", [](const auto& x) { return json::value(x.archived ? "true" : "false"); }},
      {"externalExperimentId",
       [](const auto& x) {
         return x.external_experiment_id ? json::value(*x.external_experiment_id) : json::value();
       }},
  };
  const auto found = kColumns.find(name);
  return found == kColumns.end() ? json::value() : found->second(e);
}

json::value run_column(const api::Experiment& e, const experiment::TrialRecord& trial,
                       const std::string& name) {
  if (name == "id") return trial.id.value();
  if (name == "experimentId") return e.id.value();
  if (name == "experimentName") return boost::json::string(e.name);
  if (name == "experimentDescription") return boost::json::string(e.description);
  if (name == "experimentProgress") return e.progress;
  if (name == "state") {
    const bool active = trial.state == experiment::State::Active;
    const auto state = active ? run_state(e.state) : name_of(trial.state);
    return boost::json::string(state.substr(std::string_view("STATE_").size()));
  }
  if (name == "startTime") return boost::json::string(to_rfc3339(trial.start_time));
  if (name == "endTime") return trial.end_time ? json::value(to_rfc3339(*trial.end_time)) : json::value();
  if (name == "duration")
    return trial.end_time ? json::value((*trial.end_time - trial.start_time) / kSecond) : json::value();
  if (name == "searcherMetricsVal")
    return trial.best_metric ? json::value(*trial.best_metric) : json::value();
  if (name == "isExpMultitrial") return boost::json::string(e.num_trials > 1 ? "true" : "false");
  return plain_column(e, name);
}

}  // namespace det::master
