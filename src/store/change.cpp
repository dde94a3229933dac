#include "det/store/change.h"

namespace det::store {

template <class T>
  requires kIsOneOf<T, AnyChange>
Change::Change(T what) : held_(std::make_unique<AnyChange>(std::move(what))) {}

Change::Change(const Change& other) : held_(std::make_unique<AnyChange>(*other.held_)) {}
Change::Change(Change&& other) noexcept = default;
Change& Change::operator=(const Change& other) {
  held_ = std::make_unique<AnyChange>(*other.held_);
  return *this;
}
Change& Change::operator=(Change&& other) noexcept = default;
Change::~Change() = default;

template Change::Change(AppendEvent);
template Change::Change(SaveSnapshot);
template Change::Change(PutExperiment);
template Change::Change(PutTrial);
template Change::Change(PutAllocation);
template Change::Change(PutCheckpoint);
template Change::Change(PutTask);
template Change::Change(AddMetrics);
template Change::Change(RewindTrial);
template Change::Change(AddLogs);
template Change::Change(AddOwnLogs);
template Change::Change(PutSearch);
template Change::Change(PutModelDefinition);
template Change::Change(PutUser);
template Change::Change(PutSession);
template Change::Change(DeleteSession);
template Change::Change(DeleteSessionsOf);
template Change::Change(PutAccessToken);
template Change::Change(PutTemplate);
template Change::Change(DeleteTemplate);
template Change::Change(DeleteExperiment);
template Change::Change(PutModel);
template Change::Change(DeleteModel);
template Change::Change(PutModelVersion);
template Change::Change(DeleteModelVersion);
template Change::Change(SetCheckpointMetadata);
template Change::Change(SetTrialMetadata);
template Change::Change(AddEnvironment);
template Change::Change(CopyEnvironment);
template Change::Change(PutUnmanaged);
template Change::Change(PutTrialSource);
template Change::Change(PutWorkspace);
template Change::Change(DeleteWorkspace);
template Change::Change(PutProject);
template Change::Change(DeleteProject);
template Change::Change(PutPin);
template Change::Change(DeletePin);
template Change::Change(PutConfigPolicy);
template Change::Change(DeleteConfigPolicy);
template Change::Change(PutWebhook);
template Change::Change(DeleteWebhook);
template Change::Change(PutDelivery);
template Change::Change(DeleteDelivery);
template Change::Change(PutLogHit);
template Change::Change(PutSetting);
template Change::Change(PutRoleAssignment);
template Change::Change(DeleteRoleAssignment);
template Change::Change(PutGroup);
template Change::Change(DeleteGroup);
template Change::Change(AppendAudit);
template Change::Change(PruneAudit);
template Change::Change(SetLogRetention);
template Change::Change(DropLogs);
template Change::Change(PutDeletion);
template Change::Change(EndDeletion);
template Change::Change(BeginCheckpoint);
template Change::Change(DropBegunCheckpoint);

}  // namespace det::store
