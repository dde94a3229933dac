#pragma once

#include <string_view>
#include <vector>

#include "det/access/permission.h"

namespace det::master {

/// What a call names, and so where it is and whose.
enum class Kind {
  Cluster,  ///< all of it; nothing is named
  Experiment,
  Trial,
  ExternalTrial,  ///< by the names that its processes gave it and its experiment
  Checkpoint,
  Task,  ///< of any type, trials too
  Job,   ///< by its id, the experiment's number or the task's id
  Workspace,
  Project,
  ProjectKey,
  Model,
  ModelVersion,
  Templates,  ///< all templates: they are in the workspace "Uncategorized"
  Webhook,    ///< of its workspace, which the workspace's owner owns, or of the cluster
};

/// One thing that a call needs. `from` says where the call names what it is about: "id" is a parameter of
/// the path, "?ids" of the query, "body:logs.taskId" a member of the body, of all items where lists are on
/// the way; "body:workspaceId|1" is 1 where there is none.
struct Demand {
  access::Permission permission;
  Kind kind = Kind::Cluster;
  std::string_view from{};
};

enum class Who {
  Users,      ///< users, and tasks for theirs, if all demands are met
  Reporters,  ///< the same, and without a question the processes that speak for themselves: the handler sees
              ///< to that
  Tasks,      ///< only processes of the cluster, as the handler checks
  Agents,     ///< only agents, as the handler checks
};

struct Rule {
  std::string_view operation;  ///< "POST /api/v1/experiments/{id}/kill"
  Who who = Who::Users;
  std::vector<Demand> demands;  ///< none: whoever is logged in
  bool asks = false;            ///< the handler asks about each thing that it lists, chooses or makes
  bool reads = false;           ///< changes nothing, whatever its method: not in the audit log
};

/// What each call of the API needs: all of them but the open ones, in one place. What is not declared here is
/// for administrators only, and a test fails.
const std::vector<Rule>& access_rules();
/// Null: it is not declared.
const Rule* access_rule(std::string_view operation);
/// Whether the operation is a user's wish to change something; what agents and tasks report is none.
bool changes_something(std::string_view operation);

}  // namespace det::master
