// Pools, priorities and the order of the queue, as the cluster carries them to the scheduler.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cluster/cluster.h"

namespace det::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A cluster, its time, and a replay of all that happened in it.
struct QueueBench {
  explicit QueueBench(PoolSettings pool = {}) {
    if (pool.name.empty()) pool.name = "default";
    handle(MasterStarted{.epoch = 1, .pools = {.pools = {pool}}});
  }
  Outcome handle(Event event) {
    auto outcome = cluster.handle(event, Time{clock += kSecond});
    events.emplace_back(std::move(event), Time{clock});
    return outcome;
  }
  ExperimentId submit(const std::string& resources = "{}") {
    config::Layers layers;
    layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
    layers.user_yaml =
        "entrypoint: m:T\nhyperparameters: {global_batch_size: 8}\n"
        "searcher: {name: single, metric: loss, max_length: {batches: 100}}\nresources: " +
        resources;
    const auto resolved =
        config::resolve(layers, {.now = {}, .pet_name = "bench", .resource_pools = std::nullopt});
    if (!resolved) throw std::runtime_error(join_errors(resolved.error()).message());
    ExperimentSubmitted event;
    event.record.config = resolved->config.document;
    event.record.job_id = fmt::format("job-{}", clock);
    event.record.resource_pool = cluster.pool_for(resolved->config);
    return handle(event).experiment;
  }
  void join(const std::string& agent, int slots, const std::string& pool = "default",
            const std::string& label = "") {
    AgentJoined event{.agent = agent, .resource_pool = pool, .hostname = agent, .version = "1", .slots = {}};
    event.label = label;
    for (int i = 0; i < slots; ++i) event.slots.push_back({.id = i});
    handle(event);
  }
  const Allocation& allocation(ExperimentId id) const {
    return *cluster.allocation(cluster.experiment(id)->trials().begin()->second.allocation);
  }
  bool runs(ExperimentId id) const { return !allocation(id).record.shares.empty(); }
  void exits(ExperimentId id) {
    const auto record = allocation(id).record;
    handle(AllocationExited{record.id, record.shares.at(0).agent, {{.rank = 0, .code = 0}}});
  }
  void patch(ExperimentId id, const experiment::Reconfiguration& change) {
    ExperimentPatched event{.id = id, .name = {}, .description = {}, .notes = {}, .labels = {}};
    event.config = change;
    ASSERT_FALSE(handle(event).refused);
  }
  void expect_the_same_after_a_replay_and_from_a_snapshot() const {
    Cluster again;
    for (const auto& [event, time] : events)
      again.handle(*json::from_json<Event>(json::to_json(event)), time);
    EXPECT_EQ(json::serialize(again.snapshot()), json::serialize(cluster.snapshot()));
    const auto restored = Cluster::restore(cluster.snapshot());
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(restored->queue("default"), cluster.queue("default"));
    EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(cluster.snapshot()));
  }

  std::int64_t clock = 0;
  Cluster cluster;
  std::vector<std::pair<Event, Time>> events;
};

PoolSettings preempting() {
  PoolSettings pool;
  pool.policy = scheduler::Policy::Priority;
  pool.preemption = true;
  return pool;
}

TEST(Queue, ServesInTheOrderInWhichJobsWereMovedHoweverOften) {
  QueueBench bench;
  std::vector<ExperimentId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(bench.submit());
  for (int i = 0; i < 100; ++i) {
    bench.handle(JobMoved{.id = ids[static_cast<std::size_t>(i % 3)], .anchor = ids[3], .ahead = i % 2 == 0});
    bench.handle(JobMoved{.id = ids[2], .anchor = ids[1], .ahead = true});
  }
  bench.handle(JobMoved{.id = ids[3], .anchor = ids[0], .ahead = true});
  bench.handle(JobMoved{.id = ids[1], .anchor = ids[3], .ahead = false});
  bench.handle(JobMoved{.id = ids[2], .anchor = ids[0], .ahead = false});
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(ids[3], ids[1], ids[0], ids[2]));
  bench.join("a", 1);
  EXPECT_TRUE(bench.runs(ids[3]));
  EXPECT_FALSE(bench.runs(ids[0]));
  bench.expect_the_same_after_a_replay_and_from_a_snapshot();
}

TEST(Queue, AMoveOverAPriorityTakesThePriority) {
  QueueBench bench(preempting());
  const auto low = bench.submit("{priority: 60}"), high = bench.submit("{priority: 20}");
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(high, low));
  ASSERT_FALSE(bench.handle(JobMoved{.id = low, .anchor = high, .ahead = true}).refused);
  EXPECT_EQ(bench.cluster.priority_of(*bench.cluster.experiment(low)), 20);
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(low, high));
}

TEST(Queue, WhatHasNoOrderCannotBeReorderedAndSaysSo) {
  PoolSettings pool;
  pool.policy = scheduler::Policy::FairShare;
  QueueBench bench(pool);
  const auto one = bench.submit(), two = bench.submit();
  const auto outcome = bench.handle(JobMoved{.id = one, .anchor = two, .ahead = false});
  ASSERT_TRUE(outcome.refused);
  EXPECT_THAT(outcome.refused->message(),
              HasSubstr("unable to perform operation on resource pool with fair_share"));
  EXPECT_EQ(bench.handle(JobMoved{.id = one, .anchor = ExperimentId{9}}).refused->code(),
            ErrorCode::NotFound);
}

TEST(Queue, AnImportantExperimentTakesTheSlotsOfAnotherWhichGoesOnLater) {
  QueueBench bench(preempting());
  bench.join("a", 1);
  const auto low = bench.submit("{priority: 60}");
  ASSERT_TRUE(bench.runs(low));
  const auto high = bench.submit("{priority: 20}");
  EXPECT_TRUE(bench.allocation(low).preempt);
  EXPECT_FALSE(bench.runs(high)) << "before the slot is free";
  EXPECT_THAT(bench.cluster.waiting_reason(bench.allocation(high).record.id),
              HasSubstr("1 task is being preempted for it"));
  bench.exits(low);
  EXPECT_TRUE(bench.runs(high));
  EXPECT_FALSE(bench.runs(low));
  EXPECT_EQ(bench.cluster.experiment(low)->trials().begin()->second.record.restarts, 0);
  EXPECT_EQ(bench.cluster.behind(bench.allocation(low).record.id), "") << "it is first in the line";
  bench.handle(OperationCompleted{bench.allocation(high).record.id, 100, 0.5});
  bench.exits(high);
  EXPECT_TRUE(bench.runs(low));
  bench.expect_the_same_after_a_replay_and_from_a_snapshot();
}

TEST(Queue, AChangedPriorityCountsAtOnce) {
  QueueBench bench(preempting());
  bench.join("a", 1);
  const auto first = bench.submit(), second = bench.submit();
  EXPECT_FALSE(bench.allocation(first).preempt) << "equal, and before";
  bench.patch(second, {.priority = 1});
  EXPECT_TRUE(bench.allocation(first).preempt);
}

TEST(Queue, AnExperimentThatIsMovedToAnotherPoolGivesItsSlotsBackAndGoesOnThere) {
  QueueBench bench;
  bench.join("a", 1);
  bench.join("b", 1, "other");
  const auto id = bench.submit();
  ExperimentPatched unknown{.id = id, .name = {}, .description = {}, .notes = {}, .labels = {}};
  unknown.config.emplace().resource_pool = "gone";
  EXPECT_EQ(bench.handle(unknown).refused->code(), ErrorCode::NotFound);
  experiment::Reconfiguration move;
  move.resource_pool = "other";
  bench.patch(id, move);
  EXPECT_TRUE(bench.allocation(id).preempt);
  bench.exits(id);
  ASSERT_TRUE(bench.runs(id));
  EXPECT_EQ(bench.allocation(id).record.shares.at(0).agent, "b");
  bench.expect_the_same_after_a_replay_and_from_a_snapshot();
}

TEST(Queue, AgentsWithALabelRunOnlyWhatAsksForIt) {
  QueueBench bench;
  bench.join("a", 1, "default", "fast");
  const auto plain = bench.submit(), fast = bench.submit("{agent_label: fast}");
  EXPECT_FALSE(bench.runs(plain));
  EXPECT_TRUE(bench.runs(fast));
  EXPECT_THAT(bench.cluster.waiting_reason(bench.allocation(plain).record.id),
              HasSubstr("every agent of the resource pool has a label"));
}

TEST(Queue, AnExperimentRunsWhereTheAttributesAreThatItAsksForAlsoAfterARestart) {
  QueueBench bench;
  bench.join("a", 2);
  AgentJoined joined{
      .agent = "b", .resource_pool = "default", .hostname = "b", .version = "1", .slots = {{.id = 0}}};
  joined.attributes = {{"gpu", "a100"}, {"zone", "north"}};
  bench.handle(joined);
  const auto narrow = bench.submit("{agent_attributes: {gpu: a100}}");
  const auto none = bench.submit("{agent_attributes: {gpu: h100}}");
  ASSERT_TRUE(bench.runs(narrow));
  EXPECT_EQ(bench.allocation(narrow).record.shares.at(0).agent, "b");
  EXPECT_EQ(bench.cluster.waiting_reason(bench.allocation(none).record.id),
            "needs 1 slot on agents with gpu=h100; the resource pool has none");
  const auto again = Cluster::restore(bench.cluster.snapshot());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->agents().at("b").attributes, joined.attributes);
}

TEST(Queue, OfTasksWithoutSlotsAnAgentRunsAsManyAsItsPoolSays) {
  PoolSettings pool;
  pool.zero_slot_max = 1;
  QueueBench bench(pool);
  bench.join("a", 1);
  const auto first = bench.submit("{slots_per_trial: 0}"), second = bench.submit("{slots_per_trial: 0}");
  EXPECT_TRUE(bench.runs(first));
  EXPECT_FALSE(bench.runs(second));
}

TEST(Queue, PoolsThatTheConfigurationNoLongerNamesHaveTheDefaultsAgain) {
  QueueBench bench(preempting());
  EXPECT_TRUE(bench.cluster.pool("default").preemption);
  bench.handle(MasterStarted{.epoch = 2});
  EXPECT_FALSE(bench.cluster.pool("default").preemption);
  const auto old = json::from_json<Event>(*json::parse(R"({"MasterStarted":{"epoch":3}})"));
  ASSERT_TRUE(old) << "as it was remembered before there were pools";
}

TEST(Queue, ExperimentsAndTrialsGetIdsAfterAllThatWereImported) {
  QueueBench bench;
  EXPECT_EQ(bench.submit(), ExperimentId(1));
  bench.handle(MasterStarted{.epoch = 2, .next_experiment = 8, .next_trial = 40});
  const auto id = bench.submit();
  EXPECT_EQ(id, ExperimentId(8));
  EXPECT_EQ(bench.cluster.experiment(id)->trials().begin()->first, TrialId(40));
  bench.handle(MasterStarted{.epoch = 3, .next_experiment = 2, .next_trial = 2});
  EXPECT_EQ(bench.submit(), ExperimentId(9)) << "none is given twice";
}

}  // namespace
}  // namespace det::cluster
