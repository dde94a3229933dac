#include "det/master/experiments/experiment_patch.h"

#include <set>

#include "det/base/text.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using experiment::ExperimentRecord;
using experiment::Reconfiguration;

Result<std::int64_t> integer(std::string_view name, const json::value& value, const char* or_else) {
  if (const auto number = json::to_int64(value)) return *number;
  return invalid_argument("resources.{} is {}; it must be an integer{}", name, json::serialize(value),
                          or_else);
}

Result<void> read_resources(const json::value& resources, Reconfiguration& change) {
  if (resources.is_null()) return {};
  if (!resources.is_object())
    return invalid_argument("resources is {}; it must be an object", json::serialize(resources));
  for (const auto& [key, value] : resources.get_object()) {
    const std::string_view name(key);
    if (name == "maxSlots" || name == "max_slots") {
      change.no_max_slots = value.is_null();
      if (value.is_null()) continue;
      DET_TRY(change.max_slots, integer("max_slots", value, " or null"));
    } else if (name == "weight") {
      const auto number = json::to_double(value);
      if (!number)
        return invalid_argument("resources.weight is {}; it must be a number", json::serialize(value));
      change.weight = *number;
    } else if (name == "priority") {
      DET_TRY(change.priority, integer("priority", value, ""));
    } else if (name == "resourcePool" || name == "resource_pool" || name == "agentLabel" ||
               name == "agent_label") {
      if (!value.is_string())
        return invalid_argument("resources.{} is {}; it must be a string", name, json::serialize(value));
      const std::string text(value.get_string());
      (name.starts_with("resource") ? change.resource_pool : change.agent_label) = text;
    } else {
      return invalid_argument(
          "resources.{} of a submitted experiment cannot be changed; maxSlots, weight, priority, "
          "resourcePool and agentLabel can",
          name);
    }
  }
  return {};
}

Result<Reconfiguration> read_change(const ExperimentPatchRequest& request) {
  Reconfiguration change;
  if (auto read = read_resources(request.resources, change); !read)
    return tl::unexpected(std::move(read).error());
  if (request.searcher) {
    change.max_trials = request.searcher->max_trials;
    change.max_length = request.searcher->max_length;
    change.max_concurrent_trials = request.searcher->max_concurrent_trials;
    change.num_rounds = request.searcher->num_rounds;
  }
  if (request.checkpoint_storage) {
    change.save_experiment_best = request.checkpoint_storage->save_experiment_best;
    change.save_trial_best = request.checkpoint_storage->save_trial_best;
    change.save_trial_latest = request.checkpoint_storage->save_trial_latest;
  }
  return change;
}

/// The record of an experiment that the cluster has forgotten, with the changes in it.
Result<ExperimentRecord> changed(ExperimentRecord record, ExperimentPatchRequest request,
                                 const Reconfiguration& change) {
  if (change.of_resources())
    return failed_precondition("experiment {} is finished; its resources can no longer be changed",
                               record.id);
  if (change.of_checkpoints() && record.state == experiment::State::Deleting)
    return failed_precondition("experiment {} is being deleted", record.id);
  if (change.of_checkpoints()) {
    DET_TRY(record.config, experiment::reconfigured(std::move(record.config), change));
  }
  if (request.name) record.name = *std::move(request.name);
  if (request.description) record.description = *std::move(request.description);
  if (request.notes) record.notes = *std::move(request.notes);
  if (request.labels) record.labels = *std::move(request.labels);
  if (request.project_id) record.project_id = *request.project_id;
  return record;
}

asio::awaitable<Result<void>> patch_stored(Services& s, ExperimentPatchRequest request,
                                           Reconfiguration change) {
  const auto id = request.id;
  auto read = [&s, id] { return s.store.experiment(id); };
  auto record = co_await offload(s, std::move(read));
  if (const auto* open = s.unmanaged.open_record(id)) record = *open;
  if (!record || record->state == experiment::State::Deleted)
    co_return not_found("experiment '{}' not found", id);
  if (const auto fine = check_policies(s, ProjectId(record->project_id), change); !fine)
    co_return tl::unexpected(fine.error());
  auto result = changed(*std::move(record), std::move(request), change);
  if (!result) co_return tl::unexpected(result.error());
  if (auto* open = s.unmanaged.open_record(id)) *open = *result;
  std::vector<store::Change> changes;
  changes.push_back(store::PutExperiment{*result});
  co_await s.ledger.write(std::move(changes));
  if (!change.of_checkpoints()) co_return Result<void>{};
  auto choose = [&s, record = *result, keep = s.collector.needed()] {
    return collectable(s.store, record, keep);
  };
  auto chosen = co_await offload(s, std::move(choose));
  co_return co_await s.collector.remove(std::move(chosen), Collector::Needed::Skip);
}

/// A completed experiment goes on with a larger search. Nothing else may come with that.
asio::awaitable<Result<void>> extend(Services& s, ExperimentPatchRequest request, Reconfiguration change,
                                     std::string by) {
  const auto id = request.id;
  if (change.of_resources() || change.of_checkpoints() || request.name || request.description ||
      request.notes || request.labels)
    co_return invalid_argument(
        "experiment {} is finished; extend its search in a call of its own, and change the rest once it is "
        "active again",
        id);
  struct Stored {
    std::optional<ExperimentRecord> record;
    std::optional<json::value> search;
  };
  auto read = [&s, id] { return Stored{s.store.experiment(id), s.store.search(id)}; };
  auto stored = co_await offload(s, std::move(read));
  if (!stored.record || stored.record->state == experiment::State::Deleted)
    co_return not_found("experiment '{}' not found", id);
  if (s.collector.deletes(id)) co_return failed_precondition("experiment {} is being deleted", id);
  if (const auto fine = check_policies(s, ProjectId(stored.record->project_id), change); !fine)
    co_return tl::unexpected(fine.error());
  if (stored.record->state == experiment::State::Completed && !stored.search)
    co_return failed_precondition(
        "experiment {} is finished and its search cannot be extended: a finished {} search cannot create "
        "more work",
        id, experiment::searcher_name(stored.record->config));
  cluster::ExperimentExtended extended{*std::move(stored.record), {}, change};
  if (stored.search) extended.search = *std::move(stored.search);
  cluster::Event event = std::move(extended);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Result<void>{};
}

}  // namespace

asio::awaitable<Result<void>> patch_experiment(Services& s, ExperimentPatchRequest request, std::string by) {
  if (request.name && request.name->find_first_not_of(" \t\r\n") == std::string::npos)
    co_return invalid_argument("name is '{}'; the name of an experiment cannot be empty", *request.name);
  if (request.labels) {
    for (const auto& label : *request.labels)
      if (trim(label).empty())
        co_return invalid_argument("labels contains '{}'; a label cannot be empty", label);
    const std::set<std::string> once(request.labels->begin(), request.labels->end());
    request.labels->assign(once.begin(), once.end());
  }
  const auto change = read_change(request);
  if (!change) co_return tl::unexpected(change.error());
  if (s.unmanaged.has(request.id) && (change->of_resources() || change->of_search()))
    co_return failed_precondition(
        "experiment {} is unmanaged: it runs outside the cluster, so it has no resources and no search to "
        "change",
        request.id);
  const auto* live = s.ledger.cluster().experiment(request.id);
  if (live != nullptr && live->finished() && (change->of_checkpoints() || change->of_search())) {
    // Its collection goes by the policy that it began with; this change comes after it.
    co_await s.collector.finished(request.id);
    live = nullptr;
  }
  if (live == nullptr && change->of_search())
    co_return co_await extend(s, std::move(request), *change, std::move(by));
  if (live == nullptr) co_return co_await patch_stored(s, std::move(request), *change);
  if (const auto fine = check_policies(s, ProjectId(live->record().project_id), *change); !fine)
    co_return tl::unexpected(fine.error());
  if (change->resource_pool)
    if (const auto open = check_pool(s, ProjectId(live->record().project_id), *change->resource_pool); !open)
      co_return tl::unexpected(open.error());
  cluster::ExperimentPatched patched{request.id, request.name, request.description, request.notes,
                                     request.labels};
  if (change->of_resources() || change->of_checkpoints() || change->of_search()) patched.config = *change;
  patched.project_id = request.project_id;
  cluster::Event event = std::move(patched);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Result<void>{};
}

}  // namespace det::master
