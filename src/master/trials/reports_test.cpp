#include "det/master/trials/reports.h"

#include <gmock/gmock.h>

#include <limits>

namespace det::master {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
std::string problem_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

json::object metrics_in(const char* text) {
  return json::parse(text)->get_object();
}

experiment::MetricRecord report_of(std::string group, const char* metrics, std::int64_t batches = 40) {
  experiment::MetricRecord report;
  report.trial_id = TrialId(3);
  report.group = std::move(group);
  report.batches = batches;
  report.avg_metrics = metrics_in(metrics);
  return report;
}

/// The event in a few words: its name, batches, metric and time.
std::string words(const std::optional<cluster::Event>& event) {
  if (!event) return "none";
  if (const auto* progressed = event->as<cluster::TrialProgressed>())
    return fmt::format("{} {} {}{}", progressed->kName, progressed->allocation_id, progressed->batches,
                       progressed->runner_state);
  const auto& validated = *event->as<cluster::ValidationReported>();
  return fmt::format("{} {} {} {} {}", validated.kName, validated.allocation_id, validated.batches,
                     validated.metric, validated.time ? fmt::to_string(*validated.time) : "-");
}

TEST(ReportEvent, SaysHowFarTheTrialIsAndHowGood) {
  struct Row {
    const char *searcher, *time_metric, *group, *metrics;  // of a report after 40 batches
    bool hears;
    const char* event;  // or a part of the error
  };
  // clang-format off
  const Row rows[] = {
      // searcher       time       group         metrics                      hears  event
      {"random",        "batches", "training",   R"({"x": 1})",               false, "TrialProgressed a1 40"},
      {"random",        "batches", "inference",  R"({"m": 1})",               false, "none"},
      {"random",        "batches", "validation", R"({"m": 0.5})",             false, "ValidationReported a1 40 0.5 -"},
      {"random",        "batches", "validation", R"({"m": "NaN"})",           false, "ValidationReported a1 40 nan -"},
      {"random",        "batches", "validation", R"({"m": "Infinity"})",      false, "ValidationReported a1 40 inf -"},
      {"random",        "batches", "validation", R"({"m": "good"})",          false, "'m' is \"good\" in the validation after 40 batches; it must be a number"},
      {"random",        "batches", "validation", R"({"x": 1, "y": 2})",       false, "'m' is missing from the validation after 40 batches; reported metrics: x, y"},
      {"random",        "batches", "validation", "{}",                        false, "reported metrics: none"},
      {"single",        "batches", "validation", R"({"m": 0.5})",             false, "ValidationReported a1 40 0.5 -"},
      {"single",        "batches", "validation", R"({"x": 1})",               false, "TrialProgressed a1 40"},
      {"single",        "batches", "validation", R"({"m": null})",            false, "'m' is null"},
      {"adaptive_asha", "batches", "validation", R"({"m": 0.5})",             true,  "ValidationReported a1 40 0.5 40"},
      {"adaptive_asha", "batches", "validation", R"({"m": 0.5, "batches": 9})", true, "ValidationReported a1 40 0.5 9"},
      {"adaptive_asha", "epochs",  "validation", R"({"m": 0.5, "epochs": 2})", true, "ValidationReported a1 40 0.5 2"},
      {"adaptive_asha", "epochs",  "validation", R"({"m": 0.5})",             true,  "ValidationReported a1 40 0.5 -"},
      {"adaptive_asha", "records", "validation", R"({"m": 0.5})",             true,  "ValidationReported a1 40 0.5 -"},
      {"adaptive_asha", "tokens",  "validation", R"({"m": 0.5, "tokens": 7})", true, "ValidationReported a1 40 0.5 7"},
      {"adaptive_asha", "tokens",  "validation", R"({"m": 0.5})",             true,  "searcher.time_metric 'tokens' is not among the metrics"},
      {"adaptive_asha", "tokens",  "validation", R"({"m": 1, "tokens": "NaN"})", true, "searcher.time_metric 'tokens' is not a finite number in the metrics"},
      {"adaptive_asha", "tokens",  "validation", R"({"m": 0.5})",             false, "ValidationReported a1 40 0.5 -"},
      {"adaptive_asha", "tokens",  "validation", R"({"tokens": 7})",          true,  "'m' is missing"}};
  // clang-format on
  for (const auto& row : rows) {
    config::Searcher searcher;
    searcher.name = row.searcher;
    searcher.metric = "m";
    searcher.time_metric = row.time_metric;
    const auto event = report_event("a1", report_of(row.group, row.metrics), searcher, row.hears);
    if (event)
      EXPECT_EQ(words(*event), row.event) << row.metrics;
    else
      EXPECT_THAT(problem_of(event), HasSubstr(row.event)) << row.metrics;
  }
}

TEST(MetricsReport, IsKeptAsItWasSentOrRefused) {
  const auto request = [](std::string group, std::int64_t steps, std::int64_t inputs) {
    MetricsRequest request;
    request.trial_id = TrialId(3);
    request.group = std::move(group);
    request.metrics.trial_run_id = 2;
    request.metrics.steps_completed = steps;
    request.metrics.metrics.avg_metrics = metrics_in(R"({"m": 1})");
    request.metrics.metrics.num_inputs = inputs;
    return request;
  };
  struct Row {
    std::string group;
    std::int64_t steps, inputs;
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      {"training",            10,            64,            ""},
      {"training",            2'147'483'647, 2'147'483'647, ""},
      {std::string(256, 'g'), 0,             0,             ""},
      {std::string(257, 'g'), 0,             0,             "must have 1 to 256 bytes and no dot"},
      {"",                    0,             0,             "group is ''"},
      {"a.b",                 0,             0,             "group is 'a.b'"},
      {"training",            -1,            0,             "stepsCompleted is -1; it cannot be negative"},
      {"training",            2'147'483'648, 0,             "stepsCompleted is 2147483648; it must be at most 2147483647"},
      {"training",            0,             -1,            "numInputs is -1; it must be from 0 to 2147483647"},
      {"training",            0,             2'147'483'648, "numInputs is 2147483648"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto report = read_report(request(row.group, row.steps, row.inputs), Time{5});
    EXPECT_THAT(problem_of(report), HasSubstr(row.problem));
    EXPECT_EQ(report.has_value(), std::string(row.problem).empty()) << row.problem;
    if (!report) continue;
    EXPECT_EQ(report->trial_id, TrialId(3));
    EXPECT_EQ(report->run_id, 2);
    EXPECT_EQ(report->group, row.group);
    EXPECT_EQ(report->batches, row.steps);
    EXPECT_EQ(report->records, row.inputs);
    EXPECT_EQ(report->avg_metrics, metrics_in(R"({"m": 1})"));
    EXPECT_EQ(report->report_time, Time{5});
  }
  auto dated = request("training", 1, 0);
  dated.metrics.report_time = Time{4};
  EXPECT_EQ(read_report(dated, Time{5})->report_time, Time{4});
}

TEST(MetricsReport, IsOfTheTrialInThePathAndOfItsNewestRun) {
  const auto names = [](std::int64_t path, std::int64_t body) {
    MetricsRequest request;
    request.trial_id = TrialId(path);
    request.metrics.trial_id = TrialId(body);
    return problem_of(check_reported_trial(request));
  };
  EXPECT_EQ(names(3, 0), "");
  EXPECT_EQ(names(3, 3), "");
  EXPECT_EQ(names(3, 4), "metrics.trialId is 4, but the path names trial 3; they must be equal");
  struct Row {
    std::int64_t run, newest;
    bool running;
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      {0, 2, true,  ""},
      {2, 2, true,  ""},
      {2, 2, false, ""},
      {1, 2, true,  "run 1 of trial 3 cannot report: run 2 has replaced it"},
      {1, 2, false, "run 1 of trial 3 cannot report: its newest run is 2"},
      {3, 2, false, "run 3 of trial 3 cannot report: its newest run is 2"}};
  // clang-format on
  for (const auto& row : rows) {
    auto report = report_of("training", "{}");
    report.run_id = row.run;
    EXPECT_EQ(problem_of(check_reported_run(report, row.newest, row.running)), row.problem);
  }
}

TEST(CompletedOperation, HasAMetricThatTheSearchCanCompare) {
  for (const double metric : {0.5, -1.0, kInfinity, -kInfinity}) {
    const auto event = completion_event("a1", TrialId(3), 100, metric);
    ASSERT_TRUE(event) << metric;
    const auto& completed = *event->as<cluster::OperationCompleted>();
    EXPECT_EQ(completed.allocation_id, "a1");
    EXPECT_EQ(completed.metric, metric);
  }
  EXPECT_EQ(problem_of(completion_event("a1", TrialId(3), 100, kNan)),
            "searcherMetric of trial 3 at length 100 is NaN, which the search cannot compare; the trial must "
            "fail");
}

TEST(EarlyExit, HasAReasonAndOnlyAnErrorHasAMessage) {
  using enum search::ExitedReason;
  struct Row {
    const char* name;
    std::optional<search::ExitedReason> reason;
    const char* message;                   // of "lost"
    std::optional<std::string> unmanaged;  // what an unmanaged trial says of its error
  };
  // clang-format off
  const Row rows[] = {
      {"EXITED_REASON_INVALID_HP",          InvalidHp,         "",     std::nullopt},
      {"EXITED_REASON_INIT_INVALID_HP",     InitInvalidHp,     "",     std::nullopt},
      {"EXITED_REASON_USER_REQUESTED_STOP", UserRequestedStop, "",     std::nullopt},
      {"EXITED_REASON_ERRORED",             Errored,           "lost", "lost"},
      {"EXITED_REASON_UNSPECIFIED",         std::nullopt,      "",     std::nullopt},
      {"",                                  std::nullopt,      "",     std::nullopt}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(unmanaged_error(row.name, "lost"), row.unmanaged) << row.name;
    const auto event = early_exit_event("a1", row.name, "lost");
    ASSERT_EQ(event.has_value(), row.reason.has_value()) << row.name;
    if (!event) {
      EXPECT_THAT(problem_of(event), HasSubstr(fmt::format("reason is '{}'; it must be", row.name)));
      continue;
    }
    const auto& exit = *event->as<cluster::EarlyExitReported>();
    EXPECT_EQ(exit.reason, row.reason) << row.name;
    EXPECT_EQ(exit.message, row.message) << row.name;
  }
  EXPECT_EQ(unmanaged_error("EXITED_REASON_ERRORED", std::string(5000, 'x'))->size(), 4000u);
}

TEST(ReportedProgress, IsFromZeroToOne) {
  struct Row {
    double progress;
    bool bounded, unbounded;
  };
  // clang-format off
  const Row rows[] = {
      {0,          true,  true},
      {0.5,        true,  true},
      {1,          true,  true},
      {1.5,        false, true},
      {-0.1,       false, false},
      {kNan,       false, false},
      {kInfinity,  false, false},
      {-kInfinity, false, false}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(check_progress(row.progress, true).has_value(), row.bounded) << row.progress;
    EXPECT_EQ(check_progress(row.progress, false).has_value(), row.unbounded) << row.progress;
  }
  EXPECT_EQ(problem_of(check_progress(2, true)), "progress is 2; it must be from 0 to 1");
}

TEST(BestSearcherMetric, IsTheSmallestOrTheLargestAndNeverNaN) {
  constexpr auto kNone = std::nullopt;
  using Metric = std::optional<double>;
  struct Row {
    std::vector<Metric> metrics;  // of each trial
    Metric smallest, largest;
  };
  // clang-format off
  const Row rows[] = {
      {{},                     kNone,      kNone},
      {{kNone},                kNone,      kNone},
      {{kNan},                 kNone,      kNone},
      {{2.0},                  2.0,        2.0},
      {{3.0, 1.0, 2.0},        1.0,        3.0},
      {{kNan, 3.0, kNone, 2.0}, 2.0,       3.0},
      {{3.0, kNan},            3.0,        3.0},
      {{kInfinity, 1.0},       1.0,        kInfinity}};
  // clang-format on
  for (const auto& row : rows) {
    std::map<TrialId, experiment::Trial> trials;
    for (const auto& metric : row.metrics)
      trials[TrialId(static_cast<std::int64_t>(trials.size()) + 1)].record.best_metric = metric;
    EXPECT_EQ(best_searcher_metric(trials, true), row.smallest);
    EXPECT_EQ(best_searcher_metric(trials, false), row.largest);
  }
}

TEST(NewestReport, OfAGroupGoesForwardOnlyWhenItIsKnownToBeTheNewest) {
  NewestReports newest;
  const auto forward = [&](const char* allocation, const char* group, std::int64_t batches) {
    return goes_forward(newest, allocation, report_of(group, "{}", batches));
  };
  EXPECT_FALSE(forward("a1", "training", 1)) << "nobody knows what is stored";
  note_newest(newest, "a1", report_of("training", "{}", 10));
  note_newest(newest, "a1", report_of("training", "{}", 5));
  // clang-format off
  EXPECT_FALSE(forward("a1", "training",   9));
  EXPECT_FALSE(forward("a1", "training",   10));
  EXPECT_TRUE (forward("a1", "training",   11));
  EXPECT_FALSE(forward("a1", "validation", 11));
  EXPECT_FALSE(forward("a2", "training",   11));
  // clang-format on
  for (int i = 0; i < 300; ++i) note_newest(newest, "a1", report_of(fmt::format("g{}", i), "{}", 1));
  EXPECT_EQ(newest.at("a1").size(), 256u) << "those beyond are compared with what is stored";
}

}  // namespace
}  // namespace det::master
