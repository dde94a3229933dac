// What every kind of database must do with lists of experiments and trials.

#include <gmock/gmock.h>

#include <chrono>
#include <limits>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using experiment::State;
using ::testing::ElementsAre;

class ListContract : public StoreContract {
 protected:
  std::vector<std::int64_t> ids(const ExperimentQuery& query) {
    std::vector<std::int64_t> all;
    for (const auto& e : store->list_experiments(query).experiments) all.push_back(e.id.value());
    return all;
  }
  std::vector<std::int64_t> trial_ids(const TrialQuery& query) {
    std::vector<std::int64_t> all;
    for (const auto& t : store->list_trials(query).trials) all.push_back(t.id.value());
    return all;
  }
  void three_experiments() {
    auto a = sample_experiment(1), b = sample_experiment(2), c = sample_experiment(3);
    a.name = "MNIST dense", b.name = "cifar", c.name = "mnist conv";
    a.labels = {"x", "y"}, b.labels = {"x"}, c.labels = {};
    a.state = State::Completed, b.state = State::Active, c.state = State::Completed;
    a.owner = UserId(1), b.owner = UserId(2), c.owner = UserId(1);
    a.archived = b.archived = false, c.archived = true;
    a.start_time = Time{30}, b.start_time = Time{10}, c.start_time = Time{20};
    c.project_id = 8;
    b.description = "100% cotton";
    c.config["searcher"].get_object()["smaller_is_better"] = false;
    commit(PutExperiment{a}, PutExperiment{b}, PutExperiment{c});
  }
};

INSTANTIATE_TEST_SUITE_P(, ListContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(ListContract, EachFilterLetsOnlyItsExperimentsThrough) {
  three_experiments();
  EXPECT_THAT(ids(ExperimentQuery{}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({.states = {State::Completed, State::Error}}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.archived = false}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.name = "mNist"}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.description = "% c"}), ElementsAre(2));
  EXPECT_THAT(ids({.labels = {"x"}}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.labels = {"x", "y"}}), ElementsAre(1));
  EXPECT_THAT(ids({.owners = {UserId(2), UserId(9)}}), ElementsAre(2));
  EXPECT_THAT(ids({.project_id = 8}), ElementsAre(3));
  EXPECT_THAT(ids({.ids = {ExperimentId(3), ExperimentId(1)}}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.not_ids = {ExperimentId(1)}}), ElementsAre(2, 3));
  EXPECT_THAT(ids({.min_id = ExperimentId(2)}), ElementsAre(2, 3));
  EXPECT_THAT(ids({.max_id = ExperimentId(1)}), ElementsAre(1));
}

TEST_P(ListContract, EachWordOfASearchIsFoundInNameDescriptionLabelNumberOrOwner) {
  three_experiments();
  EXPECT_THAT(ids({.words = {{.text = "mnist"}}}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.words = {{.text = "COTTON"}}}), ElementsAre(2));
  EXPECT_THAT(ids({.words = {{.text = "Y"}}}), ElementsAre(1));
  EXPECT_THAT(ids({.words = {{.text = "3", .id = ExperimentId(3)}}}), ElementsAre(3));
  EXPECT_THAT(ids({.words = {{.text = "ann", .owners = {UserId(2)}}}}), ElementsAre(2));
  EXPECT_THAT(ids({.words = {{.text = "mnist"}, {.text = "dense"}}}), ElementsAre(1));
  EXPECT_THAT(ids({.words = {{.text = "mnist"}, {.text = "cotton"}}}), ElementsAre());
  EXPECT_THAT(ids({.words = {{.text = "100%"}}}), ElementsAre(2));  // no wildcard
}

TEST_P(ListContract, ExperimentsAreSortedByHowLongTheyRan) {
  three_experiments();
  auto brief = sample_experiment(4), runs = sample_experiment(5);
  brief.start_time = Time{100}, brief.end_time = Time{101};
  runs.start_time = Time{102}, runs.end_time.reset();
  commit(PutExperiment{brief}, PutExperiment{runs});
  const ExperimentQuery query{.ids = {ExperimentId(4), ExperimentId(5)}, .sort = ExperimentSort::Duration};
  EXPECT_THAT(ids(query), ElementsAre(4, 5));
}

TEST_P(ListContract, ChangedLabelsAreFoundAndOldOnesAreNot) {
  auto e = sample_experiment(1);
  commit(PutExperiment{e});
  e.labels = {"new"};
  commit(PutExperiment{e});
  EXPECT_THAT(ids({.labels = {"new"}}), ElementsAre(1));
  EXPECT_THAT(ids({.labels = {"vision"}}), ElementsAre());
}

TEST_P(ListContract, PagesAreCutFromTheSortedWhole) {
  three_experiments();
  EXPECT_THAT(ids({.sort = ExperimentSort::StartTime}), ElementsAre(2, 3, 1));
  EXPECT_THAT(ids({.sort = ExperimentSort::StartTime, .page = {.descending = true}}), ElementsAre(1, 3, 2));
  EXPECT_THAT(ids({.page = {.offset = 1, .limit = 1}}), ElementsAre(2));
  EXPECT_THAT(ids({.page = {.offset = -1}}), ElementsAre(3));
  EXPECT_THAT(ids({.page = {.offset = 5, .limit = 1}}), ElementsAre());
  EXPECT_EQ(store->list_experiments({.archived = false, .page = {.limit = 1}}).total, 2);
  for (int sort = 0; sort <= static_cast<int>(ExperimentSort::Duration); ++sort)
    EXPECT_EQ(ids({.sort = static_cast<ExperimentSort>(sort)}).size(), 3u) << sort;
}

TEST_P(ListContract, SummaryHoldsTheExperimentAndSumsOverItsTrials) {
  three_experiments();
  auto worse = sample_trial(1, 1), better = sample_trial(2, 1), not_a_number = sample_trial(3, 1);
  worse.best_metric = 0.5, better.best_metric = 0.25;
  not_a_number.best_metric = std::numeric_limits<double>::quiet_NaN();
  auto larger = worse, smaller = better, none = sample_trial(6, 3);
  larger.id = TrialId(4), smaller.id = TrialId(5);
  larger.experiment_id = smaller.experiment_id = ExperimentId(3);
  none.best_metric.reset();
  CheckpointRecord kept, deleted;
  kept.uuid = "kept", deleted.uuid = "deleted";
  kept.experiment_id = deleted.experiment_id = ExperimentId(1);
  kept.resources = deleted.resources = {{"a", 20}, {"b", 1}};
  deleted.state = experiment::CheckpointState::Deleted;
  commit(PutTrial{worse}, PutTrial{better}, PutTrial{not_a_number}, PutTrial{larger}, PutTrial{smaller},
         PutTrial{none}, PutCheckpoint{kept}, PutCheckpoint{deleted});

  const auto list = store->list_experiments({}).experiments;
  const auto& first = list.at(0);
  EXPECT_EQ(first.name, "MNIST dense");
  EXPECT_THAT(first.labels, ElementsAre("x", "y"));
  EXPECT_EQ(first.state, State::Completed);
  EXPECT_EQ(first.searcher, "single");
  EXPECT_EQ(first.searcher_metric, "loss");
  EXPECT_EQ(first.num_trials, 3);
  EXPECT_EQ(first.checkpoint_count, 1);
  EXPECT_EQ(first.checkpoint_bytes, 21);
  EXPECT_EQ(first.best_metric, 0.25);
  EXPECT_EQ(first.best_trial, TrialId(2));
  EXPECT_FALSE(list.at(1).best_metric);
  EXPECT_EQ(list.at(2).best_metric, 0.5) << "larger is better";
  EXPECT_EQ(list.at(2).best_trial, TrialId(4));
  EXPECT_THAT(ids({.sort = ExperimentSort::NumTrials, .page = {.descending = true}}), ElementsAre(3, 1, 2));
}

TEST_P(ListContract, TrialsAreFilteredSortedAndPaged) {
  for (int i = 1; i <= 4; ++i) {
    auto t = sample_trial(i, 1);
    t.best_metric = 1.0 / i;
    t.state = i % 2 == 0 ? State::Completed : State::Error;
    commit(PutTrial{t});
  }
  commit(PutTrial{sample_trial(9, 2)});
  EXPECT_THAT(trial_ids({.experiment = ExperimentId(1)}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(trial_ids({.experiment = ExperimentId(1), .sort = TrialSort::BestMetric}),
              ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(trial_ids({.experiment = ExperimentId(1), .states = {State::Error}}), ElementsAre(1, 3));
  const auto page = store->list_trials({.experiment = ExperimentId(1), .page = {.offset = 1, .limit = 2}});
  EXPECT_EQ(page.total, 4);
  EXPECT_EQ(page.trials.at(0).id, TrialId(2));
}

TEST_P(ListContract, APageOfTenThousandExperimentsTakesMilliseconds) {
  std::vector<Change> changes;
  auto e = sample_experiment(1);
  e.original_config = std::string(20'000, 'x');
  for (int i = 1; i <= 10'000; ++i) {
    e.id = ExperimentId(i);
    changes.push_back(PutExperiment{e});
    changes.push_back(PutTrial{sample_trial(i, i)});
  }
  store->commit(std::move(changes), nullptr);
  store->flush();
  const auto start = std::chrono::steady_clock::now();
  const auto list = store->list_experiments(
      {.sort = ExperimentSort::StartTime, .page = {.limit = 200, .descending = true}});
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(list.total, 10'000);
  EXPECT_EQ(list.experiments.size(), 200u);
  // About 20 ms on a quiet machine; the bound is for busy ones and sanitizers.
  EXPECT_LT(took, std::chrono::milliseconds(500));
  RecordProperty("microseconds",
                 std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
}

}  // namespace
}  // namespace det::store
