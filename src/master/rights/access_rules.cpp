#include "det/master/rights/access_rules.h"

#include <map>

namespace det::master {
namespace {

using enum access::Permission;
using K = Kind;

Rule users(std::string_view operation, std::vector<Demand> demands) {
  return {.operation = operation, .who = Who::Users, .demands = std::move(demands)};
}
/// Looks only, though it is a POST.
Rule looks(std::string_view operation, std::vector<Demand> demands) {
  return {.operation = operation, .who = Who::Users, .demands = std::move(demands), .reads = true};
}
Rule anyone(std::string_view operation) {
  return {.operation = operation, .who = Who::Users, .demands = {}};
}
/// The handler leaves out, or refuses, what the caller may not see or do.
Rule asks(std::string_view operation) {
  return {.operation = operation, .who = Who::Users, .demands = {}, .asks = true};
}
Rule asks_and_looks(std::string_view operation) {
  return {.operation = operation, .who = Who::Users, .demands = {}, .asks = true, .reads = true};
}
Rule reports(std::string_view operation, std::vector<Demand> demands) {
  return {.operation = operation, .who = Who::Reporters, .demands = std::move(demands), .reads = true};
}
Rule tasks(std::string_view operation) {
  return {.operation = operation, .who = Who::Tasks, .demands = {}, .reads = true};
}
Rule agents(std::string_view operation) {
  return {.operation = operation, .who = Who::Agents, .demands = {}, .reads = true};
}
Rule cluster(std::string_view operation, access::Permission permission) {
  return users(operation, {{permission, K::Cluster, {}}});
}
Rule one(std::string_view operation, access::Permission permission, Kind kind, std::string_view from) {
  return users(operation, {{permission, kind, from}});
}

std::vector<Rule> of_experiments() {
  return {
      asks("GET /api/v1/experiments"),
      asks("POST /api/v1/experiments"),
      asks_and_looks("POST /api/v1/experiments-search"),
      asks_and_looks("POST /api/v1/experiments-groups"),
      asks("GET /api/v1/experiment/labels"),
      users("GET /api/v1/changes/follow", {{ViewExperimentMetadata, K::Experiment, "?experimentIds"},
                                           {ViewExperimentMetadata, K::Trial, "?trialIds"}}),
      asks("PUT /api/v1/experiments/by-external-id/{externalExperimentId}"),
      one("GET /api/v1/experiments/metrics-stream/metric-names", ViewExperimentMetadata, K::Experiment,
          "?ids"),
      users("POST /api/v1/experiments/continue", {{UpdateExperiment, K::Experiment, "body:id"}}),
      one("GET /api/v1/experiments/{experimentId}/file_tree", ViewExperimentArtifacts, K::Experiment,
          "experimentId"),
      looks("POST /api/v1/experiments/{experimentId}/file",
            {{ViewExperimentArtifacts, K::Experiment, "experimentId"}}),
      one("GET /api/v1/experiments/{experimentId}/metrics-stream/batches", ViewExperimentMetadata,
          K::Experiment, "experimentId"),
      one("GET /api/v1/experiments/{experimentId}/metrics-stream/trials-sample", ViewExperimentMetadata,
          K::Experiment, "experimentId"),
      one("GET /api/v1/experiments/{experimentId}/metrics-stream/trials-snapshot", ViewExperimentMetadata,
          K::Experiment, "experimentId"),
      users("POST /api/v1/experiments/{experimentId}/move",
            {{UpdateExperiment, K::Experiment, "experimentId"},
             {CreateExperiment, K::Project, "body:destinationProjectId"}}),
      one("GET /api/v1/experiments/{experimentId}/pareto", ViewExperimentMetadata, K::Experiment,
          "experimentId"),
      one("PUT /api/v1/experiments/{experimentId}/retain_logs", UpdateExperiment, K::Experiment,
          "experimentId"),
      one("GET /api/v1/experiments/{experimentId}/searcher/best_searcher_validation_metric",
          ViewExperimentMetadata, K::Experiment, "experimentId"),
      one("GET /api/v1/experiments/{experimentId}/searcher_events", ViewExperimentMetadata, K::Experiment,
          "experimentId"),
      looks("POST /api/v1/experiments/{experimentId}/searcher_operations",
            {{UpdateExperiment, K::Experiment, "experimentId"}}),  // and asks about checkpoints
      one("GET /api/v1/experiments/{experimentId}/trials", ViewExperimentMetadata, K::Experiment,
          "experimentId"),
      one("GET /api/v1/experiments/{experimentId}/validation-history", ViewExperimentMetadata, K::Experiment,
          "experimentId"),
      one("GET /api/v1/experiments/{id}", ViewExperimentMetadata, K::Experiment, "id"),
      one("DELETE /api/v1/experiments/{id}", DeleteExperiment, K::Experiment, "id"),
      users("PATCH /api/v1/experiments/{id}",
            {{UpdateExperiment, K::Experiment, "id"}, {CreateExperiment, K::Project, "body:projectId"}}),
      one("POST /api/v1/experiments/{id}/activate", UpdateExperiment, K::Experiment, "id"),
      one("POST /api/v1/experiments/{id}/archive", UpdateExperimentMetadata, K::Experiment, "id"),
      one("POST /api/v1/experiments/{id}/unarchive", UpdateExperimentMetadata, K::Experiment, "id"),
      one("POST /api/v1/experiments/{id}/cancel", UpdateExperiment, K::Experiment, "id"),
      one("POST /api/v1/experiments/{id}/kill", UpdateExperiment, K::Experiment, "id"),
      one("POST /api/v1/experiments/{id}/pause", UpdateExperiment, K::Experiment, "id"),
      one("GET /api/v1/experiments/{id}/checkpoints", ViewExperimentArtifacts, K::Experiment, "id"),
      one("PUT /api/v1/experiments/{id}/labels/{label}", UpdateExperimentMetadata, K::Experiment, "id"),
      one("DELETE /api/v1/experiments/{id}/labels/{label}", UpdateExperimentMetadata, K::Experiment, "id"),
      one("GET /api/v1/experiments/{id}/model_def", ViewExperimentArtifacts, K::Experiment, "id"),
      one("DELETE /api/v1/experiments/{id}/tensorboard-files", DeleteExperiment, K::Experiment, "id"),
      one("GET /experiments/{id}/preview_gc", ViewExperimentMetadata, K::Experiment, "id"),
      one("GET /experiments/{id}/file/download", ViewExperimentArtifacts, K::Experiment, "id"),
      asks("POST /api/v1/projects/{projectId}/experiments/activate"),
      asks("POST /api/v1/projects/{projectId}/experiments/archive"),
      asks("POST /api/v1/projects/{projectId}/experiments/cancel"),
      asks("DELETE /api/v1/projects/{projectId}/experiments/delete"),
      asks("POST /api/v1/projects/{projectId}/experiments/kill"),
      asks("POST /api/v1/projects/{projectId}/experiments/move"),
      asks("POST /api/v1/projects/{projectId}/experiments/pause"),
      asks("PUT /api/v1/projects/{projectId}/experiments/retain_logs"),
      asks("POST /api/v1/projects/{projectId}/experiments/unarchive"),
      looks("POST /api/v1/preview-hp-search", {}),
      looks("POST /api/v1/simulate", {}),
  };
}

/// MLflow's clients. What they report while a run goes on is no change that the audit log notes.
std::vector<Rule> of_mlflow() {
  return {
      asks("POST /api/2.0/mlflow/experiments/create"),
      asks("POST /api/2.0/mlflow/experiments/delete"),
      asks("POST /api/2.0/mlflow/experiments/restore"),
      asks("POST /api/2.0/mlflow/experiments/update"),
      asks("POST /api/2.0/mlflow/experiments/set-experiment-tag"),
      asks("POST /api/2.0/mlflow/experiments/delete-experiment-tag"),
      asks("POST /api/2.0/mlflow/runs/delete"),
      asks("POST /api/2.0/mlflow/runs/restore"),
      asks("POST /api/2.0/mlflow/logged-models"),
      asks_and_looks("POST /api/2.0/mlflow/experiments/search"),
      asks_and_looks("POST /api/2.0/mlflow/runs/create"),
      asks_and_looks("POST /api/2.0/mlflow/runs/update"),
      asks_and_looks("POST /api/2.0/mlflow/runs/search"),
      asks_and_looks("POST /api/2.0/mlflow/runs/log-metric"),
      asks_and_looks("POST /api/2.0/mlflow/runs/log-batch"),
      asks_and_looks("POST /api/2.0/mlflow/runs/log-parameter"),
      asks_and_looks("POST /api/2.0/mlflow/runs/set-tag"),
      asks_and_looks("POST /api/2.0/mlflow/runs/delete-tag"),
      asks_and_looks("POST /api/2.0/mlflow/runs/log-model"),
      asks_and_looks("POST /api/2.0/mlflow/runs/log-inputs"),
      asks_and_looks("POST /api/2.0/mlflow/runs/outputs"),
      asks_and_looks("POST /api/2.0/mlflow/logged-models/search"),
      asks("GET /api/2.0/mlflow/experiments/get"),
      asks("GET /api/2.0/mlflow/experiments/get-by-name"),
      asks("GET /api/2.0/mlflow/experiments/search"),
      asks("GET /api/2.0/mlflow/runs/get"),
      asks("GET /api/2.0/mlflow/metrics/get-history"),
      asks("GET /api/2.0/mlflow/artifacts/list"),
      asks("GET /api/2.0/mlflow/logged-models/{modelId}"),
      asks("PATCH /api/2.0/mlflow/logged-models/{modelId}"),
      asks("DELETE /api/2.0/mlflow/logged-models/{modelId}"),
      asks("POST /api/2.0/mlflow/logged-models/{modelId}/params"),
      asks("PATCH /api/2.0/mlflow/logged-models/{modelId}/tags"),
      asks("GET /api/2.0/mlflow-artifacts/artifacts"),
      asks("GET /api/2.0/mlflow-artifacts/artifacts/{path...}"),
      asks("PUT /api/2.0/mlflow-artifacts/artifacts/{path...}"),
      asks("DELETE /api/2.0/mlflow-artifacts/artifacts/{path...}"),
  };
}

std::vector<Rule> of_trials() {
  const Demand writes{UpdateExperiment, K::Trial, "trialId"};
  return {
      asks_and_looks("POST /api/v1/runs"),
      asks("POST /api/v1/runs/archive"),
      asks("POST /api/v1/runs/delete"),
      asks("POST /api/v1/runs/kill"),
      asks("POST /api/v1/runs/move"),
      asks("POST /api/v1/runs/pause"),
      asks("POST /api/v1/runs/resume"),
      asks("POST /api/v1/runs/unarchive"),
      reports("POST /api/v1/runs/start", {{UpdateExperiment, K::Trial, "body:runId"}}),
      reports("POST /api/v1/runs/{runId}/metadata", {{UpdateExperiment, K::Trial, "runId"}}),
      one("GET /api/v1/runs/{runId}/metadata", ViewExperimentMetadata, K::Trial, "runId"),
      users("POST /api/v1/trials", {{UpdateExperiment, K::Experiment, "body:experimentId"}}),
      users("PUT /api/v1/trials",
            {{UpdateExperiment, K::Experiment, "body:createTrialRequest.experimentId"}}),
      one("GET /api/v1/trials/by-external-id/{externalExperimentId}/{externalTrialId}",
          ViewExperimentMetadata, K::ExternalTrial, "externalTrialId"),
      one("GET /api/v1/trials/metrics/training_metrics", ViewExperimentMetadata, K::Trial, "?trialIds"),
      one("GET /api/v1/trials/metrics/trial_metrics", ViewExperimentMetadata, K::Trial, "?trialIds"),
      one("GET /api/v1/trials/metrics/validation_metrics", ViewExperimentMetadata, K::Trial, "?trialIds"),
      one("GET /api/v1/trials/time-series", ViewExperimentMetadata, K::Trial, "?trialIds"),
      one("GET /api/v1/trials/{id}/checkpoints", ViewExperimentArtifacts, K::Trial, "id"),
      one("POST /api/v1/trials/{id}/kill", UpdateExperiment, K::Trial, "id"),
      one("GET /api/v1/trials/{id}/remaining_log_retention_days", ViewExperimentMetadata, K::Trial, "id"),
      one("GET /api/v1/trials/{trialId}", ViewExperimentMetadata, K::Trial, "trialId"),
      reports("PATCH /api/v1/trials/{trialId}", {writes}),
      one("GET /api/v1/trials/{trialId}/environment", ViewExperimentMetadata, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/logs", ViewExperimentArtifacts, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/logs/fields", ViewExperimentArtifacts, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/media", ViewExperimentArtifacts, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/media/values", ViewExperimentArtifacts, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/metrics/follow", ViewExperimentMetadata, K::Trial, "trialId"),
      one("GET /api/v1/trials/{trialId}/profiler/available_series", ViewExperimentMetadata, K::Trial,
          "trialId"),
      one("GET /api/v1/trials/{trialId}/profiler/metrics", ViewExperimentMetadata, K::Trial, "trialId"),
      one("PUT /api/v1/trials/{trialId}/retain_logs", UpdateExperiment, K::Trial, "trialId"),
      reports("POST /api/v1/trials/{trialId}/start", {writes}),
      one("GET /api/v1/trials/{trialId}/workloads", ViewExperimentMetadata, K::Trial, "trialId"),
      reports("POST /api/v1/trials/{trialId}/checkpoints/begin", {writes}),
      reports("POST /api/v1/trials/{trialId}/early_exit", {writes}),
      reports("POST /api/v1/trials/{trialId}/environment", {writes}),
      reports("POST /api/v1/trials/{trialId}/metrics", {writes}),
      reports("POST /api/v1/trials/{trialId}/progress", {writes}),
      reports("POST /api/v1/trials/profiler/metrics", {}),
      reports("POST /api/v1/trials/{trialId}/training_metrics", {writes}),
      reports("POST /api/v1/trials/{trialId}/validation_metrics", {writes}),
      reports("POST /api/v1/trials/{trialId}/runner/metadata", {writes}),
      reports("POST /api/v1/trials/{trialId}/searcher/completed_operation", {writes}),
      reports("GET /api/v1/trials/{trialId}/searcher/operation", {writes}),
      reports("POST /api/v1/trial-source-info",
              {{UpdateExperiment, K::Trial, "body:trialSourceInfo.trialId"},
               {ViewExperimentArtifacts, K::Checkpoint, "body:trialSourceInfo.checkpointUuid"}}),
      reports("POST /api/v1/task/logs", {{UpdateExperiment, K::Task, "body:logs.taskId"}}),
      reports("POST /task-logs", {{UpdateExperiment, K::Task, "body:taskId"}}),
      tasks("POST /api/v1/allocations/{allocationId}/acceleratorData"),
      tasks("POST /api/v1/allocations/{allocationId}/all_gather"),
      tasks("POST /api/v1/allocations/{allocationId}/notify_container_running"),
      tasks("POST /api/v1/allocations/{allocationId}/ready"),
      tasks("POST /api/v1/allocations/{allocationId}/waiting"),
      tasks("POST /api/v1/allocations/{allocationId}/rendezvous"),
      tasks("GET /api/v1/allocations/{allocationId}/rendezvous"),
      tasks("GET /api/v1/allocations/{allocationId}/resources/{resourcesId}/rendezvous"),
      tasks("POST /api/v1/allocations/{allocationId}/proxy_address"),
      tasks("POST /api/v1/allocations/{allocationId}/resources/{resourcesId}/daemon"),
      tasks("POST /api/v1/allocations/{allocationId}/signals/pending_preemption"),
      reports("POST /api/v1/allocations/{allocationId}/signals/ack_preemption",
              {{UpdateNsc, K::Task, "allocationId"}}),
      reports("GET /api/v1/allocations/{allocationId}/signals/preemption",
              {{UpdateNsc, K::Task, "allocationId"}}),
      tasks("GET /api/v1/allocations/{allocationId}/signals/wish"),
  };
}

std::vector<Rule> of_checkpoints_and_models() {
  const Demand version{ViewModelRegistry, K::Model, "modelName"};
  return {
      reports("POST /api/v1/checkpoints", {{UpdateExperiment, K::Task, "body:taskId"}}),
      one("DELETE /api/v1/checkpoints", DeleteExperiment, K::Checkpoint, "body:checkpointUuids"),
      one("PATCH /api/v1/checkpoints", DeleteExperiment, K::Checkpoint, "body:checkpoints.uuid"),
      one("POST /api/v1/checkpoints/undelete", DeleteExperiment, K::Checkpoint, "body:checkpointUuids"),
      one("POST /api/v1/checkpoints/rm", DeleteExperiment, K::Checkpoint, "body:checkpointUuids"),
      one("GET /api/v1/checkpoints/{checkpointUuid}/metrics", ViewExperimentMetadata, K::Checkpoint,
          "checkpointUuid"),
      one("GET /api/v1/checkpoints/{uuid}", ViewExperimentArtifacts, K::Checkpoint, "uuid"),
      one("POST /api/v1/checkpoints/{uuid}/metadata", UpdateExperimentMetadata, K::Checkpoint, "uuid"),
      one("GET /checkpoints/{uuid}", ViewExperimentArtifacts, K::Checkpoint, "uuid"),
      asks("GET /api/v1/model/labels"),
      asks("GET /api/v1/models"),
      asks("POST /api/v1/models"),
      one("GET /api/v1/models/{modelName}", ViewModelRegistry, K::Model, "modelName"),
      one("PATCH /api/v1/models/{modelName}", EditModelRegistry, K::Model,
          "modelName"),  // and asks about moves
      one("DELETE /api/v1/models/{modelName}", DeleteModelRegistry, K::Model, "modelName"),
      one("POST /api/v1/models/{modelName}/archive", EditModelRegistry, K::Model, "modelName"),
      one("POST /api/v1/models/{modelName}/unarchive", EditModelRegistry, K::Model, "modelName"),
      users("POST /api/v1/models/{modelName}/move",
            {{EditModelRegistry, K::Model, "modelName"},
             {CreateModelRegistry, K::Workspace, "body:destinationWorkspaceId"}}),
      users("GET /api/v1/models/{modelName}/versions", {version}),
      users("POST /api/v1/models/{modelName}/versions",
            {{EditModelRegistry, K::Model, "modelName"},
             {ViewExperimentArtifacts, K::Checkpoint, "body:checkpointUuid"}}),
      users("GET /api/v1/models/{modelName}/versions/{modelVersionNum}", {version}),
      one("PATCH /api/v1/models/{modelName}/versions/{modelVersionNum}", EditModelRegistry, K::Model,
          "modelName"),
      one("DELETE /api/v1/models/{modelName}/versions/{modelVersionNum}", DeleteModelVersion, K::ModelVersion,
          "modelName"),
      users("GET /api/v1/models/{modelName}/versions/{modelVersionNum}/metrics", {version}),
      asks("GET /api/v1/templates"),
      one("GET /api/v1/templates/{templateName}", ViewTemplates, K::Template, "templateName"),
      asks("POST /api/v1/templates/{templateName}"),
      asks("PUT /api/v1/templates/{templateName}"),
      one("PATCH /api/v1/templates/{templateName}", UpdateTemplates, K::Template, "templateName"),
      one("PATCH /api/v1/template/rename", UpdateTemplates, K::Template, "body:oldName"),
      one("DELETE /api/v1/templates/{templateName}", DeleteTemplates, K::Template, "templateName"),
  };
}

std::vector<Rule> of_tasks_and_jobs() {
  return {
      asks("POST /api/v1/commands"),
      asks("GET /api/v1/commands"),
      one("GET /api/v1/commands/{taskId}", ViewNsc, K::Task, "taskId"),
      one("POST /api/v1/commands/{taskId}/kill", UpdateNsc, K::Task, "taskId"),
      one("POST /api/v1/commands/{taskId}/set_priority", UpdateNsc, K::Task, "taskId"),
      asks("POST /api/v1/notebooks"),
      asks("GET /api/v1/notebooks"),
      one("GET /api/v1/notebooks/{taskId}", ViewNsc, K::Task, "taskId"),
      one("POST /api/v1/notebooks/{taskId}/kill", UpdateNsc, K::Task, "taskId"),
      one("POST /api/v1/notebooks/{taskId}/set_priority", UpdateNsc, K::Task, "taskId"),
      tasks("PUT /api/v1/notebooks/{taskId}/report_idle"),
      asks("POST /api/v1/shells"),
      asks("GET /api/v1/shells"),
      one("GET /api/v1/shells/{taskId}", ViewNsc, K::Task, "taskId"),
      one("POST /api/v1/shells/{taskId}/kill", UpdateNsc, K::Task, "taskId"),
      one("POST /api/v1/shells/{taskId}/set_priority", UpdateNsc, K::Task, "taskId"),
      asks("POST /api/v1/tensorboards"),
      asks("GET /api/v1/tensorboards"),
      one("GET /api/v1/tensorboards/{taskId}", ViewNsc, K::Task, "taskId"),
      one("POST /api/v1/tensorboards/{taskId}/kill", UpdateNsc, K::Task, "taskId"),
      one("POST /api/v1/tensorboards/{taskId}/set_priority", UpdateNsc, K::Task, "taskId"),
      asks("POST /api/v1/generic-tasks"),
      one("POST /api/v1/tasks/{taskId}/pause", UpdateNsc, K::Task, "taskId"),
      one("POST /api/v1/tasks/{taskId}/unpause", UpdateNsc, K::Task, "taskId"),
      asks("GET /api/v1/tasks"),
      asks("GET /tasks"),
      anyone("GET /api/v1/tasks/count"),
      one("GET /api/v1/tasks/{taskId}", ViewNsc, K::Task, "taskId"),
      one("GET /api/v1/tasks/{taskId}/acceleratorData", ViewNsc, K::Task, "taskId"),
      one("GET /api/v1/allocations/{allocationId}", ViewNsc, K::Task, "allocationId"),
      one("GET /api/v1/tasks/{taskId}/config", ViewNsc, K::Task, "taskId"),
      one("GET /api/v1/tasks/{taskId}/context_directory", ViewNsc, K::Task, "taskId"),
      tasks("POST /api/v1/tasks/{taskId}/idle"),
      tasks("POST /api/v1/tasks/{taskId}/ready"),
      one("POST /api/v1/tasks/{taskId}/kill", UpdateNsc, K::Task, "taskId"),
      one("GET /api/v1/tasks/{taskId}/logs", ViewNsc, K::Task, "taskId"),
      one("GET /api/v1/tasks/{taskId}/logs/fields", ViewNsc, K::Task, "taskId"),
      asks("GET /api/v1/job-queues"),
      asks("POST /api/v1/job-queues"),
      asks("GET /api/v1/job-queues-v2"),
      asks("GET /api/v1/job-queues/forecast"),
      anyone("GET /api/v1/job-queues/stats"),
      one("GET /api/v1/job-queues/{jobId}/why", ViewNsc, K::Job, "jobId"),
  };
}

std::vector<Rule> of_workspaces() {
  return {
      asks("GET /api/v1/workspaces"),
      cluster("POST /api/v1/workspaces", CreateWorkspace),
      one("GET /api/v1/workspaces/{id}", ViewWorkspace, K::Workspace, "id"),
      one("PATCH /api/v1/workspaces/{id}", UpdateWorkspace, K::Workspace, "id"),
      one("DELETE /api/v1/workspaces/{id}", DeleteWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{id}/archive", UpdateWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{id}/unarchive", UpdateWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{id}/pin", ViewWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{id}/unpin", ViewWorkspace, K::Workspace, "id"),
      one("GET /api/v1/workspaces/{id}/get-k8s-resource-quotas", ViewWorkspace, K::Workspace, "id"),
      one("GET /api/v1/workspaces/{id}/list-namespace-bindings", ViewWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{id}/set-resource-quota", UpdateWorkspace, K::Workspace, "id"),
      one("POST /api/v1/workspaces/{workspaceId}/namespace-bindings", UpdateWorkspace, K::Workspace,
          "workspaceId"),
      one("DELETE /api/v1/workspaces/{workspaceId}/namespace-bindings", UpdateWorkspace, K::Workspace,
          "workspaceId"),
      one("GET /api/v1/workspaces/{id}/projects", ViewProject, K::Workspace, "id"),
      one("GET /api/v1/workspaces/{workspaceId}/available-resource-pools", ViewWorkspace, K::Workspace,
          "workspaceId"),
      one("POST /api/v1/workspaces/{workspaceId}/projects", CreateProject, K::Workspace, "workspaceId"),
      anyone("GET /api/v1/config-policies/global/{workloadType}"),
      cluster("PUT /api/v1/config-policies/global/{workloadType}", ModifyGlobalConfigPolicies),
      cluster("DELETE /api/v1/config-policies/global/{workloadType}", ModifyGlobalConfigPolicies),
      one("GET /api/v1/config-policies/workspaces/{workspaceId}/{workloadType}", ViewWorkspace, K::Workspace,
          "workspaceId"),
      one("PUT /api/v1/config-policies/workspaces/{workspaceId}/{workloadType}",
          ModifyWorkspaceConfigPolicies, K::Workspace, "workspaceId"),
      one("DELETE /api/v1/config-policies/workspaces/{workspaceId}/{workloadType}",
          ModifyWorkspaceConfigPolicies, K::Workspace, "workspaceId"),
      one("GET /api/v1/projects/key/{key}", ViewProject, K::ProjectKey, "key"),
      one("GET /api/v1/projects/{id}", ViewProject, K::Project, "id"),
      one("PATCH /api/v1/projects/{id}", UpdateProject, K::Project, "id"),
      one("DELETE /api/v1/projects/{id}", DeleteProject, K::Project, "id"),
      one("POST /api/v1/projects/{id}/archive", UpdateProject, K::Project, "id"),
      one("POST /api/v1/projects/{id}/unarchive", UpdateProject, K::Project, "id"),
      one("GET /api/v1/projects/{id}/columns", ViewExperimentMetadata, K::Project, "id"),
      one("GET /api/v1/projects/{id}/experiments/metric-ranges", ViewExperimentMetadata, K::Project, "id"),
      one("GET /api/v1/projects/{projectId}/metadata/{key}", ViewExperimentMetadata, K::Project, "projectId"),
      users("POST /api/v1/projects/{projectId}/move",
            {{UpdateProject, K::Project, "projectId"},
             {CreateProject, K::Workspace, "body:destinationWorkspaceId"}}),
      one("PUT /api/v1/projects/{projectId}/notes", UpdateProject, K::Project, "projectId"),
      one("POST /api/v1/projects/{projectId}/notes", UpdateProject, K::Project, "projectId"),
      asks("GET /api/v1/user/projects/activity"),
  };
}

std::vector<Rule> of_users_and_roles() {
  return {
      anyone("POST /api/v1/auth/logout"),
      anyone("GET /api/v1/auth/user"),
      anyone("GET /api/v1/me"),
      anyone("GET /api/v1/users"),
      cluster("POST /api/v1/users", AdministrateUser),
      cluster("PATCH /api/v1/users", AdministrateUser),
      looks("POST /api/v1/users/activity", {}),
      cluster("PATCH /api/v1/users/assignments", AdministrateUser),
      anyone("GET /api/v1/users/setting"),
      looks("POST /api/v1/users/setting", {}),
      looks("POST /api/v1/users/setting/reset", {}),
      anyone("GET /api/v1/users/{userId}"),
      asks("PATCH /api/v1/users/{userId}"),
      asks("POST /api/v1/users/{userId}/password"),
      anyone("GET /api/v1/users/{username}/by-username"),
      asks("GET /api/v1/tokens"),
      asks("POST /api/v1/tokens"),
      asks("PATCH /api/v1/tokens/{tokenId}"),
      anyone("GET /api/v1/permissions/summary"),
      looks("POST /api/v1/roles/search", {}),
      looks("POST /api/v1/roles/search/by-assignability", {}),
      asks_and_looks("POST /api/v1/roles/search/by-ids"),
      asks("GET /api/v1/roles/search/by-user/{userId}"),
      asks("GET /api/v1/roles/search/by-group/{groupId}"),
      one("GET /api/v1/roles/workspace/{workspaceId}", ViewWorkspace, K::Workspace, "workspaceId"),
      asks("POST /api/v1/roles/add-assignments"),
      asks("POST /api/v1/roles/remove-assignments"),
      cluster("POST /api/v1/groups", AdministrateUser),
      looks("POST /api/v1/groups/search", {}),
      anyone("GET /api/v1/groups/{groupId}"),
      cluster("PUT /api/v1/groups/{groupId}", AdministrateUser),
      cluster("DELETE /api/v1/groups/{groupId}", AdministrateUser),
      cluster("GET /api/v1/audit", ViewAuditLog),
  };
}

std::vector<Rule> of_the_cluster() {
  return {
      anyone("GET /api/v1/agents"),
      anyone("GET /api/v1/agents/{agentId}"),
      cluster("POST /api/v1/agents/{agentId}/disable", UpdateAgents),
      cluster("POST /api/v1/agents/{agentId}/enable", UpdateAgents),
      agents("POST /api/v1/agents/{agentId}/logs"),
      agents("GET /api/v1/agents/{agentId}/model_definitions/{digest}"),
      anyone("GET /api/v1/agents/{agentId}/slots"),
      anyone("GET /api/v1/agents/{agentId}/slots/{slotId}"),
      cluster("POST /api/v1/agents/{agentId}/slots/{slotId}/disable", UpdateAgents),
      cluster("POST /api/v1/agents/{agentId}/slots/{slotId}/enable", UpdateAgents),
      agents("POST /api/v1/agents/{agentId}/sync"),
      agents("POST /api/v1/allotments/{allotmentId}/claim"),
      anyone("GET /api/v1/allotments"),
      anyone("GET /api/v1/resource-pools/{resourcePoolName}/provider"),
      anyone("GET /api/v1/k8s-resource-managers"),
      anyone("GET /api/v1/namespace-bindings/workspace-ids-with-default-bindings"),
      cluster("POST /api/v1/namespace-bindings/bulk-auto-create", UpdateMasterConfig),
      cluster("GET /api/v1/master/cluster_message", ViewMasterConfig),
      cluster("PUT /api/v1/master/cluster_message", UpdateMasterConfig),
      cluster("DELETE /api/v1/master/cluster_message", UpdateMasterConfig),
      cluster("GET /api/v1/master/config", ViewMasterConfig),
      cluster("PATCH /api/v1/master/config", UpdateMasterConfig),
      cluster("GET /api/v1/master/logs", ViewMasterLogs),
      anyone("GET /api/v1/resource-pools"),
      asks("GET /api/v1/resource-pools/{resourcePoolName}/workspace-bindings"),
      cluster("POST /api/v1/resource-pools/{resourcePoolName}/workspace-bindings", ModifyPoolBindings),
      cluster("PUT /api/v1/resource-pools/{resourcePoolName}/workspace-bindings", ModifyPoolBindings),
      cluster("DELETE /api/v1/resource-pools/{resourcePoolName}/workspace-bindings", ModifyPoolBindings),
      asks("GET /api/v1/webhooks"),
      asks("POST /api/v1/webhooks"),
      one("PATCH /api/v1/webhooks/{id}", EditWebhooks, K::Webhook, "id"),
      one("DELETE /api/v1/webhooks/{id}", EditWebhooks, K::Webhook, "id"),
      one("POST /api/v1/webhooks/{id}/test", EditWebhooks, K::Webhook, "id"),
      one("GET /api/v1/webhooks/{id}/deliveries", EditWebhooks, K::Webhook, "id"),
      reports("POST /api/v1/webhooks/custom", {{UpdateExperiment, K::Experiment, "body:experimentId"}}),
      users("POST /api/v1/cleanup_logs", {{UpdateMasterConfig, K::Cluster, {}}}),
      // Their labels name experiments, tasks and agents, whosever they are.
      cluster("GET /metrics", ViewClusterUsage),
      cluster("GET /debug/prom/metrics", ViewClusterUsage),
      cluster("GET /prom/det-state-metrics", ViewClusterUsage),
      cluster("GET /prom/det-http-sd-config", ViewClusterUsage),
      cluster("GET /api/v1/resources/allocation/raw", ViewClusterUsage),
      cluster("GET /api/v1/resources/allocation/aggregated", ViewClusterUsage),
      cluster("GET /resources/allocation/raw", ViewClusterUsage),
      cluster("GET /resources/allocation/allocations-csv", ViewClusterUsage),
      cluster("GET /resources/allocation/aggregated", ViewClusterUsage),
  };
}

}  // namespace

const std::vector<Rule>& access_rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (auto part : {of_experiments(), of_trials(), of_mlflow(), of_checkpoints_and_models(),
                      of_tasks_and_jobs(), of_workspaces(), of_users_and_roles(), of_the_cluster()})
      for (auto& rule : part) all.push_back(std::move(rule));
    return all;
  }();
  return kRules;
}

bool changes_something(std::string_view operation) {
  if (operation.starts_with("GET ")) return false;
  const auto* rule = access_rule(operation);
  return rule == nullptr || !rule->reads;
}

const Rule* access_rule(std::string_view operation) {
  static const std::map<std::string_view, const Rule*> kByOperation = [] {
    std::map<std::string_view, const Rule*> rules;
    for (const auto& rule : access_rules()) rules.emplace(rule.operation, &rule);
    return rules;
  }();
  const auto found = kByOperation.find(operation);
  return found == kByOperation.end() ? nullptr : found->second;
}

}  // namespace det::master
