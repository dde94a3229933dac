#include "det/master/pools/pool_settings.h"

#include <set>

#include "det/master/administration/settings.h"

namespace det::master {
namespace {

using cluster::PoolSettings;

/// Reads the members of one map, each once; what is left over is unknown.
class Section {
 public:
  Section(json::value value, std::string path, std::vector<Error>& problems)
      : path_(std::move(path)), problems_(problems) {
    if (value.is_object())
      members_ = std::move(value.get_object());
    else if (!value.is_null())
      problem("", fmt::format("is {}; it must be a map", json::serialize(value)));
  }
  ~Section() {
    for (const auto& member : members_) problem(std::string(member.key()), "is not a known setting");
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  json::value take(std::string_view name) { return master::take(members_, name); }
  void text(std::string_view name, std::string& into) {
    const auto value = take(name);
    if (value.is_string())
      into = std::string(value.get_string());
    else if (!value.is_null())
      problem(name, fmt::format("is {}; it must be a string", json::serialize(value)));
  }
  void flag(std::string_view name, bool& into) {
    const auto value = take(name);
    if (value.is_bool())
      into = value.get_bool();
    else if (!value.is_null())
      problem(name, fmt::format("is {}; it must be true or false", json::serialize(value)));
  }
  void integer(std::string_view name, int low, int high, int& into) {
    const auto value = take(name);
    if (value.is_null()) return;
    const auto number = json::to_int64(value);
    if (number && *number >= low && *number <= high)
      into = static_cast<int>(*number);
    else
      problem(name,
              fmt::format("is {}; it must be an integer from {} to {}", json::serialize(value), low, high));
  }
  template <typename T>
  void choice(std::string_view name, std::initializer_list<std::pair<const char*, T>> choices, T& into) {
    std::string word;
    text(name, word);
    if (word.empty()) return;
    std::string known;
    for (const auto& [key, value] : choices) {
      if (word == key) {
        into = value;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(key);
    }
    problem(name, fmt::format("is '{}'; it must be one of {}", word, known));
  }
  void problem(std::string_view name, const std::string& what) {
    const auto where = name.empty() ? path_ : fmt::format("{}.{}", path_, name);
    problems_.push_back(invalid_argument("{} {}", where, what).value());
  }
  const std::string& path() const { return path_; }

 private:
  json::object members_;
  std::string path_;
  std::vector<Error>& problems_;
};

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

}  // namespace

Result<cluster::Pools> take_pools(json::object& configuration) {
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
      read_scheduler(section.take("scheduler"), section.path() + ".scheduler", pool, problems);
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
