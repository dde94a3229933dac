#include "det/master/pools/pool_bindings.h"

#include <fmt/ranges.h>

#include "det/http/wire/wire.h"
#include "det/master/services.h"

namespace det::master {
namespace {

constexpr const char* kPoolBindings = "pool_bindings";

}  // namespace

PoolBindings::PoolBindings(store::Store& store) {
  const auto text = store.setting(kPoolBindings);
  const auto kept = text ? json::parse(*text) : Result<json::value>(json::object{});
  if (!kept || !kept->is_object()) return;
  for (const auto& [pool, ids] : kept->get_object())
    if (ids.is_array())
      for (const auto& id : ids.get_array())
        if (const auto number = json::to_int64(id)) bound_[std::string(pool)].insert(WorkspaceId(*number));
}

const PoolBindings::Bound& PoolBindings::of(const std::string& pool) const {
  static const Bound kOpen;
  const auto found = bound_.find(pool);
  return found == bound_.end() ? kOpen : found->second;
}

bool PoolBindings::open_to(const std::string& pool, WorkspaceId workspace) const {
  const auto& bound = of(pool);
  return bound.empty() || bound.contains(workspace);
}

PoolBindings::Changes PoolBindings::set(const std::string& pool, Bound bound) {
  if (bound.empty())
    bound_.erase(pool);
  else
    bound_[pool] = std::move(bound);
  return changed();
}

std::string PoolBindings::only_of(WorkspaceId workspace) const {
  for (const auto& [pool, bound] : bound_)
    if (bound == Bound{workspace}) return pool;
  return "";
}

PoolBindings::Changes PoolBindings::forget(WorkspaceId workspace) {
  bool bound = false;
  for (auto& [pool, workspaces] : bound_) bound = workspaces.erase(workspace) > 0 || bound;
  return bound ? changed() : Changes{};
}

PoolBindings::Changes PoolBindings::changed() const {
  json::object kept;
  for (const auto& [pool, workspaces] : bound_) {
    json::array ids;
    for (const auto id : workspaces) ids.emplace_back(id.value());
    kept[pool] = std::move(ids);
  }
  Changes changes;
  changes.push_back(store::PutSetting{kPoolBindings, json::serialize(kept)});
  return changes;
}

std::string pool_in(Services& s, ProjectId id, const config::ExperimentConfig& config) {
  const auto* project = s.workspaces.project(id);
  const auto* workspace = project == nullptr ? nullptr : s.workspaces.find(project->workspace);
  const auto& resources = config.resources;
  if (resources.resource_pool.empty() && workspace != nullptr) {
    const auto& usual =
        resources.slots_per_trial > 0 ? workspace->default_compute_pool : workspace->default_aux_pool;
    if (s.ledger.cluster().resource_pools().contains(usual)) return usual;
  }
  return s.ledger.cluster().pool_for(config);
}

std::vector<std::string> pools_open_to(Services& s, WorkspaceId workspace) {
  std::vector<std::string> pools;
  for (const auto& pool : s.ledger.cluster().resource_pools())
    if (s.bindings.open_to(pool, workspace)) pools.push_back(pool);
  return pools;
}

Result<void> check_pool(Services& s, WorkspaceId workspace, const std::string& pool) {
  if (s.bindings.open_to(pool, workspace)) return {};
  const auto* record = s.workspaces.find(workspace);
  const auto open = pools_open_to(s, workspace);
  return failed_precondition(
      "resource pool '{}' is bound to other workspaces; {} can use {}", pool,
      record == nullptr ? "a new workspace" : fmt::format("workspace '{}'", record->name),
      open.empty() ? "none" : fmt::format("'{}'", fmt::join(open, "', '")));
}

Result<void> check_pool(Services& s, ProjectId id, const std::string& pool) {
  const auto* project = s.workspaces.project(id);
  return check_pool(s, project == nullptr ? store::kUncategorizedWorkspace : project->workspace, pool);
}

}  // namespace det::master
