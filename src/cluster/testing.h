#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "det/cluster/cluster.h"

namespace det::cluster {

/// A cluster, its time, and the effects of the last event.
struct Bench {
  Outcome handle(Event event) {
    auto outcome = cluster.handle(event, Time{clock += kSecond});
    events.emplace_back(std::move(event), Time{clock});
    return outcome;
  }
  Outcome submit(const std::string& more = "") {
    config::Layers layers;
    layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
    const std::string searcher = "searcher: {name: single, metric: loss, max_length: {batches: 100}}\n";
    layers.user_yaml = (more.find("searcher:") == std::string::npos ? searcher : "") +
                       "entrypoint: m:T\n"
                       "hyperparameters: {global_batch_size: 8}\nreproducibility: {experiment_seed: 3}\n" +
                       more;
    const auto resolved =
        config::resolve(layers, {.now = {}, .pet_name = "bench", .resource_pools = std::nullopt});
    if (!resolved) throw std::runtime_error(join_errors(resolved.error()).message());
    ExperimentSubmitted event;
    event.record.config = resolved->config.document;
    event.record.job_id = fmt::format("job-{}", clock);
    event.record.resource_pool = "default";
    event.record.owner = owner;
    return handle(event);
  }
  void join(const std::string& agent, int slots) {
    AgentJoined event{
        .agent = agent, .resource_pool = "default", .hostname = agent, .version = "1", .slots = {}};
    for (int i = 0; i < slots; ++i) event.slots.push_back({.id = i});
    handle(event);
  }
  std::string allocation(int experiment = 1) const {
    return cluster.experiment(ExperimentId{experiment})->trials().begin()->second.allocation;
  }

  std::int64_t clock = 0;
  UserId owner{};  ///< of what is submitted next
  Cluster cluster;
  std::vector<std::pair<Event, Time>> events;
};

/// The bench's events, read from their JSON, give its cluster again, bit for bit, and so does its snapshot.
inline void expect_replay_gives_the_same(const Bench& bench) {
  Cluster again;
  for (const auto& [event, time] : bench.events) {
    const auto read = json::from_json<Event>(json::to_json(event));
    ASSERT_TRUE(read) << read.error().message();
    again.handle(*read, time);
  }
  EXPECT_EQ(json::serialize(again.snapshot()), json::serialize(bench.cluster.snapshot()));
  const auto restored = Cluster::restore(bench.cluster.snapshot());
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(bench.cluster.snapshot()));
}

inline AllocationExited exited(const std::string& allocation, const std::string& agent, int code) {
  return {allocation, agent, {{.rank = 0, .code = code}}};
}

}  // namespace det::cluster
