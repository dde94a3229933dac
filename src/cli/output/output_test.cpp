#include <gtest/gtest.h>

#include <sstream>

#include "det/cli/experiment/workloads.h"
#include "det/cli/follow/progress.h"
#include "det/cli/output/console.h"
#include "det/cli/output/format.h"
#include "det/cli/output/table.h"

namespace det::cli {
namespace {

json::value parsed(std::string_view text) {
  return json::parse(text).value();
}

TEST(Table, HasARuleUnderItsHeadersAndNoOuterBorders) {
  Table table({"ID", "Owner", "Progress"});
  table.add({json::value(7), json::value("determined"), json::value("12.3%")});
  table.add({json::value(12), json::value(nullptr), json::value(nullptr)});
  EXPECT_EQ(table.text(),
            "   ID | Owner      | Progress\n"
            "------+------------+------------\n"
            "    7 | determined | 12.3%\n"
            "   12 |            |\n");
}

TEST(Table, AlignsNumbersByTheirPointAndShowsBooleansAsWords) {
  Table table({"x", "ok"});
  table.add({json::value(0.25), json::value(true)});
  table.add({json::value(12), json::value(false)});
  EXPECT_EQ(table.text(),
            "     x | ok\n"
            "-------+-------\n"
            "  0.25 | True\n"
            " 12    | False\n");
}

TEST(Table, ShowsCellsWithSeveralLines) {
  Table table({"ID", "H-Params"});
  table.add({json::value(1), json::value("{\n    \"lr\": 0.1\n}")});
  EXPECT_EQ(table.text(),
            "   ID | H-Params\n"
            "------+---------------\n"
            "    1 | {\n"
            "      |     \"lr\": 0.1\n"
            "      | }\n");
}

TEST(Table, IsOnlyItsHeadersWithoutRows) {
  EXPECT_EQ(Table({"Name"}).text(), " Name\n--------\n");
}

TEST(Table, QuotesInCsvWhatNeedsIt) {
  Table table({"Name", "Note"});
  table.add({json::value("a,b"), json::value("say \"hi\"")});
  table.add({json::value(nullptr), json::value("x\ny")});
  EXPECT_EQ(table.csv(), "Name,Note\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n,\"x\ny\"\r\n");
}

TEST(Cells, AreShownInTheUsersForms) {
  EXPECT_EQ(time_cell(json::value("2026-01-02T03:04:05.123456Z")), "2026-01-02 03:04:05+0000");
  EXPECT_EQ(time_cell(json::value("2026-01-02T05:04:05+02:00")), "2026-01-02 03:04:05+0000");
  EXPECT_TRUE(time_cell(json::value(nullptr)).is_null());
  EXPECT_EQ(percent_cell(json::value(0.1234)), "12.3%");
  EXPECT_TRUE(percent_cell(json::value(nullptr)).is_null());
  EXPECT_EQ(state_cell(json::value("STATE_COMPLETED")), "COMPLETED");
  EXPECT_EQ(size_cell(json::value("2560")), "2.5KB");
  EXPECT_EQ(duration_text(4), "4 s");
  EXPECT_EQ(duration_text(192), "3 m 12 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 m");
}

TEST(Cells, OfWhatIsMissingAreNull) {
  const auto v = parsed(R"({"a":{"b":1}})");
  EXPECT_EQ(at(v, "a.b"), 1);
  EXPECT_TRUE(at(v, "a.c").is_null());
  EXPECT_TRUE(at(v, "a.b.c").is_null());
  EXPECT_EQ(text_at(v, "x.y"), "");
  EXPECT_TRUE(list_at(v, "a").empty());
}

struct Screen {
  std::ostringstream out, err;
  Console console;
  explicit Screen(bool tty, int columns = 40)
      : console({.out = out,
                 .err = err,
                 .read_line = {},
                 .out_tty = tty,
                 .err_tty = tty,
                 .colour = true,
                 .columns = columns}) {}
};

TEST(Console, UsesColoursAndRewritesLinesOnTerminalsOnly) {
  Screen pipe(false), terminal(true);
  for (auto* screen : {&pipe, &terminal}) {
    screen->console.status("1 of 2");
    screen->console.status("2 of 2");
    screen->console.finish_status("done");
    screen->console.good("well");
  }
  EXPECT_EQ(pipe.out.str(), "done\nwell\n");
  EXPECT_EQ(terminal.out.str(), "1 of 2\r\x1b[K2 of 2\r\x1b[Kdone\n\x1b[32mwell\x1b[0m\n");
}

TEST(Console, KeepsTheStatusBelowWhatIsWritten) {
  Screen terminal(true);
  terminal.console.status("50%");
  terminal.console.write_line("a log line");
  EXPECT_EQ(terminal.out.str(), "50%\r\x1b[Ka log line\n50%");
}

TEST(Console, CutsAStatusThatWouldWrap) {
  Screen terminal(true, 6);
  terminal.console.status("123456789");
  EXPECT_EQ(terminal.out.str(), "12345");
}

TEST(Console, ShowsControlCharactersOfLogsEscapedOnTerminals) {
  Screen pipe(false), terminal(true);
  for (auto* screen : {&pipe, &terminal})
    screen->console.log_line(
        "\x1b]0;owned\x07 10%\r20%\xc2\x9b"
        "2J\tend\n");
  EXPECT_EQ(terminal.out.str(), "\\x1b]0;owned\\x07 10%\\r20%\\x9b2J\tend\n");
  EXPECT_EQ(pipe.out.str(),
            "\x1b]0;owned\x07 10%\r20%\xc2\x9b"
            "2J\tend\n");
}

TEST(Console, AsksUntilTheAnswerIsYesOrNo) {
  std::ostringstream out, err;
  std::vector<std::string> typed = {"maybe", "YES"};
  Console console({.out = out, .err = err, .read_line = [&](bool) -> std::optional<std::string> {
                     if (typed.empty()) return std::nullopt;
                     auto line = typed.front();
                     typed.erase(typed.begin());
                     return line;
                   }});
  EXPECT_TRUE(console.confirm("Delete?"));
  EXPECT_EQ(err.str(), "Delete? [y/n]: Please respond with 'y'/'yes' or 'n'/'no': ");
  EXPECT_FALSE(console.confirm("Delete?"));
}

TEST(ProgressMeter, SaysHowFarHowGoodAndHowLong) {
  ProgressMeter meter;
  const auto experiment = parsed(
      R"({"searcherMetric":"validation_error","config":{"searcher":{"max_length":{"batches":2000}}}})");
  const auto at_start =
      parsed(R"({"id":12,"state":"STATE_RUNNING","totalBatchesProcessed":200,"latestValidation":null})");
  EXPECT_EQ(meter.line(100, experiment, at_start), "Trial 12  RUNNING  200/2000 batches (10.0%)");
  const auto later = parsed(R"({"id":12,"state":"STATE_RUNNING","totalBatchesProcessed":1200,
      "summaryMetrics":{"avg_metrics":{"loss":{"last":0.031249}}},
      "latestValidation":{"metrics":{"avgMetrics":{"validation_error":0.021}}}})");
  EXPECT_EQ(
      meter.line(200, experiment, later),
      "Trial 12  RUNNING  1200/2000 batches (60.0%)  loss 0.03125  validation_error 0.021  ETA 1 m 20 s");
}

TEST(ProgressMeter, KnowsTheLengthOfEveryGeneration) {
  EXPECT_EQ(length_in_batches(parsed(R"({"config":{"scheduling_unit":50,"searcher":{"max_steps":20}}})")),
            1000);
  EXPECT_EQ(length_in_batches(parsed(R"({"config":{"searcher":{"max_length":700}}})")), 700);
  EXPECT_EQ(length_in_batches(parsed(R"({"config":{"searcher":{"max_length":{"epochs":3}}}})")),
            std::nullopt);
}

TEST(Workloads, OfOneBatchCountAreOneRow) {
  WorkloadTable workloads;
  workloads.add(3, parsed(R"([
      {"training":{"endTime":"2026-01-02T03:04:05Z","totalBatches":100,"metrics":{"avgMetrics":{"loss":0.5,"acc":0.25}}}},
      {"validation":{"endTime":"2026-01-02T03:04:06Z","totalBatches":100,"metrics":{"avgMetrics":{"error":0.1}}}},
      {"checkpoint":{"uuid":"u1","endTime":"2026-01-02T03:04:07Z","totalBatches":100,"state":"STATE_COMPLETED"}},
      {"training":{"endTime":"2026-01-02T03:04:08Z","totalBatches":200,"metrics":{"avgMetrics":{"loss":"NaN"}}}}])")
                       .get_array());
  EXPECT_EQ(
      workloads.table(true, true).csv(),
      "Trial ID,# of Batches,State,Report Time,Training Metric: acc,Training Metric: loss,Checkpoint State,"
      "Checkpoint Report Time,Validation State,Validation Report Time,Validation Metric: error,"
      "Checkpoint UUID\r\n"
      "3,100,COMPLETED,2026-01-02 03:04:05+0000,0.25,0.5,COMPLETED,2026-01-02 03:04:07+0000,COMPLETED,"
      "2026-01-02 03:04:06+0000,0.1,u1\r\n"
      "3,200,COMPLETED,2026-01-02 03:04:08+0000,,NaN,,,,,,\r\n");
}

TEST(Workloads, ShowRecordsWhereTheyWereCounted) {
  WorkloadTable workloads;
  workloads.add(3, parsed(R"([
      {"training":{"totalBatches":100,"numInputs":6400,"metrics":{"avgMetrics":{}}}},
      {"validation":{"totalBatches":100,"numInputs":1000,"metrics":{"avgMetrics":{}}}},
      {"training":{"totalBatches":101,"numInputs":0,"metrics":{"avgMetrics":{}}}}])")
                       .get_array());
  EXPECT_EQ(workloads.table(false, false).csv(),
            "# of Batches,State,Report Time,Checkpoint State,Checkpoint Report Time,Validation State,"
            "Validation Report Time,Checkpoint UUID,# of Records,# of Validation Records\r\n"
            "100,COMPLETED,,,,COMPLETED,,,6400,1000\r\n"
            "101,COMPLETED,,,,,,,,\r\n");
}

}  // namespace
}  // namespace det::cli
