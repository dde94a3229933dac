// A search that somebody outside drives: what happens is queued until it is answered.

#include "det/search/methods/custom.h"

#include <gtest/gtest.h>

#include "det/search/searcher.h"

namespace det::search {
namespace {

using Kind = SearchEvent::Kind;

const RequestId a = "00000000-0000-4000-8000-00000000000a";
const RequestId b = "00000000-0000-4000-8000-00000000000b";

Searcher custom(bool smaller_is_better = true) {
  config::ExperimentConfig config;
  config.searcher.name = "custom";
  config.searcher.smaller_is_better = smaller_is_better;
  auto searcher = Searcher::make(config);
  EXPECT_TRUE(searcher);
  return *std::move(searcher);
}

SearchWish create(const RequestId& id) {
  return {.kind = SearchWish::Kind::Create, .request_id = id, .hparams = {{"lr", 0.1}}};
}
SearchWish train(const RequestId& id, std::int64_t length) {
  return {.kind = SearchWish::Kind::ValidateAfter, .request_id = id, .length = length};
}
SearchWish shutdown() {
  return {.kind = SearchWish::Kind::Shutdown};
}

TEST(CustomSearch, QueuesWhatHappensUntilItIsAnswered) {
  auto searcher = custom(false);
  EXPECT_TRUE(searcher.start().empty());
  ASSERT_EQ(searcher.events()->size(), 1u);
  const auto begun = searcher.answer(1, {create(a), train(a, 10)});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->size(), 2u);
  EXPECT_TRUE(searcher.events()->empty());
  searcher.trial_created(a);
  searcher.set_trial_progress(a, 3);
  searcher.set_trial_progress(a, 7);
  searcher.validation_completed(a, 0.75, 10);
  ASSERT_EQ(searcher.events()->size(), 3u) << "of progress the newest";
  EXPECT_EQ(searcher.events()->at(1).value, 7);
  EXPECT_EQ(searcher.events()->at(2).kind, Kind::ValidationCompleted);
  EXPECT_EQ(searcher.events()->at(2).value, 0.75) << "as the trial said it";
  EXPECT_TRUE(searcher.answer(3, {}));
  EXPECT_EQ(searcher.events()->size(), 1u) << "what came before goes with it";
}

TEST(CustomSearch, ATrialMayBeCreatedFromANamedCheckpoint) {
  auto searcher = custom();
  searcher.start();
  auto wish = create(a);
  wish.checkpoint = "c-1";
  const auto done = searcher.answer(1, {wish, create(b)});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(std::get<Create>(done->at(0)).checkpoint, "c-1");
  EXPECT_EQ(std::get<Create>(done->at(1)).checkpoint, "");
}

TEST(CustomSearch, EndsWhenItIsToldToAndNotBefore) {
  auto searcher = custom();
  searcher.start();
  ASSERT_TRUE(searcher.answer(1, {create(a)}));
  searcher.trial_created(a);
  EXPECT_TRUE(searcher.trial_closed(a).empty()) << "there may be more";
  const auto over = searcher.answer(2, {shutdown(), shutdown()});
  ASSERT_TRUE(over) << "a method that answers two events at once may say it for both";
  ASSERT_EQ(over->size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Shutdown>(over->back()));
  const auto late = searcher.answer(3, {create(b)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message(), "the search was shut down; it does not take more operations");
}

TEST(CustomSearch, RefusesAsAWholeWhatMakesNoSense) {
  auto searcher = custom();
  searcher.start();
  const auto before = json::serialize(searcher.snapshot());
  SearchWish too_much{.kind = SearchWish::Kind::Progress, .progress = 1.5};
  SearchWish close{.kind = SearchWish::Kind::Close, .request_id = a};
  for (const auto& wrong :
       std::vector<std::vector<SearchWish>>{{create(a), create(a)},
                                            {create(a), train(a, 0)},
                                            {create(a), train(a, 10), train(a, 10)},
                                            {create(a), close, train(a, 10)},
                                            {create("")},
                                            {create("../../etc/passwd-0000-0000-00000000")},
                                            {create(a), too_much},
                                            {shutdown(), create(a)}})
    EXPECT_FALSE(searcher.answer(1, wrong));
  EXPECT_FALSE(searcher.answer(7, {create(a)})) << "there is no event 7";
  EXPECT_FALSE(searcher.answer(0, {create(a)}));
  EXPECT_EQ(json::serialize(searcher.snapshot()), before);
}

TEST(CustomSearch, AnAnswerThatIsSentAgainIsNotFoundAndDoneOnce) {
  auto searcher = custom();
  searcher.start();
  ASSERT_TRUE(searcher.answer(1, {create(a), train(a, 10)}));
  const auto again = searcher.answer(1, {create(a), train(a, 10)});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error(), Error(ErrorCode::NotFound, "event 1 not found"));
}

TEST(CustomSearch, LeavesOutWhatIsAboutATrialThatEndedMeanwhile) {
  auto searcher = custom();
  searcher.start();
  ASSERT_TRUE(searcher.answer(1, {create(a), train(a, 10)}));
  searcher.trial_created(a);
  searcher.trial_exited_early(a, ExitedReason::Errored);
  const auto after_exit =
      searcher.answer(2, {train(a, 20), {.kind = SearchWish::Kind::Close, .request_id = a}});
  ASSERT_TRUE(after_exit) << after_exit.error().message();
  EXPECT_TRUE(after_exit->empty()) << "who answers has not heard of it";
  searcher.trial_closed(a);
  const auto after_close = searcher.answer(3, {train(a, 20)});
  ASSERT_TRUE(after_close) << after_close.error().message();
  EXPECT_TRUE(after_close->empty());
}

TEST(CustomSearch, OnlyOneThatIsDrivenFromOutsideTakesAnswers) {
  config::ExperimentConfig config;
  config.searcher.name = "single";
  config.searcher.max_length.count = 10;
  auto searcher = *Searcher::make(config);
  searcher.start();
  EXPECT_EQ(searcher.events(), nullptr);
  EXPECT_EQ(searcher.answer(1, {}).error().code(), ErrorCode::FailedPrecondition);
}

TEST(CustomSearch, GoesOnFromASnapshot) {
  config::ExperimentConfig config;
  config.searcher.name = "custom";
  auto searcher = custom();
  searcher.start();
  ASSERT_TRUE(searcher.answer(1, {create(a), train(a, 10), create(b)}));
  searcher.trial_created(a);
  searcher.set_trial_progress(a, 3);
  searcher.set_trial_progress(b, 4);
  auto restored = Searcher::restore(config, *json::parse(json::serialize(searcher.snapshot())));
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(*restored->events(), *searcher.events());
  for (auto* each : {&*restored, &searcher}) {
    each->set_trial_progress(a, 5);
    ASSERT_TRUE(each->answer(3, {train(a, 20)}));
    each->set_trial_progress(a, 12);
  }
  EXPECT_EQ(*restored->events(), *searcher.events());
  ASSERT_EQ(restored->events()->size(), 2u);
  EXPECT_EQ(restored->events()->front().value, 4) << "of the trial that was not answered";
  EXPECT_EQ(restored->events()->back().value, 12);
  EXPECT_EQ(restored->snapshot(), searcher.snapshot());
}

}  // namespace
}  // namespace det::search
