#include "det/master/elastic/engines/ray_text.h"

#include <cstdlib>

namespace det::master {

json::object ray_bundle(const ProviderSettings& settings) {
  json::object bundle;
  const int cpus = settings.gpus ? settings.cpus_per_node
                                 : std::max(settings.cpus_per_node, settings.limits.slots_per_node);
  if (cpus > 0) bundle["CPU"] = cpus;
  if (settings.gpus) bundle["GPU"] = settings.limits.slots_per_node;
  for (const auto& [name, amount] : settings.resources) bundle[name] = amount;
  return bundle;
}

json::object ray_submission(const ProviderSettings& settings, const PilotSettings& pilot,
                            const EngineRequest& request, std::string_view keeper) {
  // Each node has its own name, as the keeper knows it.
  auto script = pilot_script(settings, pilot, request, "--node \"$DET_NODE\"");
  json::object work{{"script", std::move(script)},   {"environment", {{"DET_PILOT_TOKEN", request.token}}},
                    {"work_dir", settings.work_dir}, {"base_name", request.name},
                    {"log_dir", pilot.log_dir},      {"grace", settings.limits.grace_period}};
  if (settings.time_limit > 0) work["limit"] = settings.time_limit;
  return {{"op", "submit"},   {"name", request.name},    {"nodes", request.nodes},
          {"keeper", keeper}, {"work", std::move(work)}, {"bundle", ray_bundle(settings)}};
}

Result<std::vector<EngineJob>> read_ray_jobs(const json::object& answer, std::int64_t time_limit) {
  const auto text = [](const json::object& object, const char* name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  const auto* list = answer.if_contains("jobs");
  if (list == nullptr || !list->is_array())
    return fail(ErrorCode::Unavailable, "Ray: the helper listed no jobs");
  std::vector<EngineJob> jobs;
  for (const auto& value : list->get_array()) {
    if (!value.is_object())
      return fail(ErrorCode::Unavailable, "Ray: the helper listed {}", json::serialize(value));
    const auto& object = value.get_object();
    EngineJob job{.name = text(object, "name"), .id = text(object, "id"), .reason = text(object, "reason")};
    const auto state = text(object, "state");
    job.state = state == "running" ? EngineJob::State::Running
                : state == "ended" ? EngineJob::State::Ended
                                   : EngineJob::State::Pending;
    if (const auto* started = object.if_contains("started");
        started != nullptr && started->is_int64() && time_limit > 0)
      job.ends = Time{(started->get_int64() + time_limit) * kSecond};
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<json::object> read_ray_answer(const std::string& line) {
  auto answer = json::parse(line);
  if (!answer || !answer->is_object())
    return fail(ErrorCode::Unavailable, "Ray: the helper wrote '{}'", line);
  auto& object = answer->get_object();
  const auto* error = object.if_contains("error");
  if (error == nullptr) return std::move(object);
  const std::string words = error->is_string() ? std::string(error->get_string()) : json::serialize(*error);
  if (const auto* silent = object.if_contains("silent"); silent != nullptr && *silent == true)
    return fail(ErrorCode::Unavailable, "Ray does not answer: {}", words);
  return fail(ErrorCode::FailedPrecondition, "Ray: {}", words);
}

}  // namespace det::master
