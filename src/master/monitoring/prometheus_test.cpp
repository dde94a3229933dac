#include "det/master/monitoring/prometheus_text.h"

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PrometheusText, IsWhatPrometheusReads) {
  PrometheusText out;
  out.family("det_things", "gauge", "Things.");
  out.sample({}, 3);
  out.sample({{"a", "x\"y\\z\n"}, {"b", "\xff"}}, 0.25);
  Histogram times;
  for (const double seconds : {0.0005, 0.001, 0.3, 100.0}) times.add(seconds);
  out.family("det_seconds", "histogram", "Times.");
  out.sample({{"r", "1"}}, times);
  const auto text = out.take();
  EXPECT_THAT(text, HasSubstr("# HELP det_things Things.\n# TYPE det_things gauge\ndet_things 3\n"
                              "det_things{a=\"x\\\"y\\\\z\\n\",b=\"?\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("det_seconds_bucket{r=\"1\",le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("det_seconds_bucket{r=\"1\",le=\"0.5\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("det_seconds_bucket{r=\"1\",le=\"60\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("det_seconds_bucket{r=\"1\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("det_seconds_count{r=\"1\"} 4\n"));
}

class PrometheusTest : public testing::MasterTest {};

TEST_F(PrometheusTest, CountsWhatIsThereAndWhatWasDone) {
  submit();
  submit();
  const auto task = sync("a", 1).desired.at(0);
  report(task, "training", 10, 0.5);
  call(user_, "GET", "/nonsense");
  const auto text = call(user_, "GET", "/metrics").text;
  for (const auto* line :
       {"det_experiments{state=\"ACTIVE\"} 2\n",
        "det_agents{agent_id=\"a\",resource_pool=\"default\",state=\"enabled\"} 1\n",
        "det_slots{agent_id=\"a\",resource_pool=\"default\",state=\"used\"} 1\n",
        "det_slots{agent_id=\"a\",resource_pool=\"default\",state=\"free\"} 0\n",
        "det_queue_length{resource_pool=\"default\"} 1\n", "det_allocation_wait_seconds_count 1\n",
        "det_metric_reports_total 1\n",
        "det_http_requests_total{method=\"POST\",route=\"/api/v1/experiments\",code=\"200\"} 2\n",
        "det_http_requests_total{method=\"other\",route=\"none\",code=\"404\"} 1\n",
        "determined_healthy 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(call(user_, "GET", "/debug/prom/metrics").status, 200);
}

TEST_F(PrometheusTest, SaysWhatBelongsTogetherWhileItDoes) {
  submit("labels: [vision]\n");
  const auto task = sync("a", 1).desired.at(0);
  const auto text = call(user_, "GET", "/prom/det-state-metrics").text;
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "det_container_id_allocation_id{{container_id=\"{0}.a\",allocation_id=\"{0}\"}} 1\n",
                        task.allocation_id)));
  EXPECT_THAT(text, HasSubstr("det_experiment_id_label{experiment_id=\"1\",label=\"vision\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("task_id=\"{}\"", task.task_id)));
  EXPECT_THAT(call(user_, "GET", "/prom/det-http-sd-config").text, HasSubstr("\"det_agent_id\":\"a\""));
  call(user_, "POST", "/api/v1/experiments/1/kill");
  exit("a", 1, task.allocation_id, 137);
  EXPECT_THAT(call(user_, "GET", "/prom/det-state-metrics").text, Not(HasSubstr("container_id=\"")));
}

TEST_F(PrometheusTest, IsForThoseWhoAreLoggedIn) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  for (const auto* path :
       {"/metrics", "/debug/prom/metrics", "/prom/det-state-metrics", "/prom/det-http-sd-config"}) {
    EXPECT_EQ(call("", "GET", path).status, 401) << path;
    EXPECT_EQ(call(task.token, "GET", path).status, 403) << path;
    EXPECT_EQ(call(user_, "GET", path).status, 200) << path;
  }
}

TEST_F(PrometheusTest, UnderRolesIsForThoseWhoMaySeeTheWholeClustersUsage) {
  authz_ = access::Mode::Rbac;
  restart();
  const auto eve = make_user("eve");
  for (const auto* path :
       {"/metrics", "/debug/prom/metrics", "/prom/det-state-metrics", "/prom/det-http-sd-config"}) {
    EXPECT_EQ(call(eve, "GET", path).status, 403) << path;
    EXPECT_EQ(call(admin_, "GET", path).status, 200) << path;
    EXPECT_EQ(call(agent_token(), "GET", path).status, 403) << path;
  }
}

}  // namespace
}  // namespace det::master
