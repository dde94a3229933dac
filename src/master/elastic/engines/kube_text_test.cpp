#include "det/master/elastic/engines/kube_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::master {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const PilotSettings kKubePilot{
    .master_url = "https://det:8080", .certificate = {}, .certificate_name = {}, .log_dir = "/logs"};
const EngineRequest kKubeRequest{.name = "det-3f2a1b77-17", .id = "17", .nodes = 2, .token = "SECRET"};

ProviderSettings kube_settings() {
  ProviderSettings settings;
  settings.type = ProviderType::Kubernetes;
  settings.image = "example/det:1", settings.program = "det";
  settings.limits.slots_per_node = 4;
  return settings;
}

TEST(KubeText, APodHasTheTokenByReferenceOnly) {
  const auto pod = kube_pod(kube_settings(), kKubePilot, kKubeRequest, 1);
  const auto text = json::serialize(pod);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr(R"("name":"det-3f2a1b77-17-1")"), HasSubstr(R"("restartPolicy":"Never")"),
            HasSubstr(R"("secretKeyRef":{"name":"det-3f2a1b77-17","key":"token"})"),
            HasSubstr(R"("limits":{"cpu":"4"})"), HasSubstr(R"("determined-cluster":"det-3f2a1b77")"),
            HasSubstr("exec 'det' agent --pilot '17'"), HasSubstr("--node 1"), Not(HasSubstr("SECRET"))));
  EXPECT_THAT(json::serialize(kube_secret(kKubeRequest)), HasSubstr(R"("token":"U0VDUkVU")"));
}

TEST(KubeText, GpusAndLimitsAndThePodsOwnSettingsAreInItsSpec) {
  auto settings = kube_settings();
  settings.gpus = true, settings.mem = "64Gi", settings.time_limit = 3'600;
  settings.pod = json::parse(R"({"nodeSelector": {"gpu": "a100"}, "containers": [
      {"env": [{"name": "A", "value": "b"}], "resources": {"limits": {"rdma/hca": 1}}}, {"name": "sidecar"}]})")
                     ->get_object();
  const auto pod = kube_pod(settings, kKubePilot, kKubeRequest, 0);
  const auto& spec = pod.at("spec").get_object();
  EXPECT_EQ(json::serialize(spec.at("containers").at(0).at("resources")),
            R"({"limits":{"memory":"64Gi","nvidia.com/gpu":"4","rdma/hca":1}})");
  EXPECT_EQ(spec.at("containers").at(0).at("env").get_array().size(), 2u);
  EXPECT_EQ(spec.at("containers").at(1).at("name"), "sidecar");
  EXPECT_EQ(spec.at("nodeSelector").at("gpu"), "a100");
  EXPECT_EQ(spec.at("activeDeadlineSeconds").get_int64(), 3'600);
}

struct PodCase {
  std::string statuses;  ///< of its pods, each in {}
  int wanted;
  EngineJob::State state;
  std::string reason;
  bool broken = false;
};

TEST(KubeText, ReadsThePodsOfAnAllotmentAsOneJob) {
  using State = EngineJob::State;
  const std::string running = R"({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"})";
  const std::vector<PodCase> cases = {
      {R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
          "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}]})",
       1, State::Pending,
       "pod a-0 is pending: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."},
      {R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff",
          "message": "Back-off pulling image \"nope\""}}}]})",
       1, State::Pending, "pod a-0 is pending: ImagePullBackOff: Back-off pulling image \"nope\""},
      {"{}", 1, State::Pending, "pod a-0 is pending: it is not scheduled yet"},
      {running, 1, State::Running, "pod a-0 is running"},
      {running + "," + running, 2, State::Running, "2 pods are running"},
      {R"({"phase": "Running", "startTime": "2026-01-01T00:59:00Z"},{"phase": "Pending"})", 2, State::Running,
       "1 of 2 pods are running; pod a-1 is pending: it is not scheduled yet"},
      {running + R"(,{"phase": "Pending"})", 2, State::Ended,
       "1 of its 2 pods run after 600 s; pod a-1 is pending: it is not scheduled yet", true},
      {running, 2, State::Ended, "1 of its 2 pods are gone", true},
      {R"({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})", 1,
       State::Ended, "pod a-0 ended: Evicted: The node was low on memory."},
      {R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled",
          "exitCode": 137}}}]})",
       1, State::Ended, "pod a-0 ended: OOMKilled (exit status 137)"},
      {running + R"(,{"phase": "Succeeded"})", 2, State::Ended, "pod a-1 ended: Succeeded", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.statuses);
    auto statuses = json::parse("[" + c.statuses + "]")->get_array();
    json::array items;
    for (std::size_t i = 0; i < statuses.size(); ++i)
      items.push_back({{"metadata",
                        {{"name", fmt::format("a-{}", i)},
                         {"labels", {{"determined-allotment", "a"}}},
                         {"annotations", {{"determined-nodes", std::to_string(c.wanted)}}}}},
                       {"status", statuses[i]}});
    const auto jobs = read_kube_pods(json::serialize(json::object{{"items", items}}), kube_settings(),
                                     *parse_rfc3339("2026-01-01T01:00:00Z"));
    ASSERT_TRUE(jobs);
    ASSERT_EQ(jobs->size(), 1u);
    EXPECT_EQ(jobs->at(0).job.state, c.state);
    EXPECT_EQ(jobs->at(0).job.reason, c.reason);
    EXPECT_EQ(jobs->at(0).broken, c.broken);
    EXPECT_EQ(jobs->at(0).pods.size(), statuses.size());
  }
  EXPECT_FALSE(read_kube_pods("<html>", kube_settings(), {}));
}

TEST(KubeText, APodThatWasDeletedHasEndedWhereItsNodeDoesNotConfirmIt) {
  const std::string pods = R"({"items": [{"metadata": {"name": "a-0", "labels": {"determined-allotment": "a"},
      "deletionTimestamp": "2026-01-01T01:00:00Z"}, "status": {"phase": "Running"}}]})";
  const auto at = [&](const char* time) {
    return read_kube_pods(pods, kube_settings(), *parse_rfc3339(time)).value().at(0);
  };
  EXPECT_EQ(at("2026-01-01T00:59:30Z").job.state, EngineJob::State::Running) << "its trials save";
  EXPECT_EQ(at("2026-01-01T01:00:30Z").job.state, EngineJob::State::Running) << "it may still be said";
  EXPECT_EQ(at("2026-01-01T01:00:31Z").job.state, EngineJob::State::Ended);
  EXPECT_EQ(at("2026-01-01T01:00:31Z").job.reason, "pod a-0 was deleted, and its node does not answer");
  EXPECT_FALSE(at("2026-01-01T01:00:31Z").broken) << "nothing is left to be deleted";
}

TEST(KubeText, ReadsTheCurrentContextOfAKubeconfig) {
  const std::string file = R"(
current-context: lab
contexts: [{name: lab, context: {cluster: big, user: ada, namespace: ml}}]
clusters: [{name: big, cluster: {server: "https://k8s:6443", certificate-authority-data: UEVN}}]
users: [{name: ada, user: {token: abc}}]
)";
  const auto config = read_kubeconfig(file);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server, "https://k8s:6443");
  EXPECT_EQ(config->k8s_namespace, "ml");
  EXPECT_EQ(config->token, "abc");
  EXPECT_EQ(config->authority, "PEM");
  EXPECT_TRUE(config->verify);
  struct Case {
    std::string file, problem;
  };
  const std::vector<Case> cases = {
      {"a: [", ""},
      {"{}", "its current-context is '', which is not among its contexts"},
      {"{current-context: x, contexts: [{name: x, context: {cluster: y}}]}", "has no server"},
      {"{current-context: x, contexts: [{name: x, context: {cluster: y, user: u}}], clusters: [{name: y, "
       "cluster: "
       "{server: 'https://a'}}], users: [{name: u, user: {exec: {command: aws}}}]}",
       "its user has 'exec', which is not supported; make a service account"},
  };
  for (const auto& c : cases) {
    const auto bad = read_kubeconfig(c.file);
    ASSERT_FALSE(bad) << c.file;
    EXPECT_THAT(bad.error().message(), HasSubstr(c.problem));
  }
}

TEST(KubeText, PassesOnWhatTheApiServerSays) {
  EXPECT_EQ(
      kube_error(403, R"({"kind": "Status", "message": "pods \"a\" is forbidden: exceeded quota: gpus"})"),
      "pods \"a\" is forbidden: exceeded quota: gpus");
  EXPECT_EQ(kube_error(502, "bad gateway\n"), "it answered 502 bad gateway");
}

}  // namespace
}  // namespace det::master
