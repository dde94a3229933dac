#pragma once

#include <string_view>
#include <vector>

#include "det/access/permission.h"

namespace det::master {

/// The kind of object that a call names, which determines its workspace and its owner.
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
  Template,
  Webhook,  ///< of its workspace, which the workspace's owner owns, or of the cluster
};

/// One permission that a call needs. `from` says where the call names the object: "id" is a path parameter,
/// "?ids" a query parameter, "body:logs.taskId" a member of the body (of all items if there are lists on the
/// way), and "body:workspaceId|1" is 1 if the member is missing.
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

/// The permissions that each call of the API needs, except the open ones, in one place. A call without a rule
/// is for administrators only, and makes a test fail.
const std::vector<Rule>& access_rules();
/// Null: it is not declared.
const Rule* access_rule(std::string_view operation);
/// Whether users change something with the operation; reports of agents and tasks do not count.
bool changes_something(std::string_view operation);

}  // namespace det::master
