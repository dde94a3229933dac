// Which checkpoints an experiment would keep, looked at before its policy is changed.

#include <charconv>

#include "det/master/checkpoints/collector.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Verb;

Result<std::int64_t> number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || value < 0)
    return invalid_argument("{} is '{}'; it must be a whole number, 0 or more", name, text);
  return value;
}

Result<experiment::Reconfiguration> read_policy(const http::Request& request) {
  experiment::Reconfiguration policy;
  for (const auto& [name, field] : {std::pair{"save_experiment_best", &policy.save_experiment_best},
                                    std::pair{"save_trial_best", &policy.save_trial_best},
                                    std::pair{"save_trial_latest", &policy.save_trial_latest}}) {
    const std::string key = name;
    const auto* text = request.query.find(http::camel_case(key));
    if (text == nullptr)
      return invalid_argument(
          "{} is required; give save_experiment_best, save_trial_best and save_trial_latest", key);
    DET_TRY(*field, number(key, *text));
  }
  return policy;
}

/// The checkpoints that the policy would delete, as the CLI of the original reads them.
asio::awaitable<Result<json::object>> preview(Services& s, http::Request request, std::any principal) {
  if (const auto user = require_user(principal); !user) co_return tl::unexpected(user.error());
  const auto policy = read_policy(request);
  if (!policy) co_return tl::unexpected(policy.error());
  const auto id = number("experiment", request.parameters["id"]);
  if (!id) co_return tl::unexpected(id.error());
  auto read = [&s, id = ExperimentId{*id}] { return s.store.experiment(id); };
  auto record = co_await offload(s, std::move(read));
  if (!record || record->state == experiment::State::Deleted)
    co_return not_found("experiment '{}' not found", *id);
  auto keep = s.collector.needed();
  auto config = experiment::reconfigured(std::move(record->config), *policy);
  if (!config) co_return tl::unexpected(config.error());
  record->config = *std::move(config);
  auto list = [&s, changed = *std::move(record), keep] {
    json::object reply;
    reply["metric_name"] = searcher_metric(changed.config).name;
    json::array checkpoints;
    for (const auto& checkpoint : collectable(s.store, changed, keep))
      checkpoints.push_back(http::to_wire(read_checkpoint(s.store, checkpoint)));
    reply["checkpoints"] = std::move(checkpoints);
    return reply;
  };
  co_return co_await offload(s, std::move(list));
}

}  // namespace

void add_policy_routes(http::Router& router, Services& s) {
  router.add_closed_raw(Verb::Get, "/experiments/{id}/preview_gc",
                        [&s](http::Request request, std::any caller) -> asio::awaitable<http::Response> {
                          auto reply = co_await preview(s, std::move(request), std::move(caller));
                          if (!reply) co_return http::error_response(reply.error());
                          co_return http::json_response(json::serialize(*reply));
                        });
}

}  // namespace det::master
