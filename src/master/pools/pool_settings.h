#pragma once

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/cluster/pools.h"
#include "det/master/elastic/provider_settings.h"

namespace det::master {

/// Takes what is about resource pools out of the master's configuration: `resource_manager`, `resource_pools`
/// and the older `scheduler`, and leaves the rest, which lies under every experiment's configuration.
///
///     resource_manager:
///       scheduler: {type: priority, fitting_policy: best, preemption: true, default_priority: 42}
///       default_compute_resource_pool: default
///       currency: EUR
///       price_per_slot_hour: 0.4
///     resource_pools:
///       - pool_name: gpu
///         max_aux_containers_per_agent: 100
///         scheduler: {type: fair_share}
///         price_per_slot_hour: 2.5
///
/// A pool without a scheduler or price has the resource manager's. InvalidArgument says every problem at
/// once.
Result<cluster::Pools> take_pools(json::object& configuration);
/// The same, with the settings of the providers that pools have, by pool.
Result<cluster::Pools> take_pools(json::object& configuration,
                                  std::map<std::string, ProviderSettings>& providers);

}  // namespace det::master
