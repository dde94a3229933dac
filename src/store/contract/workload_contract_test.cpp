// What a page of a trial's workloads must be: the same list, however it is cut.

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

const TrialId kTrial(1);

class WorkloadContract : public StoreContract {
 protected:
  /// Training each 10 batches, validation each 50, and two checkpoints at 100.
  void add_history() {
    std::vector<Change> changes;
    for (int batches = 10; batches <= 200; batches += 10) {
      changes.emplace_back(AddMetrics{report(1, 1, "training", batches, {{"loss", 1.0 / batches}})});
      changes.emplace_back(AddMetrics{report(1, 1, "system", batches, {{"memory", batches}})});
      if (batches % 50 == 0)
        changes.emplace_back(AddMetrics{report(1, 1, "validation", batches, {{"error", 0.5}})});
    }
    changes.emplace_back(AddMetrics{report(2, 1, "training", 10, {{"loss", 0}})});
    for (const auto* uuid : {"first", "second"}) {
      CheckpointRecord checkpoint;
      checkpoint.uuid = uuid;
      checkpoint.trial_id = kTrial;
      checkpoint.experiment_id = ExperimentId(1);
      checkpoint.batches = 100;
      changes.emplace_back(PutCheckpoint{checkpoint});
    }
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  /// "t10 t20 … v50 …": what is on the page, in its order.
  std::string shown(const WorkloadQuery& query) {
    std::string text;
    for (const auto& workload : store->workloads(query).workloads) {
      if (!text.empty()) text += ' ';
      if (const auto* checkpoint = std::get_if<CheckpointRecord>(&workload))
        text += checkpoint->uuid;
      else if (const auto& report = std::get<MetricRecord>(workload); true)
        text += fmt::format("{}{}", report.group[0], report.batches);
    }
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(, WorkloadContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(WorkloadContract, OfEqualBatchesAreTrainingThenValidationThenCheckpoints) {
  add_history();
  EXPECT_EQ(shown({.trial = kTrial, .offset = 8, .limit = 7}), "t80 t90 t100 v100 first second t110");
  EXPECT_EQ(store->workloads({.trial = kTrial, .limit = 1}).total, 20 + 4 + 2);
}

TEST_P(WorkloadContract, PagesTogetherAreTheWholeListBothWays) {
  add_history();
  for (const bool descending : {false, true}) {
    const auto whole = shown({.trial = kTrial, .descending = descending});
    for (const int limit : {1, 3, 7, 25, 26, 100}) {
      std::string pages;
      for (int offset = 0; offset < 26; offset += limit) {
        if (offset > 0) pages += ' ';
        pages += shown({.trial = kTrial, .offset = offset, .limit = limit, .descending = descending});
      }
      EXPECT_EQ(pages, whole) << "pages of " << limit;
    }
  }
  EXPECT_EQ(shown({.trial = kTrial, .limit = 3, .descending = true}), "v200 t200 t190");
}

TEST_P(WorkloadContract, ANegativeOffsetCountsFromTheEnd) {
  add_history();
  EXPECT_EQ(shown({.trial = kTrial, .offset = -2}), "t200 v200");
  EXPECT_EQ(store->workloads({.trial = kTrial, .offset = -2}).offset, 24);
  EXPECT_EQ(store->workloads({.trial = kTrial, .offset = -99}).offset, 0);
  EXPECT_EQ(shown({.trial = kTrial, .offset = 99}), "");
}

TEST_P(WorkloadContract, HoldOnlyTheKindsThatAreWantedAndCountThem) {
  add_history();
  EXPECT_EQ(shown({.trial = kTrial, .training = false, .checkpoints = false}), "v50 v100 v150 v200");
  EXPECT_EQ(shown({.trial = kTrial, .training = false, .validation = false}), "first second");
  EXPECT_EQ(store->workloads({.trial = kTrial, .training = false, .limit = 1}).total, 6);
  EXPECT_EQ(store->workloads({.trial = TrialId(3)}).total, 0);
}

TEST_P(WorkloadContract, AreSortedByAMetricAndWhatDoesNotHaveItComesLast) {
  add_history();
  commit(AddMetrics{report(1, 1, "training", 300, {{"loss", "NaN"}})},
         AddMetrics{report(1, 1, "validation", 300, {{"error", 0.25}})});
  struct Row {
    std::string metric;
    bool descending;
    std::int64_t limit;
    std::string shown;
  };
  for (const auto& row : std::vector<Row>{{"loss", false, 2, "t200 t190"},
                                          {"loss", true, 2, "t10 t20"},
                                          {"training.loss", false, 2, "t200 t190"},
                                          {"validation.loss", false, 2, "t10 t20"},
                                          {"error", false, 3, "v300 v50 v100"},
                                          {"validation.error", true, 5, "v200 v150 v100 v50 v300"},
                                          {"unknown", false, 2, "t10 t20"}})
    EXPECT_EQ(
        shown({.trial = kTrial, .limit = row.limit, .descending = row.descending, .sort_metric = row.metric}),
        row.shown)
        << row.metric;
  EXPECT_EQ(shown({.trial = kTrial, .offset = 20, .limit = 2, .sort_metric = "loss"}), "v50 v100");
  EXPECT_EQ(shown({.trial = kTrial, .offset = -1, .sort_metric = "loss"}), "v300");
  EXPECT_EQ(store->workloads({.trial = kTrial, .limit = 1, .sort_metric = "loss"}).total, 28);
}

TEST_P(WorkloadContract, DeletedCheckpointsAreLeftOutOnDemand) {
  add_history();
  auto deleted = *store->checkpoint("first");
  deleted.state = experiment::CheckpointState::Deleted;
  commit(PutCheckpoint{deleted});
  const WorkloadQuery all{.trial = kTrial, .training = false, .validation = false};
  auto present = all;
  present.deleted_checkpoints = false;
  EXPECT_EQ(shown(all), "first second");
  EXPECT_EQ(shown(present), "second");
  EXPECT_EQ(store->workloads(present).total, 1);
}

TEST_P(WorkloadContract, ShowReportsAsTheyAreAfterARewind) {
  add_history();
  commit(RewindTrial{kTrial, 2, 150}, AddMetrics{report(1, 2, "training", 160, {{"loss", 7}})});
  EXPECT_EQ(shown({.trial = kTrial, .offset = -3}), "t150 v150 t160");
  const auto page = store->workloads({.trial = kTrial, .offset = -1});
  EXPECT_EQ(std::get<MetricRecord>(page.workloads.at(0)).avg_metrics, (json::object{{"loss", 7}}));
}

}  // namespace
}  // namespace det::store
