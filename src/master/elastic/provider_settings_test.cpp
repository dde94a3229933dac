#include "det/master/elastic/provider_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/master/administration/section.h"
#include "det/master/pools/pool_settings.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

Result<cluster::Pools> read(const std::string& provider, ProviderSettings* into = nullptr) {
  auto document =
      json::parse(R"({"resource_pools": [{"pool_name": "default", "provider": )" + provider + "}]}")
          ->get_object();
  std::map<std::string, ProviderSettings> providers;
  auto pools = take_pools(document, providers);
  if (into != nullptr && providers.contains("default")) *into = providers.at("default");
  return pools;
}

TEST(ProviderSettings, ASlurmPartitionGivesThePoolItsMachines) {
  ProviderSettings settings;
  const auto pools = read(R"({"type": "slurm", "partition": "a100", "account": "proj42", "gres": "gpu:4",
      "slots_per_node": 4, "time_limit": "04:00:00", "max_nodes": 16, "idle_timeout": "5m", "grace_period": "2m",
      "extra": ["--constraint=ib"], "prologue": "module load cuda"})",
                          &settings);
  ASSERT_TRUE(pools) << pools.error().message();
  const auto& pool = pools->pools.at(0);
  EXPECT_EQ(pool.provider, "Slurm partition a100");
  EXPECT_EQ(pool.elastic->max_nodes, 16);
  EXPECT_EQ(pool.elastic->slots_per_node, 4);
  EXPECT_EQ(pool.elastic->idle_timeout, 300);
  EXPECT_EQ(settings.time_limit, 4 * 3600);
  EXPECT_EQ(settings.account, "proj42");
  EXPECT_TRUE(settings.gpus);
}

TEST(ProviderSettings, EverythingThatIsWrongIsSaidAtOnce) {
  struct Case {
    std::string provider;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {R"({})", "provider.type is required; it must be one of slurm, ray, kubernetes, ssh, process"},
      {R"({"type": "pbs"})", "provider.type is 'pbs'; it must be one of slurm"},
      {R"({"type": "slurm", "min_nodes": 3, "max_nodes": 2})",
       "provider.min_nodes is 3; it must not be greater than max_nodes, which is 2"},
      {R"({"type": "slurm", "max_nodes": 0})", "provider.max_nodes is 0; it must be an integer from 1"},
      {R"({"type": "slurm", "idle_timeout": "soon"})",
       "provider.idle_timeout is \"soon\"; it must be a time"},
      {R"({"type": "slurm", "time_limit": "1m", "grace_period": "2m"})",
       "provider.time_limit is 60 s; it must be longer than grace_period, which is 120 s"},
      {R"({"type": "slurm", "extra": ["ib"]})", "provider.extra has 'ib'; each must be an option of sbatch"},
      {R"({"type": "slurm", "hosts": ["a"]})", "provider.hosts is not a known setting"},
      {R"({"type": "ssh"})", "provider.hosts is required"},
      {R"({"type": "ssh", "hosts": ["a", "-oProxyCommand=reboot"]})",
       "provider.hosts has '-oProxyCommand=reboot'; each must be a name that ssh takes"},
      {R"({"type": "ssh", "hosts": ["a", "a"]})", "provider.hosts has 'a' twice; each machine is one node"},
      {R"({"type": "ssh", "hosts": ["a"], "max_nodes": 2})",
       "provider.max_nodes is 2; it must not be greater than the number of hosts, which is 1"},
      {R"({"type": "ssh", "hosts": ["a"], "time_limit": "1h"})",
       "provider.time_limit is not a known setting"},
      {R"({"type": "kubernetes", "image": "det", "address": "k8s:6443"})",
       "provider.address is 'k8s:6443'; it must be the URL of an API server"},
      {R"({"type": "kubernetes", "image": "det", "address": "https://k8s", "kubeconfig": "c"})",
       "provider.address and kubeconfig are both set"},
      {R"({"type": "kubernetes", "image": "det", "namespace": "My Team"})",
       "provider.namespace is 'My Team'; it must be lower-case letters"},
      {R"({"type": "kubernetes", "image": "det", "pod": []})", "provider.pod must be a map"},
      {R"({"type": "kubernetes"})", "provider.image is required"},
      {R"({"type": "ray", "address": "ray://head:10001"})",
       "provider.address is 'ray://head:10001'; it must be 'auto' or HOST:PORT of the head"},
      {R"({"type": "ray", "address": "head"})", "provider.address is 'head'; it must be 'auto' or HOST:PORT"},
      {R"({"type": "ray", "resources": {"tpu": 0}})",
       "provider.resources has 0 of 'tpu'; it must be a number greater than 0"},
      {R"({"type": "ray", "resources": {"GPU": 2}})", "provider.resources has GPU, which slots_per_node"},
      {R"({"type": "ray", "resources": ["tpu"]})", "provider.resources must be a map"},
      {R"({"type": "ray", "partition": "a"})", "provider.partition is not a known setting"},
      {R"("slurm")", "provider is \"slurm\"; it must be a map"},
  };
  for (const auto& c : cases) {
    const auto pools = read(c.provider);
    ASSERT_FALSE(pools) << c.provider;
    EXPECT_THAT(pools.error().message(), HasSubstr(c.problem));
  }
  const auto both = read(R"({"type": "slurm", "min_nodes": 3, "max_nodes": 2, "colour": "red"})");
  EXPECT_THAT(both.error().message(), HasSubstr("min_nodes"));
  EXPECT_THAT(both.error().message(), HasSubstr("colour is not a known setting"));
}

TEST(TimeSpan, IsReadAsPeopleAndSlurmWriteIt) {
  struct Case {
    std::string text;
    std::optional<std::int64_t> seconds;
  };
  const std::vector<Case> cases = {
      {"90", 90},
      {"5m", 300},
      {"1h30m", 5'400},
      {"02:30", 150},
      {"04:00:00", 14'400},
      {"1-00", 86'400},
      {"2-12:30", 217'800},
      {"2-12:30:05", 217'805},
      {"", {}},
      {"soon", {}},
      {"1:2:3:4", {}},
      {"1:60", {}},
      {"-5", {}},
      {"1-", {}},
      {"1:", {}},
  };
  for (const auto& c : cases) EXPECT_EQ(time_span(c.text), c.seconds) << c.text;
}

}  // namespace
}  // namespace det::master
