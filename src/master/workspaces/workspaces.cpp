#include "det/master/workspaces/workspaces.h"

#include <algorithm>
#include <cctype>

#include "det/base/text.h"
#include "det/master/administration/kept_setting.h"

namespace det::master {
namespace {

using store::kUncategorizedProject;
using store::kUncategorizedWorkspace;

constexpr const char* kNextWorkspace = "next_workspace_id";
constexpr const char* kNextProject = "next_project_id";
constexpr const char* kDeletions = "deletions_of_places";
constexpr std::size_t kNameBytesMax = 80, kKeyBytesMax = 5;
constexpr const char* kUncategorized = "Uncategorized";

std::int64_t kept(store::Store& store, const char* key) {
  const auto text = store.setting(key);
  return text ? json::to_int64(json::value(*text)).value_or(2) : 2;
}

/// What is kept of deletions: ids and why they failed; an empty text where they go on.
struct KeptDeletions {
  std::map<std::string, std::string> projects, workspaces;
};
BOOST_DESCRIBE_STRUCT(KeptDeletions, (), (projects, workspaces))

template <class Id>
std::map<std::string, std::string> kept(const std::map<Id, Workspaces::Deletion>& deletions) {
  std::map<std::string, std::string> texts;
  for (const auto& [id, deletion] : deletions) texts.emplace(std::to_string(id.value()), deletion.error);
  return texts;
}

template <class Id>
std::map<Id, Workspaces::Deletion> read(const std::map<std::string, std::string>& texts) {
  std::map<Id, Workspaces::Deletion> deletions;
  for (const auto& [id, error] : texts)
    deletions.emplace(Id(json::to_int64(json::value(id)).value_or(0)),
                      Workspaces::Deletion{.failed = !error.empty(), .error = error});
  return deletions;
}

template <class Id>
std::vector<Id> going_on(const std::map<Id, Workspaces::Deletion>& deletions) {
  std::vector<Id> ids;
  for (const auto& [id, deletion] : deletions)
    if (!deletion.failed) ids.push_back(id);
  return ids;
}

Result<void> check_name(const char* what, const std::string& name) {
  if (!name.empty() && trim(name) == name && name.size() <= kNameBytesMax) return {};
  return invalid_argument(
      "name is '{}'; the name of a {} must have 1 to {} bytes and not begin or end with a space", name, what,
      kNameBytesMax);
}

bool good_in_key(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

Workspaces::Workspaces(store::Store& store) {
  for (auto& workspace : store.workspaces()) workspaces_.emplace(workspace.id, std::move(workspace));
  for (auto& project : store.projects()) projects_.emplace(project.id, std::move(project));
  for (const auto& pin : store.pins()) pins_.emplace(std::pair(pin.user, pin.workspace), pin.time);
  WorkspaceRecord workspace{.id = kUncategorizedWorkspace, .name = kUncategorized, .owner = UserId(1)};
  ProjectRecord project{.id = kUncategorizedProject,
                        .workspace = kUncategorizedWorkspace,
                        .name = kUncategorized,
                        .key = "UNCAT",
                        .owner = UserId(1)};
  workspaces_.emplace(workspace.id, std::move(workspace));
  projects_.emplace(project.id, std::move(project));
  if (const auto deletions = kept_setting<KeptDeletions>(store, kDeletions)) {
    project_deletions_ = read<ProjectId>(deletions->projects);
    workspace_deletions_ = read<WorkspaceId>(deletions->workspaces);
  }
  // Ids are not given again, even when the newest was deleted before a restart.
  next_workspace_ = std::max(kept(store, kNextWorkspace), workspaces_.rbegin()->first.value() + 1);
  next_project_ = std::max(kept(store, kNextProject), projects_.rbegin()->first.value() + 1);
}

const WorkspaceRecord* Workspaces::find(WorkspaceId id) const {
  const auto found = workspaces_.find(id);
  return found == workspaces_.end() ? nullptr : &found->second;
}

const WorkspaceRecord* Workspaces::find(std::string_view name) const {
  for (const auto& [id, workspace] : workspaces_)
    if (workspace.name == name) return &workspace;
  return nullptr;
}

const ProjectRecord* Workspaces::project(ProjectId id) const {
  const auto found = projects_.find(id);
  return found == projects_.end() ? nullptr : &found->second;
}

const ProjectRecord* Workspaces::project(WorkspaceId workspace, std::string_view name) const {
  for (const auto& [id, project] : projects_)
    if (project.workspace == workspace && project.name == name) return &project;
  return nullptr;
}

const ProjectRecord* Workspaces::project_with_key(std::string_view key) const {
  for (const auto& [id, project] : projects_)
    if (project.key == key) return &project;
  return nullptr;
}

std::size_t Workspaces::project_count(WorkspaceId workspace) const {
  return static_cast<std::size_t>(std::count_if(
      projects_.begin(), projects_.end(), [&](const auto& p) { return p.second.workspace == workspace; }));
}

bool Workspaces::closed(const ProjectRecord& project) const {
  return project.archived || workspaces_.at(project.workspace).archived;
}

std::optional<Time> Workspaces::pinned(UserId user, WorkspaceId workspace) const {
  const auto found = pins_.find({user, workspace});
  return found == pins_.end() ? std::nullopt : std::optional(found->second);
}

Result<ProjectId> Workspaces::place(const std::string& workspace, const std::string& project) const {
  const auto* in = find(std::string_view(workspace));
  if (in == nullptr) return not_found("workspace '{}' not found", workspace);
  const auto* found = this->project(in->id, project);
  if (found == nullptr) return not_found("project '{}' not found in workspace '{}'", project, workspace);
  return found->id;
}

Result<void> Workspaces::check_open(ProjectId id) const {
  const auto* found = project(id);
  if (found == nullptr) return not_found("project {} not found", id);
  if (const auto& workspace = workspaces_.at(found->workspace); workspace.archived)
    return failed_precondition("workspace '{}' is archived and accepts nothing new; unarchive it first",
                               workspace.name);
  if (found->archived)
    return failed_precondition("project '{}' is archived and accepts nothing new; unarchive it first",
                               found->name);
  return check_stays(*found);
}

Result<void> Workspaces::check_stays(WorkspaceId id) const {
  const auto* found = deletion(id);
  if (found == nullptr || found->failed) return {};
  return failed_precondition("workspace '{}' is being deleted", workspaces_.at(id).name);
}

Result<void> Workspaces::check_stays(const ProjectRecord& project) const {
  const auto* found = deletion(project.id);
  if (found == nullptr || found->failed) return check_stays(project.workspace);
  return failed_precondition("project '{}' is being deleted", project.name);
}

Result<void> Workspaces::check(const WorkspaceRecord& record) const {
  if (record.id == kUncategorizedWorkspace)
    return failed_precondition("workspace '{}' is built in and cannot be changed", kUncategorized);
  if (auto stays = check_stays(record.id); !stays) return stays;
  if (auto good = check_name("workspace", record.name); !good) return good;
  const auto* named = find(std::string_view(record.name));
  if (named != nullptr && named->id != record.id)
    return fail(ErrorCode::AlreadyExists, "workspace '{}' already exists; choose another name", record.name);
  return {};
}

Result<void> Workspaces::check(const ProjectRecord& record) const {
  if (auto stays = check_stays(record); !stays) return stays;
  if (auto good = check_name("project", record.name); !good) return good;
  if (record.id == kUncategorizedProject &&
      (record.name != kUncategorized || record.workspace != kUncategorizedWorkspace || record.archived))
    return failed_precondition("only the description and the notes of project '{}' can be changed",
                               kUncategorized);
  const auto* named = project(record.workspace, record.name);
  if (named != nullptr && named->id != record.id)
    return fail(ErrorCode::AlreadyExists,
                "project '{}' already exists in workspace '{}'; choose another name", record.name,
                workspaces_.at(record.workspace).name);
  if (record.key.empty() || record.key.size() > kKeyBytesMax ||
      !std::all_of(record.key.begin(), record.key.end(), good_in_key))
    return invalid_argument("key is '{}'; the key of a project must have 1 to {} characters A-Z and 0-9",
                            record.key, kKeyBytesMax);
  const auto* keyed = project_with_key(record.key);
  if (keyed != nullptr && keyed->id != record.id)
    return fail(ErrorCode::AlreadyExists, "project '{}' already has the key '{}'; choose another key",
                keyed->name, record.key);
  return {};
}

std::string Workspaces::key_for(const std::string& name) const {
  std::string key;
  for (const char c : name) {
    const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (good_in_key(upper) && key.size() < 3) key += upper;
  }
  if (!key.empty() && project_with_key(key) == nullptr) return key;
  for (int i = 1;; ++i) {
    const auto number = std::to_string(i);
    const auto room = kKeyBytesMax > number.size() ? kKeyBytesMax - number.size() : 0;
    const auto numbered = (key.empty() ? "P" : key).substr(0, room) + number;
    if (project_with_key(numbered) == nullptr) return numbered;
  }
}

Result<Workspaces::Changes> Workspaces::create(WorkspaceRecord& record) {
  record.id = WorkspaceId(next_workspace_);
  if (auto good = check(record); !good) return tl::unexpected(std::move(good).error());
  ++next_workspace_;
  workspaces_.emplace(record.id, record);
  Changes changes;
  changes.push_back(store::PutWorkspace{record});
  changes.push_back(store::PutSetting{kNextWorkspace, std::to_string(next_workspace_)});
  return changes;
}

Result<Workspaces::Changes> Workspaces::create(ProjectRecord& record) {
  const auto* workspace = find(record.workspace);
  if (workspace == nullptr) return not_found("workspace {} not found", record.workspace);
  if (workspace->archived)
    return failed_precondition("workspace '{}' is archived and accepts no projects; unarchive it first",
                               workspace->name);
  if (auto stays = check_stays(workspace->id); !stays) return tl::unexpected(stays.error());
  record.id = ProjectId(next_project_);
  if (record.key.empty()) record.key = key_for(record.name);
  if (auto good = check(record); !good) return tl::unexpected(std::move(good).error());
  ++next_project_;
  projects_.emplace(record.id, record);
  Changes changes;
  changes.push_back(store::PutProject{record});
  changes.push_back(store::PutSetting{kNextProject, std::to_string(next_project_)});
  return changes;
}

Result<Workspaces::Changes> Workspaces::change(WorkspaceRecord record) {
  if (auto good = check(record); !good) return tl::unexpected(std::move(good).error());
  workspaces_.at(record.id) = record;
  Changes changes;
  changes.push_back(store::PutWorkspace{std::move(record)});
  return changes;
}

Result<Workspaces::Changes> Workspaces::change(ProjectRecord record) {
  if (auto good = check(record); !good) return tl::unexpected(std::move(good).error());
  projects_.at(record.id) = record;
  Changes changes;
  changes.push_back(store::PutProject{std::move(record)});
  return changes;
}

Result<Workspaces::Changes> Workspaces::remove(WorkspaceId id) {
  if (id == kUncategorizedWorkspace)
    return failed_precondition("workspace '{}' is built in and cannot be deleted", kUncategorized);
  if (const auto held = project_count(id); held > 0)
    return failed_precondition("workspace '{}' has {} projects; delete or move them first",
                               workspaces_.at(id).name, held);
  std::erase_if(pins_, [&](const auto& pin) { return pin.first.second == id; });
  workspaces_.erase(id);
  Changes changes;
  changes.push_back(store::DeleteWorkspace{id});
  if (workspace_deletions_.erase(id) > 0) changes.push_back(kept_deletions());
  return changes;
}

Result<Workspaces::Changes> Workspaces::remove(ProjectId id) {
  if (id == kUncategorizedProject)
    return failed_precondition("project '{}' is built in and cannot be deleted", kUncategorized);
  projects_.erase(id);
  Changes changes;
  changes.push_back(store::DeleteProject{id});
  if (project_deletions_.erase(id) > 0) changes.push_back(kept_deletions());
  return changes;
}

const Workspaces::Deletion* Workspaces::deletion(ProjectId id) const {
  const auto found = project_deletions_.find(id);
  return found == project_deletions_.end() ? nullptr : &found->second;
}

const Workspaces::Deletion* Workspaces::deletion(WorkspaceId id) const {
  const auto found = workspace_deletions_.find(id);
  return found == workspace_deletions_.end() ? nullptr : &found->second;
}

store::Change Workspaces::kept_deletions() const {
  const KeptDeletions all{kept(project_deletions_), kept(workspace_deletions_)};
  return store::PutSetting{kDeletions, json::serialize(json::to_json(all))};
}

Result<Workspaces::Changes> Workspaces::begin_deletion(ProjectId id) {
  if (id == kUncategorizedProject)
    return failed_precondition("project '{}' is built in and cannot be deleted", kUncategorized);
  if (auto stays = check_stays(projects_.at(id)); !stays) return tl::unexpected(stays.error());
  project_deletions_[id] = {};
  return Changes{kept_deletions()};
}

Result<Workspaces::Changes> Workspaces::begin_deletion(WorkspaceId id) {
  if (id == kUncategorizedWorkspace)
    return failed_precondition("workspace '{}' is built in and cannot be deleted", kUncategorized);
  if (auto stays = check_stays(id); !stays) return tl::unexpected(stays.error());
  workspace_deletions_[id] = {};
  return Changes{kept_deletions()};
}

Result<Workspaces::Changes> Workspaces::fail_deletion(ProjectId id, std::string error) {
  project_deletions_[id] = {.failed = true, .error = std::move(error)};
  return Changes{kept_deletions()};
}

Result<Workspaces::Changes> Workspaces::fail_deletion(WorkspaceId id, std::string error) {
  workspace_deletions_[id] = {.failed = true, .error = std::move(error)};
  return Changes{kept_deletions()};
}

std::vector<ProjectId> Workspaces::projects_in_deletion() const {
  return going_on(project_deletions_);
}

std::vector<WorkspaceId> Workspaces::workspaces_in_deletion() const {
  return going_on(workspace_deletions_);
}

Workspaces::Changes Workspaces::pin(UserId user, WorkspaceId workspace, std::optional<Time> when) {
  Changes changes;
  if (when) {
    pins_[{user, workspace}] = *when;
    changes.push_back(store::PutPin{{user, workspace, *when}});
  } else {
    pins_.erase({user, workspace});
    changes.push_back(store::DeletePin{user, workspace});
  }
  return changes;
}

}  // namespace det::master
