#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/api/objects.h"
#include "det/master/experiments/model_definition.h"
#include "det/master/services.h"

namespace det::master {

/// POST /api/v1/experiments. Its member `template` is a keyword in C++ and read apart.
struct SubmitRequest {
  std::string config;
  std::vector<SubmittedFile> model_definition;
  bool activate = true;
  bool validate_only = false;
  std::optional<ExperimentId> parent_id;
  std::int32_t project_id = 0;  ///< 0: the configuration's, else the parent's, else "Uncategorized"
  bool unmanaged = false;
  // Of the submitted directory, where it is a git working directory.
  std::string git_remote, git_commit, git_committer, git_commit_date;
  std::string git_branch;              ///< ours
  std::optional<bool> git_dirty;       ///< ours: whether files differed from the commit
  std::string external_experiment_id;  ///< of an unmanaged experiment: only by PUT
  static bool required(std::string_view name) { return name == "config"; }
};
BOOST_DESCRIBE_STRUCT(SubmitRequest, (),
                      (config, model_definition, activate, validate_only, parent_id, project_id, unmanaged,
                       git_remote, git_commit, git_committer, git_commit_date, git_branch, git_dirty,
                       external_experiment_id))
struct SubmitReply {
  api::Experiment experiment;
  json::value config;
  std::vector<std::string> warnings;
  std::string launch_reason;  ///< ours: why it could never run on the pool as it is now; empty if it could
  std::vector<std::string>
      config_warnings;  ///< ours: what of the configuration is taken otherwise than it reads
};
BOOST_DESCRIBE_STRUCT(SubmitReply, (), (experiment, config, warnings, launch_reason, config_warnings))

/// The project of the new experiment: the one that the request names, else its configuration, else its
/// parent's. PermissionDenied if the caller cannot create experiments there.
asio::awaitable<Result<store::ProjectId>> project_of(Services& s, const std::any& principal,
                                                     const SubmitRequest& request,
                                                     const config::Place& place);
/// What the request says of its git working directory.
Result<json::object> git_of(const SubmitRequest& request);

/// Submits an unmanaged experiment, whose processes run outside the cluster: its configuration needs no
/// entrypoint, and its searcher is only a description.
asio::awaitable<Result<SubmitReply>> create_unmanaged(Services& s, http::Context context,
                                                      SubmitRequest request);

}  // namespace det::master
