#include "det/master/routes.h"

#include "det/master/experiments/experiment_actions.h"
#include "det/master/web.h"

namespace det::master {
namespace {

constexpr std::size_t kUploadBytesMax = std::size_t{128} << 20;
constexpr std::size_t kReportBytesMax = std::size_t{16} << 20;
constexpr std::size_t kArtifactBytesMax = std::size_t{512} << 20;

}  // namespace

void add_all_routes(http::Router& router, Services& services) {
  add_role_routes(router, services);
  add_group_routes(router, services);
  add_config_policy_routes(router, services);
  add_audit_routes(router, services);
  add_agent_routes(router, services);
  add_report_routes(router, services);
  add_checkpoint_report_routes(router, services);
  add_environment_routes(router, services);
  add_metadata_routes(router, services);
  add_allocation_routes(router, services);
  add_rendezvous_routes(router, services);
  add_submit_routes(router, services);
  add_continue_routes(router, services);
  add_experiment_routes(router, services);
  add_trial_routes(router, services);
  add_unmanaged_routes(router, services);
  add_unmanaged_submit_routes(router, services);
  add_task_log_routes(router, services);
  add_checkpoint_routes(router, services);
  add_checkpoint_file_routes(router, services);
  add_model_routes(router, services);
  add_policy_routes(router, services);
  add_log_routes(router, services);
  add_user_routes(router, services);
  add_cluster_routes(router, services);
  add_pool_routes(router, services);
  add_allotment_routes(router, services);
  add_pool_binding_routes(router, services);
  add_cluster_message_routes(router, services);
  add_account_routes(router, services);
  add_activity_routes(router, services);
  add_source_routes(router, services);
  add_log_field_routes(router, services);
  add_compare_routes(router, services);
  add_project_column_routes(router, services);
  add_file_tree_routes(router, services);
  add_bulk_routes(router, services);
  add_change_routes(router, services);
  add_find_routes(router, services);
  add_grouping_routes(router, services);
  add_empty_routes(router, services);
  add_profiler_routes(router, services);
  add_token_routes(router, services);
  add_usage_routes(router, services);
  add_job_routes(router, services);
  add_forecast_routes(router, services);
  add_media_routes(router, services);
  add_search_routes(router, services);
  add_simulate_routes(router, services);
  add_pareto_routes(router, services);
  add_task_routes(router, services);
  add_task_list_routes(router, services);
  add_task_submit_routes(router, services);
  add_command_routes(router, services);
  add_generic_task_routes(router, services);
  add_template_routes(router, services);
  add_webhook_routes(router, services);
  add_workspace_routes(router, services);
  add_project_routes(router, services);
  add_mlflow_routes(router, services);
  add_web(router);
}

std::size_t body_limit(const http::Request& head) {
  for (const auto* path : {"/api/v1/experiments", "/api/v1/commands", "/api/v1/notebooks", "/api/v1/shells",
                           "/api/v1/tensorboards"})
    if (head.path == path) return kUploadBytesMax;
  if (head.path.starts_with("/api/2.0/mlflow-artifacts/")) return kArtifactBytesMax;
  if (head.path.starts_with("/api/2.0/mlflow/")) return kReportBytesMax;
  if (head.path.ends_with("/metrics") || head.path.ends_with("/logs") || head.path == "/task-logs")
    return kReportBytesMax;
  return std::size_t{1} << 20;
}

}  // namespace det::master
