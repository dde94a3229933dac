#include "det/master/pools/pool_settings.h"

#include <algorithm>
#include <set>

#include "det/master/administration/section.h"

namespace det::master {
namespace {

using cluster::PoolSettings;

void read_scheduler(json::value value, const std::string& path, PoolSettings& pool,
                    std::vector<Error>& problems) {
  using scheduler::Fitting;
  using scheduler::Policy;
  Section section(std::move(value), path, problems);
  section.choice<Policy>("type",
                         {{"fifo", Policy::Fifo},
                          {"round_robin", Policy::RoundRobin},
                          {"fair_share", Policy::FairShare},
                          {"priority", Policy::Priority}},
                         pool.policy);
  if (pool.policy != Policy::Priority) pool.preemption = false;  // that of the resource manager
  section.choice<Fitting>("fitting_policy", {{"best", Fitting::Best}, {"worst", Fitting::Worst}},
                          pool.fitting);
  section.choice<Fitting>("fit", {{"best", Fitting::Best}, {"worst", Fitting::Worst}}, pool.fitting);
  section.flag("allow_heterogeneous_fits", pool.heterogeneous_fits);
  section.flag("preemption", pool.preemption);
  section.integer("default_priority", 1, 99, pool.default_priority);
  if (pool.preemption && pool.policy != Policy::Priority)
    section.problem("preemption", "is true; only the priority scheduler supports it");
}

bool is_currency(const std::string& text) {
  return text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

Result<cluster::Pools> take_pools(json::object& configuration) {
  std::map<std::string, ProviderSettings> providers;
  return take_pools(configuration, providers);
}

Result<cluster::Pools> take_pools(json::object& configuration,
                                  std::map<std::string, ProviderSettings>& providers) {
  std::vector<Error> problems;
  cluster::Pools pools;
  PoolSettings base;
  read_scheduler(take(configuration, "scheduler"), "scheduler", base, problems);
  {
    Section manager(take(configuration, "resource_manager"), "resource_manager", problems);
    std::string type = "agent";
    manager.text("type", type);
    if (type != "agent") manager.problem("type", fmt::format("is '{}'; it must be 'agent'", type));
    read_scheduler(manager.take("scheduler"), manager.path() + ".scheduler", base, problems);
    manager.integer("idle_seconds", 0, 1'000'000, base.idle_seconds);
    manager.number("price_per_slot_hour", 0, base.price_per_slot_hour);
    manager.text("currency", pools.currency);
    if (!is_currency(pools.currency))
      manager.problem("currency", fmt::format("is '{}'; it must be a code of ISO 4217, such as USD or EUR",
                                              pools.currency));
    manager.text("default_gpu_resource_pool", pools.default_compute);
    manager.text("default_compute_resource_pool", pools.default_compute);
    manager.text("default_cpu_resource_pool", pools.default_aux);
    manager.text("default_aux_resource_pool", pools.default_aux);
  }
  const auto list = take(configuration, "resource_pools");
  std::set<std::string> names;
  if (!list.is_null() && !list.is_array())
    problems.push_back(
        invalid_argument("resource_pools is {}; it must be a list", json::serialize(list)).value());
  if (list.is_array())
    for (std::size_t i = 0; i < list.get_array().size(); ++i) {
      Section section(list.get_array()[i], fmt::format("resource_pools[{}]", i), problems);
      auto pool = base;
      section.text("pool_name", pool.name);
      section.text("description", pool.description);
      section.integer("max_aux_containers_per_agent", 0, 1'000'000, pool.zero_slot_max);
      section.integer("idle_seconds", 0, 1'000'000, pool.idle_seconds);
      section.number("price_per_slot_hour", 0, pool.price_per_slot_hour);
      read_scheduler(section.take("scheduler"), section.path() + ".scheduler", pool, problems);
      if (auto provider = section.take("provider"); !provider.is_null()) {
        const auto read = read_provider(std::move(provider), section.path() + ".provider", problems);
        pool.elastic = read.limits;
        pool.provider = describe(read);
        providers.insert_or_assign(pool.name, read);
      }
      if (pool.name.empty()) section.problem("pool_name", "is required");
      if (!names.insert(pool.name).second)
        section.problem(
            "pool_name",
            fmt::format("is '{}', which another pool already has; choose another name", pool.name));
      pools.pools.push_back(std::move(pool));
    }
  // Pools that nobody names have the resource manager's scheduler, too.
  for (const auto& name : {pools.default_compute, pools.default_aux})
    if (names.insert(name).second) {
      if (list.is_array() && name != "default")
        problems.push_back(invalid_argument("resource_manager names '{}' as a default pool, but "
                                            "resource_pools has no such pool; add it, or name another",
                                            name)
                               .value());
      auto pool = base;
      pool.name = name;
      pools.pools.push_back(std::move(pool));
    }
  if (!problems.empty()) return tl::unexpected(join_errors(problems));
  return pools;
}

}  // namespace det::master
