#pragma once

#include <map>

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Workspaces and their projects.
namespace det::store {

void put_workspace(Connection& connection, const WorkspaceRecord& record);
/// With its pins. Its projects are others' to delete.
void delete_workspace(Connection& connection, WorkspaceId id);
void put_project(Connection& connection, const ProjectRecord& record);
void delete_project(Connection& connection, ProjectId id);
void put_pin(Connection& connection, const WorkspacePin& pin);
void delete_pin(Connection& connection, UserId user, WorkspaceId workspace);

std::vector<WorkspaceRecord> read_workspaces(Connection& connection);
std::vector<ProjectRecord> read_projects(Connection& connection);
std::vector<WorkspacePin> read_pins(Connection& connection);
std::map<ProjectId, ProjectCounts> read_project_counts(Connection& connection);

}  // namespace det::store
