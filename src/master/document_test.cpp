// What people read in the API's document: each route and each parameter is described.

#include <gtest/gtest.h>

#include <set>

#include "det/master/testing.h"

namespace det::master {
namespace {

struct DescribedRoute {
  std::string where;
  json::object operation;
};

std::vector<DescribedRoute> described_routes(const json::object& document) {
  std::vector<DescribedRoute> all;
  for (const auto& [path, verbs] : document.at("paths").as_object())
    for (const auto& [verb, operation] : verbs.as_object())
      all.push_back({std::string(verb) + " " + std::string(path), operation.as_object()});
  return all;
}

using ApiDocument = testing::MasterTest;

TEST_F(ApiDocument, TheSummaryOfEachRouteIsAnImperativeSentence) {
  const std::set<std::string> verbs = {
      "Acknowledge", "Activate", "Add",      "Announce", "Answer",   "Append",  "Archive", "Assign",
      "Bind",        "Cancel",   "Change",   "Compare",  "Continue", "Count",   "Create",  "Delete",
      "Disable",     "Enable",   "Exchange", "Estimate", "Explain",  "Follow",  "Get",     "Kill",
      "List",        "Log",      "Move",     "Pause",    "Pin",      "Preempt", "Preview", "Publish",
      "Read",        "Record",   "Register", "Remove",   "Rename",   "Replace", "Report",  "Restore",
      "Resume",      "Search",   "Send",     "Set",      "Simulate", "Start",   "Store",   "Submit",
      "Unarchive",   "Unpin",    "Wait"};
  for (const auto& [where, operation] : described_routes(master_->openapi())) {
    const std::string summary(operation.at("summary").as_string());
    EXPECT_TRUE(verbs.contains(summary.substr(0, summary.find(' ')))) << where << ": " << summary;
    EXPECT_FALSE(summary.ends_with('.')) << where << ": " << summary;
  }
}

TEST_F(ApiDocument, EachParameterOfARouteIsDescribed) {
  for (const auto& [where, operation] : described_routes(master_->openapi()))
    if (const auto* parameters = operation.if_contains("parameters"))
      for (const auto& parameter : parameters->as_array())
        EXPECT_TRUE(parameter.as_object().contains("description")) << where << ": " << parameter;
}

/// "Trial.hparams": the members below `schema` that any JSON, or any object, can be.
void find_free_form(const json::value& schema, const std::string& name, std::set<std::string>& found) {
  const auto* o = schema.if_object();
  if (o == nullptr || o->contains("$ref")) return;
  const auto* more = o->if_contains("additionalProperties");
  const bool any = o->empty() || (more != nullptr && more->is_bool());
  if (any) found.insert(name);
  if (const auto* properties = o->if_contains("properties"))
    for (const auto& [member, its] : properties->as_object())
      find_free_form(its, fmt::format("{}.{}", name, std::string_view(member)), found);
  if (const auto* items = o->if_contains("items")) find_free_form(*items, name, found);
  if (more != nullptr) find_free_form(*more, name, found);
}

TEST_F(ApiDocument, OnlyWhatIsFreeFormByNatureIsFreeFormInIt) {
  const std::set<std::string> by_nature = {
      // Configurations, and parts of them.
      "CheckpointTraining.experimentConfig", "ConfigPolicyReply.configPolicies", "Experiment.config",
      "ExperimentPatchRequest.resources", "ExperimentReply.config", "LaunchReply.config",
      "LaunchRequest.config", "LaunchedTaskReply.config", "MasterConfigReply.config",
      "PrepareRequest.checkpointStorage", "PreviewRequest.config", "PutOfCluster.configPolicies",
      "PutOfWorkspace.configPolicies", "SearchSummary.config", "SimulateRequest.configs",
      "SubmitReply.config", "Template.config", "TemplatePutRequest.config",
      "WorkspaceCreateRequest.checkpointStorageConfig", "WorkspaceObject.checkpointStorageConfig",
      "WorkspacePatchRequest.checkpointStorageConfig",
      // Hyperparameters.
      "CheckpointTraining.hparams", "Experiment.hyperparameters", "ParetoPoint.hparams",
      "Run.hyperparameters", "SampleTrial.hparams", "SnapshotTrial.hparams", "Trial.hparams",
      "UnmanagedCreateRequest.hparams",
      // What a row has in any column.
      "ExperimentGroup.value", "FindRequest.groupValue", "FindExperimentsRequest.groupValue",
      // Metrics.
      "Metrics.avgMetrics", "Metrics.batchMetrics", "MetricsReport.metrics", "Point.values",
      "ReportedMetrics.avgMetrics", "ReportedMetrics.batchMetrics", "Run.summaryMetrics",
      "Trial.summaryMetrics", "ValidationCompletedEvent.metrics",
      // Metadata of users.
      "Checkpoint.metadata", "CheckpointRequest.metadata", "CheckpointWorkload.metadata",
      "Described.metadata", "ModelCreateRequest.metadata", "ModelObject.metadata",
      "ModelPatchRequest.metadata", "PatchVersionRequest.metadata", "RegisterRequest.metadata",
      "Run.metadata", "TrialMetadataReply.metadata", "TrialMetadataRequest.metadata", "Version.metadata",
      // What the processes of a trial tell each other, or report of their libraries and machines.
      "DevicesRequest.acceleratorData", "PeerRequest.data", "PeersReply.data", "ProcessEnvironment.switches",
      // Requests that have several forms.
      "ConfigPatch.fieldMask", "TaskLogEntry.rank", "UserPatchRequest.agentUserGroup",
      "WorkspacePatchRequest.agentUserGroup",
      // Of clouds and of Kubernetes: always empty here.
      "Managers.resourceManagers", "NamespaceBindings.namespaceBindings", "PoolDetails.aws",
      "PoolDetails.gcp", "ResourceQuotas.resourceQuotas"};
  const auto document = master_->openapi();
  std::set<std::string> found;
  for (const auto& [name, schema] : document.at("components").at("schemas").as_object())
    find_free_form(schema, std::string(name), found);
  for (const auto& name : found) EXPECT_TRUE(by_nature.contains(name)) << name << " has no described form";
  for (const auto& name : by_nature) EXPECT_TRUE(found.contains(name)) << name << " is described now";
  for (const auto& [where, operation] : described_routes(document)) {
    std::set<std::string> of_reply;
    for (const auto& [type, content] : operation.at("responses").at("200").at("content").as_object())
      find_free_form(content.at("schema"), where, of_reply);
    EXPECT_TRUE(of_reply.empty()) << where << " has a reply without a form";
  }
}

}  // namespace
}  // namespace det::master
