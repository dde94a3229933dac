#include "det/master/queue/job_rules.h"

#include <gmock/gmock.h>

namespace det::master {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

QueueControl update_of(const std::string& id) {
  QueueControl update;
  update.job_id = id;
  return update;
}
QueueControl ahead_of(const std::string& id, const std::string& anchor) {
  auto update = update_of(id);
  update.ahead_of = anchor;
  return update;
}
QueueControl behind_of(const std::string& id, const std::string& anchor) {
  auto update = update_of(id);
  update.behind_of = anchor;
  return update;
}
QueueControl with_priority(const std::string& id, std::int32_t priority) {
  auto update = update_of(id);
  update.priority = priority;
  return update;
}
QueueControl with_weight(const std::string& id, double weight) {
  auto update = update_of(id);
  update.weight = weight;
  return update;
}
QueueControl to_pool(const std::string& id, const std::string& pool) {
  auto update = update_of(id);
  update.resource_pool = pool;
  return update;
}

TEST(QueueUpdate, HasExactlyOneChange) {
  auto two = with_priority("7", 3);
  two.weight = 2;
  struct Row {
    QueueControl update;
    bool fine;
  };
  // clang-format off
  const Row rows[] = {
      {update_of("7"),        false},
      {ahead_of("7", "8"),    true},
      {behind_of("7", "8"),   true},
      {with_priority("7", 3), true},
      {with_weight("7", 2),   true},
      {to_pool("7", "b"),     true},
      {two,                   false}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(check_one_change(row.update).has_value(), row.fine)
        << json::serialize(json::to_json(row.update));
  EXPECT_THAT(check_one_change(two).error().message(), HasSubstr("the update of job '7' has 2 changes"));
}

TEST(QueueUpdate, NeedsThePermissionToChangeTheJobAndToSeeItsNeighbour) {
  using enum access::Permission;
  using Needed = std::vector<std::pair<std::string, access::Permission>>;
  struct Row {
    QueueControl update;
    Needed needed;
  };
  // clang-format off
  const Row rows[] = {
      {with_priority("7", 3), {{"7", UpdateNsc}}},
      {ahead_of("7", "8"),    {{"7", UpdateNsc}, {"8", ViewNsc}}},
      {behind_of("7", "8"),   {{"7", UpdateNsc}, {"8", ViewNsc}}},
      {ahead_of("7", "7"),    {{"7", UpdateNsc}, {"7", UpdateNsc}}}};
  // clang-format on
  for (const auto& row : rows) EXPECT_THAT(needed_permissions(row.update), ElementsAreArray(row.needed));
}

TEST(QueueOrder, IsThatOfFifoAndPriorityWhereAMoveMayChangeThePriority) {
  using enum scheduler::Policy;
  struct Row {
    scheduler::Policy policy;
    bool order;
    std::optional<int> from_40_to_50, from_50_to_50;
  };
  // clang-format off
  const Row rows[] = {
      {Fifo,       true,  std::nullopt, std::nullopt},
      {RoundRobin, false, std::nullopt, std::nullopt},
      {FairShare,  false, std::nullopt, std::nullopt},
      {Priority,   true,  50,           std::nullopt}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(policy_has_order(row.policy), row.order);
    EXPECT_EQ(priority_after_move(row.policy, 40, 50), row.from_40_to_50);
    EXPECT_EQ(priority_after_move(row.policy, 50, 50), row.from_50_to_50);
  }
}

TEST(QueueEvents, SayWhatTheUpdateSays) {
  const cluster::Job experiment(ExperimentId(7)), task(std::string("t1"));
  for (const bool ahead : {true, false}) {
    const auto event = move_event(experiment, task, ahead ? ahead_of("7", "t1") : behind_of("7", "t1"));
    const auto& moved = *event.as<cluster::JobMoved>();
    EXPECT_EQ(moved.id, ExperimentId(7));
    EXPECT_EQ(moved.task, "");
    EXPECT_EQ(moved.anchor_task, "t1");
    EXPECT_EQ(moved.ahead, ahead);
  }
  EXPECT_EQ(reconfiguration(with_priority("7", 3)).priority, 3);
  EXPECT_EQ(reconfiguration(with_weight("7", 2)).weight, 2);
  EXPECT_EQ(reconfiguration(to_pool("7", "b")).resource_pool, "b");
  const auto changed = change_event(experiment, reconfiguration(with_weight("7", 2)));
  const auto& patched = *changed.as<cluster::ExperimentPatched>();
  EXPECT_EQ(patched.id, ExperimentId(7));
  EXPECT_EQ(patched.config->weight, 2);
  EXPECT_FALSE(patched.labels);
}

TEST(QueueEvents, OfATaskChangeItsPriorityOnly) {
  const cluster::Job task(std::string("t1"));
  const auto event = task_change_event(task, task::Type::Shell, with_priority("t1", 3));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->as<cluster::TaskPrioritySet>()->task_id, "t1");
  EXPECT_EQ(event->as<cluster::TaskPrioritySet>()->priority, 3);
  struct Row {
    QueueControl update;
    task::Type type;
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      {with_weight("t1", 2),  task::Type::Notebook, "the weight of job 't1' cannot be changed, because it is a notebook;"},
      {to_pool("t1", "b"),    task::Type::Command,  "the resource pool of job 't1' cannot be changed, because it is a command;"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto refused = task_change_event(task, row.type, row.update);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::FailedPrecondition);
    EXPECT_THAT(refused.error().message(), HasSubstr(row.problem));
  }
}

TEST(NameOfAJob, IsItsIdTheNumberOfTheExperimentOrTheIdOfTheTask) {
  experiment::ExperimentRecord experiment;
  experiment.id = ExperimentId(7);
  experiment.job_id = "j7";
  task::TaskRecord task;
  task.id = "t1";
  task.job_id = "j8";
  struct Row {
    const char* name;
    bool experiment, task;
  };
  // clang-format off
  const Row rows[] = {
      {"7",   true,  false},
      {"07",  true,  false},
      {"j7",  true,  false},
      {"8",   false, false},
      {"7 ",  false, false},
      {"t1",  false, true},
      {"j8",  false, true},
      {"",    false, false}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(JobName(row.name).names(experiment), row.experiment) << row.name;
    EXPECT_EQ(JobName(row.name).names(task), row.task) << row.name;
  }
}

TEST(QueuedJobs, AreThoseThatHaveOrWantSlots) {
  struct Row {
    experiment::State state;
    std::size_t allocations;
    bool in_queue;
  };
  // clang-format off
  const Row rows[] = {
      {experiment::State::Active, 0, true},
      {experiment::State::Active, 1, true},
      {experiment::State::Paused, 0, false},
      {experiment::State::Paused, 1, true}};
  // clang-format on
  for (const auto& row : rows) EXPECT_EQ(is_in_queue(row.state, row.allocations), row.in_queue);
  EXPECT_TRUE(is_in_queue(task::State::Queued));
  EXPECT_TRUE(is_in_queue(task::State::Pausing)) << "it has its slots still";
  EXPECT_FALSE(is_in_queue(task::State::Paused));
  EXPECT_EQ(count_jobs({}), (Stats{0, 0}));
  EXPECT_EQ(count_jobs({job_state(true), job_state(false), job_state(false)}), (Stats{2, 1}));
}

TEST(QueuedJobs, AreScheduledWithAShareThatHasSlots) {
  const auto allocation = [](int slots, bool placed) {
    cluster::Allocation allocation;
    allocation.slots = slots;
    if (placed) allocation.record.shares.emplace_back();
    return allocation;
  };
  const auto two = allocation(2, true), three = allocation(3, false), none = allocation(0, true);
  struct Row {
    std::vector<const cluster::Allocation*> allocations;
    bool is_task;
    std::int32_t requested, allocated;
    bool scheduled;
  };
  // clang-format off
  const Row rows[] = {
      {{},             false, 0, 0, false},
      {{&three},       false, 3, 0, false},
      {{&two, &three}, false, 5, 2, true},
      {{&none},        false, 0, 0, false},
      {{&none},        true,  0, 0, true}};
  // clang-format on
  for (const auto& row : rows) {
    const auto slots = job_slots(row.allocations, row.is_task);
    EXPECT_EQ(slots.requested, row.requested);
    EXPECT_EQ(slots.allocated, row.allocated);
    EXPECT_EQ(slots.scheduled, row.scheduled);
  }
}

TEST(WaitingJobs, AreExplained) {
  using enum experiment::State;
  struct Row {
    experiment::State state;
    std::size_t waiting, running;
    const char* explanation;
  };
  // clang-format off
  const Row rows[] = {
      {Paused,         1, 0, "experiment 7 is paused; it requests no slots until it is activated"},
      {StoppingKilled, 0, 1, "experiment 7 is ending; it requests no more slots"},
      {Active,         2, 1, "1 of its trials are running and 2 are waiting: no slots"},
      {Active,         2, 0, "2 of its trials are waiting: no slots"},
      {Active,         0, 3, "it is not waiting: all trials that its search has started have their slots"},
      {Active,         0, 0, "it is not waiting for slots: its search has no trial to train now"}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(explain_experiment(ExperimentId(7), row.state, row.waiting, row.running, "no slots"),
              row.explanation);
  struct TaskRow {
    task::State state;
    const char *waiting_reason, *explanation;
  };
  // clang-format off
  const TaskRow tasks[] = {
      {task::State::Queued,      "no slots", "it is waiting: no slots"},
      {task::State::Running,     "",         "it is not waiting: it is running"},
      {task::State::Paused,      "no slots", "shell t1 is paused; it requests no slots until it is resumed"},
      {task::State::Terminating, "no slots", "shell t1 is ending"}};
  // clang-format on
  for (const auto& row : tasks) {
    task::TaskRecord task;
    task.id = "t1";
    task.type = task::Type::Shell;
    task.state = row.state;
    EXPECT_EQ(explain_task(task, row.waiting_reason), row.explanation);
  }
}

TEST(JobRules, WhatAJobHasStillToDoFollowsFromItsProgress) {
  EXPECT_DOUBLE_EQ(*work_by_progress(30, 0.25), 90);
  EXPECT_DOUBLE_EQ(*work_by_progress(30, 1), 0);
  EXPECT_DOUBLE_EQ(*work_by_progress(30, 1.1), 0);
  EXPECT_FALSE(work_by_progress(30, 0.001)) << "too early to tell";
  EXPECT_FALSE(work_by_progress(0, 0.5)) << "imported";
}

}  // namespace
}  // namespace det::master
