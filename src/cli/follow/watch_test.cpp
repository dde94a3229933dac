// What `det experiment watch` draws.

#include "det/cli/follow/watch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "det/cli/follow/plot.h"
#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Plot, DrawsALineFromCornerToCorner) {
  EXPECT_THAT(draw_curves({{{0, 0}, {100, 1}}}, {.columns = 11, .rows = 4}, false),
              ElementsAre("1 ┤    ⢀⡠⠔⠊", "0 ┤⣀⡠⠔⠊⠁   ", "  └────────", "   0    100"));
}

TEST(Plot, LeavesAGapWhereAValueIsNoNumber) {
  const auto lines =
      draw_curves({{{0, 1}, {10, 1}, {20, NAN}, {30, INFINITY}, {40, 1}}}, {.columns = 30, .rows = 5}, false);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[1], HasSubstr("⠒   ")) << "nothing is drawn across it";
}

TEST(Plot, OfNothingIsNothing) {
  EXPECT_TRUE(draw_curves({}, {}, false).empty());
  EXPECT_TRUE(draw_curves({{{1, NAN}}}, {}, false).empty());
}

TEST(Plot, ColoursAreOnlyWhereTheyAreWanted) {
  EXPECT_THAT(draw_curves({{{0, 0}, {1, 1}}}, {}, true)[0], HasSubstr("\x1b[36m"));
  EXPECT_THAT(draw_curves({{{0, 0}, {1, 1}}}, {}, false)[0], Not(HasSubstr("\x1b")));
}

constexpr const char* kExperiment =
    R"({"experiment":{"id":7,"name":"mnist","state":"STATE_RUNNING","progress":0.5,)"
    R"("config":{"searcher":{"metric":"loss","smaller_is_better":true}}}})";
constexpr const char* kTrials =
    R"({"trials":[{"id":3,"state":"STATE_RUNNING","totalBatchesProcessed":50,"targetBatches":100,)"
    R"("searcherMetricValue":0.5,"hparams":{"lr":0.1}},)"
    R"({"id":4,"state":"STATE_COMPLETED","totalBatchesProcessed":100,"searcherMetricValue":0.25,"hparams":{}},)"
    R"({"id":5,"state":"STATE_QUEUED","totalBatchesProcessed":0,"hparams":{}}],"pagination":{"total":3}})";
constexpr const char* kSeries =
    R"({"trials":[{"trial":{"id":4},"metrics":[{"group":"validation","data":[)"
    R"({"batches":50,"values":{"loss":0.75}},{"batches":100,"values":{"loss":0.25}}]}]}]})";

TEST(Watch, TheBestTrialsAreDrawn) {
  const auto trials = json::parse(kTrials)->at("trials").as_array();
  const auto experiment = json::parse(kExperiment)->at("experiment");
  const auto drawn = trials_to_draw(experiment, trials, 2);
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0].at("id"), 4);
  EXPECT_EQ(drawn[1].at("id"), 3);
}

TEST(Watch, APipeGetsTheMomentWithoutControlCharacters) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7", kExperiment);
  master.answer("GET /api/v1/experiments/7/trials", kTrials);
  master.answer("GET /api/v1/trials/time-series", kSeries);
  const auto shown = det("experiment watch 7", master);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("Experiment 7  mnist  RUNNING  50.0%  3 trials\n"));
  EXPECT_THAT(shown.out, HasSubstr("loss over batches\n0.75 ┤"));
  EXPECT_THAT(shown.out, HasSubstr("●     4  COMPLETED"));
  EXPECT_THAT(shown.out, HasSubstr("50/100         0.5  lr=0.1\n"));
  EXPECT_THAT(shown.out, Not(HasSubstr("\x1b")));
}

TEST(Watch, ATerminalIsDrawnAgainUntilTheExperimentIsOver) {
  TestMaster master;
  std::string over = kExperiment;
  over.replace(over.find("STATE_RUNNING"), 13, "STATE_ERROR");
  master.answer("GET /api/v1/experiments/7", kExperiment);
  master.answer("GET /api/v1/experiments/7", over);
  master.answer("GET /api/v1/experiments/7/trials", kTrials);
  master.answer("GET /api/v1/trials/time-series", kSeries);
  const auto shown = det("experiment watch 7 --interval 0.1", master, {.typed = {}, .tty = true});
  EXPECT_EQ(shown.code, 1) << "it ended in an error";
  EXPECT_THAT(shown.out, HasSubstr("mnist  RUNNING"));
  EXPECT_THAT(shown.out, HasSubstr("\x1b[H"));
  EXPECT_THAT(shown.out, HasSubstr("mnist  ERROR"));
}

}  // namespace
}  // namespace det::cli::test
