#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "det/config/agent_user_group.h"
#include "det/experiment/records.h"
#include "det/store/access_records.h"
#include "det/store/begun_checkpoints.h"
#include "det/store/deletions.h"
#include "det/store/log_retention.h"
#include "det/store/model_records.h"
#include "det/store/webhook_records.h"
#include "det/store/workspace_records.h"
#include "det/task/records.h"

/// What the store remembers, and how it is told.
namespace det::store {

using experiment::AllocationRecord;
using experiment::CheckpointRecord;
using experiment::CheckpointState;
using experiment::ExperimentRecord;
using experiment::LogRecord;
using experiment::MetricRecord;
using experiment::TrialRecord;
using task::TaskRecord;

struct UserRecord {
  UserId id;
  std::string username, display_name;
  bool admin = false, active = true;
  std::string password_hash;  ///< argon2id, or bcrypt of the original; empty: the empty password
  Time modified_at;
  std::optional<config::AgentUserGroup> agent_user_group{};  ///< none: tasks run as the agent does
  bool remote = false;                                       ///< logs in elsewhere, not with a password
};
struct SessionRecord {
  std::string token_hash;
  UserId user;
  Time expires;
};
/// An allocation and what reports say of its experiment, or of its task where that is no trial.
struct UsageRecord {
  AllocationRecord allocation;
  std::optional<task::Type> task_type;  ///< of a task that is no trial
  UserId owner;
  std::string resource_pool;
  std::vector<std::string> labels;
  std::int64_t project_id = 1;    ///< of an experiment
  std::int64_t workspace_id = 1;  ///< of a task that is no trial
};
using AccessTokenId = Id<struct AccessTokenTag>;
/// A session that a user made for a program.
struct AccessTokenRecord {
  AccessTokenId id;
  UserId user;
  std::string description;
  Time creation_time, expires;
  bool revoked = false;
  std::string token_hash;
};
/// An experiment whose processes run outside the cluster, or one of its trials.
struct UnmanagedRecord {
  ExperimentId experiment;
  TrialId trial;            ///< 0: the experiment itself
  std::string external_id;  ///< the name that its processes gave it; may be empty
};
/// That a trial evaluates, or goes on from, a checkpoint of another trial: as it says itself.
struct TrialSourceRecord {
  TrialId trial;
  std::string checkpoint, kind;
  std::int64_t model = 0, model_version = 0;  ///< 0: not said
};
struct TemplateRecord {
  std::string name;  ///< unique in the cluster
  std::string yaml;
  WorkspaceId workspace = kUncategorizedWorkspace;
};
/// What a process of a trial found where it ran.
struct EnvironmentRecord {
  TrialId trial_id;
  std::int64_t run_id = 0;
  int rank = 0;
  std::string digest;  ///< of `environment`; equal ones are kept once
  json::object environment;
  Time report_time;
};
BOOST_DESCRIBE_STRUCT(EnvironmentRecord, (), (trial_id, run_id, rank, digest, environment, report_time))
struct Event {
  std::int64_t sequence = 0;
  Time time;
  json::value body;
};
struct Snapshot {
  std::int64_t sequence = 0;  ///< of the last event that it contains
  json::value body;
};

// What can be remembered. Puts replace the row of the same id.
struct AppendEvent {
  Event event;
};
/// Bounds replay: events that neither this snapshot nor the one before it needs are deleted in small steps as
/// new ones arrive.
struct SaveSnapshot {
  Snapshot snapshot;
};
struct PutExperiment {
  ExperimentRecord record;
};
struct PutTrial {
  TrialRecord record;
};
struct PutAllocation {
  AllocationRecord record;
};
struct PutCheckpoint {
  CheckpointRecord record;
};
/// A task that is no trial. Type, owner, workspace, files and start never change.
struct PutTask {
  TaskRecord record;
};
/// A report equal to one that is stored changes nothing; new names are merged into
/// it. Where two reports of the same (trial, group, batches) differ, the later run
/// is right and replaces the report of the earlier run; within one run the value that was
/// stored first stays. What was not stored, for that reason or because the report is of
/// a run before the last RewindTrial, is told to `refused`, on the writer's thread,
/// before `done`. See also Store::check_metrics.
struct AddMetrics {
  MetricRecord record;
  std::function<void(const Error&)> refused = nullptr;
};
/// A new run of the trial starts: later reports of earlier runs are refused. Their reports beyond `batches`
/// are archived and no longer read. Without `batches` it is not known where the run starts; then, group by
/// group, the reports beyond each report of the new run are archived.
struct RewindTrial {
  TrialId trial;
  std::int64_t run_id = 0;
  std::optional<std::int64_t> batches = 0;
};
/// Lines of one stream, all of one task; those whose sequence is stored already are
/// dropped (I-5). A gap is accepted: what is missing can never come.
struct AddLogs {
  std::string stream;
  std::int64_t first_sequence = 0;
  std::vector<LogRecord> lines;
};
/// Lines of our own (scheduling messages), without a stream.
struct AddOwnLogs {
  std::vector<LogRecord> lines;
};
/// Where the search of an experiment stood when it was complete.
struct PutSearch {
  ExperimentId id;
  json::value state;
};
/// Goes into the same commit as the first experiment, or task, that has it: a definition
/// without either is deleted with the next experiment that was the last to have it.
struct PutModelDefinition {
  std::string digest;
  std::string archive;
};
struct PutUser {
  UserRecord record;
};
struct PutSession {
  SessionRecord record;
};
struct DeleteSession {
  std::string token_hash;
};
/// Log-ins of the user, but for one; access tokens stay.
struct DeleteSessionsOf {
  UserId user;
  std::string kept;  ///< hash of the token that stays; empty: none
};
struct PutAccessToken {
  AccessTokenRecord record;
};
struct PutTemplate {
  TemplateRecord record;
};
struct DeleteTemplate {
  std::string name;
};
/// The experiment and all that belongs to it. It vanishes from all reads at once; metrics
/// and log lines leave the disk little by little.
struct DeleteExperiment {
  ExperimentId id;
};
struct PutModel {
  ModelRecord record;
};
/// The model and its versions.
struct DeleteModel {
  ModelId id;
};
struct PutModelVersion {
  ModelVersionRecord record;
};
struct DeleteModelVersion {
  ModelId model;
  std::int64_t version = 0;
};
/// Only what users say of a checkpoint; its state may be changing at the same time.
struct SetCheckpointMetadata {
  std::string uuid;
  json::object metadata;
};
/// What a trial says of itself, in place of what it said before.
struct SetTrialMetadata {
  TrialId trial_id;
  json::object metadata;
};
/// In place of what the same (trial, run, rank) said before.
struct AddEnvironment {
  EnvironmentRecord record;
};
/// The first rank of the run has the environment of an allocation of the same experiment, in whose process it
/// runs. Without effect if there is none.
struct CopyEnvironment {
  TrialId trial_id;
  std::int64_t run_id = 0;
  std::string allocation_id;
  Time time;
};
struct PutUnmanaged {
  UnmanagedRecord record;
};
struct PutTrialSource {
  TrialSourceRecord record;
};
struct PutWorkspace {
  WorkspaceRecord record;
};
/// Without its projects; its policies go with it.
struct DeleteWorkspace {
  WorkspaceId id;
};
struct PutProject {
  ProjectRecord record;
};
/// Without its experiments.
struct DeleteProject {
  ProjectId id;
};
struct PutPin {
  WorkspacePin pin;
};
struct DeletePin {
  UserId user;
  WorkspaceId workspace;
};
struct PutConfigPolicy {
  ConfigPolicyRecord record;
};
struct DeleteConfigPolicy {
  WorkspaceId workspace;
  config::Workload workload = config::Workload::Experiment;
};
struct PutWebhook {
  WebhookRecord record;
};
/// And what was to be delivered to it.
struct DeleteWebhook {
  WebhookId id;
};
/// Nothing where its webhook is gone.
struct PutDelivery {
  DeliveryRecord record;
};
struct DeleteDelivery {
  std::string event_id;
};
/// Goes with its experiment, or its webhook.
struct PutLogHit {
  LogHitRecord record;
};
struct PutSetting {
  std::string key;
  std::string value;
};

/// What a Change may be.
using AnyChange =
    std::variant<AppendEvent, SaveSnapshot, PutExperiment, PutTrial, PutAllocation, PutCheckpoint, PutTask,
                 AddMetrics, RewindTrial, AddLogs, AddOwnLogs, PutSearch, PutModelDefinition, PutUser,
                 PutSession, DeleteSession, DeleteSessionsOf, PutAccessToken, PutTemplate, DeleteTemplate,
                 DeleteExperiment, PutModel, DeleteModel, PutModelVersion, DeleteModelVersion,
                 SetCheckpointMetadata, SetTrialMetadata, AddEnvironment, CopyEnvironment, PutUnmanaged,
                 PutTrialSource, PutWorkspace, DeleteWorkspace, PutProject, DeleteProject, PutPin, DeletePin,
                 PutConfigPolicy, DeleteConfigPolicy, PutWebhook, DeleteWebhook, PutDelivery, DeleteDelivery,
                 PutLogHit, PutSetting, PutRoleAssignment, DeleteRoleAssignment, PutGroup, DeleteGroup,
                 AppendAudit, PruneAudit, SetLogRetention, DropLogs, PutDeletion, EndDeletion,
                 BeginCheckpoint, DropBegunCheckpoint>;

template <class T, class Variant>
constexpr bool kIsOneOf = false;
template <class T, class... Of>
constexpr bool kIsOneOf<T, std::variant<Of...>> = (std::is_same_v<T, Of> || ...);

/// One of AnyChange. Nearly every file of the master makes lists of them: copying, moving and ending one of
/// 55 is compiled once, in change.cpp, not in each of those.
class Change {
 public:
  template <class T>
    requires kIsOneOf<T, AnyChange>
  Change(T what);  // not explicit: `changes.push_back(PutUser{...})`
  Change(const Change& other);
  Change(Change&& other) noexcept;
  Change& operator=(const Change& other);
  Change& operator=(Change&& other) noexcept;
  ~Change();

  AnyChange& operator*() { return *held_; }
  const AnyChange& operator*() const { return *held_; }

 private:
  std::unique_ptr<AnyChange> held_;
};

}  // namespace det::store
