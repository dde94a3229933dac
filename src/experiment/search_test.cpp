// An experiment whose search is driven from outside, changed, or extended.

#include <gtest/gtest.h>

#include "det/experiment/testing.h"

namespace det::experiment {
namespace {

constexpr const char* kCustom = "searcher: {name: custom, metric: loss, unit: records}\n";
const search::RequestId kFirst = "00000000-0000-4000-8000-000000000001";
const search::RequestId kSecond = "00000000-0000-4000-8000-000000000002";

search::SearchWish wish_create(const search::RequestId& id) {
  return {.kind = search::SearchWish::Kind::Create, .request_id = id, .hparams = {{"global_batch_size", 4}}};
}
search::SearchWish wish_train(const search::RequestId& id, std::int64_t length) {
  return {.kind = search::SearchWish::Kind::ValidateAfter, .request_id = id, .length = length};
}
search::SearchWish wish_shutdown(bool cancel = false, bool failure = false) {
  return {.kind = search::SearchWish::Kind::Shutdown, .cancel = cancel, .failure = failure};
}

/// A custom search whose two trials train to 40 records, and which waits for the next answer.
struct CustomBench : Bench {
  CustomBench() : Bench(kCustom) {
    EXPECT_EQ(count<RequestAllocation>(), 0);
    answer({wish_create(kFirst), wish_train(kFirst, 40), wish_create(kSecond), wish_train(kSecond, 40)});
  }
  void answer(const std::vector<search::SearchWish>& wishes) {
    const auto done = experiment.answer_search(experiment.search_events()->back().id, wishes, context());
    ASSERT_TRUE(done) << done.error().message();
    effects = experiment.take_effects();
  }
};

TEST(ExperimentSearch, ACustomSearchIsToldWhatHappensAndDoesWhatIsAnswered) {
  CustomBench bench;
  EXPECT_EQ(bench.count<RequestAllocation>(), 2);
  EXPECT_EQ(bench.trial(1).operations.front().batches, 10)
      << "40 records, 4 in a batch of its own hyperparameters";
  bench.complete(1, 10);
  EXPECT_EQ(bench.experiment.search_events()->back().kind, search::SearchEvent::Kind::ValidationCompleted);
  bench.answer({wish_train(kFirst, 80), {.kind = search::SearchWish::Kind::Close, .request_id = kSecond}});
  EXPECT_EQ(bench.trial(1).operations.back().batches, 20);
  EXPECT_TRUE(bench.trial(2).closed);
  EXPECT_EQ(bench.experiment.record().state, State::Active);
}

TEST(ExperimentSearch, ATrialOfACustomSearchStartsFromTheCheckpointThatIsNamedAlsoAfterARestart) {
  Bench bench(kCustom);
  auto wish = wish_create(kFirst);
  wish.checkpoint = "elsewhere";
  ASSERT_TRUE(bench.experiment.answer_search(1, {wish, wish_train(kFirst, 40)}, bench.context()));
  EXPECT_EQ(bench.trial(1).record.warm_start_checkpoint, "elsewhere");
  EXPECT_EQ(bench.trial(1).record.latest_checkpoint, "");
  const auto again = Experiment::restore(bench.experiment.snapshot());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->trials().begin()->second.record.warm_start_checkpoint, "elsewhere");
}

TEST(ExperimentSearch, AnAnswerToACustomSearchIsTakenOnceAndAWrongOneChangesNothing) {
  CustomBench bench;
  const auto last = bench.experiment.search_events()->back().id;
  const auto before = json::serialize(bench.experiment.snapshot());
  const auto refused = [&](std::int64_t event, const search::SearchWish& wish) {
    const auto done = bench.experiment.answer_search(event, {wish}, bench.context());
    return done ? "accepted" : done.error().message();
  };
  EXPECT_EQ(refused(1, wish_create(kFirst)), "event 1 not found")
      << "answered before: not that the id was used";
  EXPECT_EQ(refused(last, wish_create(kFirst)),
            "request ID " + kFirst + " was used before; each operation needs a new one");
  const std::string unknown = "00000000-0000-4000-8000-00000000000f";
  EXPECT_EQ(refused(last, wish_train(unknown, 5)),
            "trial " + unknown + " not found; create it before its other operations");
  EXPECT_EQ(json::serialize(bench.experiment.snapshot()), before);
  bench.answer({wish_shutdown()});
  EXPECT_EQ(refused(last + 1, wish_shutdown()), "event " + std::to_string(last + 1) + " not found");
}

TEST(ExperimentSearch, TheEndOfACustomSearchStopsWhoStillTrains) {
  CustomBench bench;
  bench.answer({wish_shutdown()});
  EXPECT_EQ(bench.count<PreemptAllocation>(), 2);
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
  bench.end(2, kPreempted);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
  EXPECT_EQ(bench.count<Ended>(), 1);

  CustomBench failed;
  failed.answer({wish_shutdown(false, true)});
  failed.end(1, kPreempted);
  failed.end(2, kPreempted);
  EXPECT_EQ(failed.trial(1).record.state, State::Canceled) << "it did nothing wrong";
  EXPECT_EQ(failed.experiment.record().state, State::Error);
  EXPECT_EQ(failed.experiment.record().error, "the search method reported a failure");

  CustomBench canceled;
  canceled.answer({wish_shutdown(true)});
  canceled.end(1, kPreempted);
  canceled.end(2, kPreempted);
  EXPECT_EQ(canceled.experiment.record().state, State::Canceled);
}

TEST(ExperimentSearch, ACustomSearchGoesOnFromItsSnapshot) {
  CustomBench bench;
  bench.complete(1, 10);
  auto copy = *Experiment::restore(bench.experiment.snapshot());
  auto ids = bench.next_trial;
  const auto last = copy.search_events()->back().id;
  const std::string third = "00000000-0000-4000-8000-000000000003";
  ASSERT_TRUE(copy.answer_search(last, {wish_create(third)}, {.now = Time{50}, .next_trial_id = ids}));
  ASSERT_TRUE(bench.experiment.answer_search(last, {wish_create(third)},
                                             {.now = Time{50}, .next_trial_id = bench.next_trial}));
  EXPECT_EQ(json::serialize(copy.snapshot()), json::serialize(bench.experiment.snapshot()));
}

TEST(ExperimentSearch, ALargerSearchBeginsAtOnceAndGoesOnFromASnapshot) {
  Bench bench(kRandom);
  ASSERT_TRUE(bench.experiment.reconfigure({.max_trials = 5, .max_concurrent_trials = 2}, bench.context()));
  bench.effects = bench.experiment.take_effects();
  EXPECT_EQ(bench.count<RequestAllocation>(), 1) << "the second one";
  auto copy = *Experiment::restore(bench.experiment.snapshot());
  EXPECT_EQ(json::serialize(copy.snapshot()), json::serialize(bench.experiment.snapshot()));
  for (int i = 1; i <= 5; ++i) {
    bench.complete(i, 100);
    bench.end(i, kClean);
  }
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(ExperimentSearch, MoreBracketsDoNotComeWithMoreTrials) {
  Bench bench(
      "searcher: {name: adaptive_asha, metric: loss, max_trials: 4, divisor: 4, max_rungs: 5, "
      "max_concurrent_trials: 2, max_length: {batches: 1000}}\n");
  ASSERT_TRUE(bench.experiment.reconfigure({.max_trials = 100}, bench.context()));
  EXPECT_EQ(json::serialize(bench.experiment.record().config.at("searcher").at("bracket_rungs")), "[2,1]");
  const auto copy = Experiment::restore(bench.experiment.snapshot());
  ASSERT_TRUE(copy) << copy.error().message();
}

TEST(ExperimentSearch, ALongerMaximumOfAHalvingIsForThoseWhoComeToItsTop) {
  for (const auto* searcher :
       {"{name: async_halving, num_rungs: 2, divisor: 2, max_trials: 4, "
        "max_concurrent_trials: 1, stop_once: true, max_length: {batches: 100}",
        "{name: async_halving, num_rungs: 2, divisor: 2, max_trials: 4, "
        "max_concurrent_trials: 1, max_time: 100, time_metric: batches",
        "{name: adaptive_simple, mode: aggressive, max_rungs: 2, divisor: 2, max_trials: 4, "
        "max_length: {batches: 100}"}) {
    SCOPED_TRACE(searcher);
    Bench bench(fmt::format("searcher: {}, metric: loss}}\n", searcher));
    const auto goes_up = [&](const Trial& trial) { return trial.operations.back().batches > 50; };
    while (std::ranges::none_of(bench.experiment.trials(), [&](const auto& t) { return goes_up(t.second); }))
      for (const auto& [id, trial] : bench.experiment.trials())
        if (!trial.allocation.empty() && !trial.operations.back().completed) {
          bench.complete(static_cast<int>(id.value()), 50);
          break;
        }
    ASSERT_TRUE(bench.experiment.reconfigure({.max_length = 300}, bench.context()));
    for (const auto& [id, trial] : bench.experiment.trials()) {
      const std::vector<TrialOperation> below = {{50, 50, trial.operations.front().completed}};
      const std::vector<TrialOperation> above = {{50, 50, true}, {100, 100, false}, {300, 300, false}};
      EXPECT_EQ(trial.operations, goes_up(trial) ? above : below);
    }
    const auto& config = bench.experiment.record().config.at("searcher").as_object();
    if (config.contains("max_time"))
      EXPECT_EQ(config.at("max_time"), 300);
    else
      EXPECT_EQ(json::serialize(config.at("max_length")), R"({"batches":300})");
    const auto copy = Experiment::restore(bench.experiment.snapshot());
    ASSERT_TRUE(copy) << copy.error().message();
    EXPECT_EQ(json::serialize(copy->snapshot()), json::serialize(bench.experiment.snapshot()));
  }
}

constexpr const char* kPopulation =
    "searcher: {name: pbt, metric: loss, population_size: 2, num_rounds: 2, length_per_round: {batches: 10}, "
    "replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, perturb_factor: "
    "0.2}}\n";

TEST(ExperimentSearch, MoreRoundsOfAPopulationAreTrainedByWhoIsInIt) {
  Bench bench(kPopulation);
  for (const int id : {1, 2}) bench.complete(id, 10);
  ASSERT_TRUE(bench.experiment.reconfigure({.num_rounds = 3}, bench.context()));
  EXPECT_EQ(bench.experiment.record().config.at("searcher").at("num_rounds"), 3);
  EXPECT_NEAR(bench.experiment.record().progress, 1.0 / 3, 1e-9);
  bench.experiment = *Experiment::restore(bench.experiment.snapshot());
  const auto survivor = bench.trial(1).closed ? 2 : 1;
  for (int rounds = 0; !bench.trial(survivor).closed && rounds < 2; ++rounds)
    for (const auto& [id, trial] : std::map(bench.experiment.trials()))
      if (!trial.closed) bench.complete(static_cast<int>(id.value()), trial.operations.back().batches);
  EXPECT_EQ(bench.trial(survivor).operations.back().batches, 30) << "of equals, the first id stays";
  for (const auto& [id, trial] : std::map(bench.experiment.trials()))
    if (!is_terminal(trial.record.state)) bench.end(static_cast<int>(id.value()), kClean);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
  EXPECT_FALSE(bench.experiment.reconfigure({.num_rounds = 4}, bench.context()));
}

TEST(ExperimentSearch, SaysWhyItsSearchCannotBeChangedAndChangesNothing) {
  struct Case {
    const char* searcher;
    Reconfiguration change;
    const char* message;
  };
  const Case cases[] = {
      {kRandom, {.max_trials = 2}, "searcher.max_trials is 2; it must be at least the current value, 3"},
      {kRandom, {.max_length = 50}, "searcher.max_length is 50; it must be at least the current value, 100"},
      {kRandom, {.max_concurrent_trials = -1}, "searcher.max_concurrent_trials is -1; it must be 0 or more"},
      {kSingle,
       {.max_trials = 2},
       "searcher.max_trials of the searcher single cannot be changed; these fields can: max_length"},
      {kCustom,
       {.max_trials = 2},
       "searcher.max_trials cannot be changed: the size of the searcher custom is fixed when it is "
       "submitted"},
      {"searcher: {name: single, metric: loss, max_steps: 3}\n",
       {.max_length = 400},
       "searcher.max_length cannot be changed, because the configuration uses max_steps"},
      {"searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_time: 64, time_metric: batches}\n",
       {.max_length = 40},
       "searcher.max_length is 40; it must be at least the current value, 64"},
      {"searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_length: {batches: 64}}\n",
       {.max_length = 32},
       "searcher.max_length is 32; it must be at least the current value, 64"},
      {"searcher: {name: adaptive_simple, metric: loss, max_trials: 4, max_length: {batches: 64}}\n",
       {.max_trials = 9},
       "searcher.max_trials of the searcher adaptive_simple cannot be changed; these fields can: max_length"},
      {kPopulation, {.num_rounds = 1}, "searcher.num_rounds is 1; it must be at least the current value, 2"},
      {kPopulation,
       {.max_length = 100},
       "searcher.max_length of the searcher pbt cannot be changed; these fields can: num_rounds"},
      {kRandom,
       {.num_rounds = 4},
       "searcher.num_rounds of the searcher random cannot be changed; these fields can: "
       "max_concurrent_trials, max_length, max_trials"},
      {"searcher: {name: adaptive, metric: loss, budget: {batches: 300}, max_length: {batches: 64}}\n",
       {.max_length = 300},
       "searcher.budget is 300; it must be greater than max_length, 300"}};
  for (const auto& each : cases) {
    Bench bench(each.searcher);
    const auto before = json::serialize(bench.experiment.snapshot());
    const auto refused = bench.experiment.reconfigure(each.change, bench.context());
    ASSERT_FALSE(refused) << each.message;
    EXPECT_EQ(refused.error().message(), each.message);
    EXPECT_EQ(json::serialize(bench.experiment.snapshot()), before);
  }
}

TEST(ExperimentSearch, MaxTimeMayCountEpochs) {
  Bench bench(
      "searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_time: 4, time_metric: epochs, "
      "divisor: 4, "
      "max_concurrent_trials: 1}\nrecords_per_epoch: 80\n");
  EXPECT_EQ(bench.trial(1).operations.front().length, 1);
  EXPECT_EQ(bench.trial(1).operations.front().batches, 10) << "80 records, 8 in a batch";
  EXPECT_THROW(
      Bench::make("searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_time: 4, time_metric: "
                  "epochs}\n"),
      std::runtime_error)
      << "how many records are an epoch?";
}

TEST(ExperimentSearch, AProcessThatLeftBeforeItHeardOfMoreIsNoFailure) {
  Bench bench(kSingle);
  bench.complete(1, 200);
  ASSERT_TRUE(bench.experiment.reconfigure({.max_length = 300}, bench.context()));
  EXPECT_EQ(bench.trial(1).operations.back().batches, 300);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.restarts, 1) << "it knew when it began";
  bench.complete(1, 300);
  bench.end(1, kClean);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(ExperimentSearch, ACompletedSearchIsExtendedFromWhatWasKeptOfIt) {
  Bench bench(kRandom);
  for (int i = 1; i <= 3; ++i) {
    bench.complete(i, 100);
    bench.end(i, kClean);
  }
  const auto record = bench.experiment.record();
  const auto search = bench.experiment.at_end().value();
  auto extended = Experiment::extend(record, search, {.max_trials = 4}, bench.context());
  ASSERT_TRUE(extended) << extended.error().message();
  EXPECT_EQ(extended->record().state, State::Active);
  EXPECT_FALSE(extended->record().end_time);
  ASSERT_EQ(extended->trials().size(), 1u);
  EXPECT_EQ(extended->trials().begin()->first, TrialId{4});

  Bench whole(std::string(kRandom).replace(std::string(kRandom).find("max_trials: 3"), 13, "max_trials: 4"));
  for (int i = 1; i <= 3; ++i) {
    whole.complete(i, 100);
    whole.end(i, kClean);
  }
  EXPECT_EQ(extended->trials().begin()->second.record.hparams, whole.trial(4).record.hparams);
  EXPECT_FALSE(Experiment::extend(record, search, {.max_concurrent_trials = 4}, bench.context()));
  auto canceled = record;
  canceled.state = State::Canceled;
  EXPECT_FALSE(Experiment::extend(canceled, search, {.max_trials = 4}, bench.context()));
}

}  // namespace
}  // namespace det::experiment
