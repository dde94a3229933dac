#pragma once

#include "det/master/services.h"
#include "det/master/workspaces/workspaces.h"

/// Deleting projects and workspaces with all that they hold.
///
/// The contents are checked first: an unfinished experiment, a checkpoint that is needed, or an experiment
/// that the caller cannot delete refuses the call, which then changes nothing and names all obstacles at
/// once. Otherwise the place is marked as being deleted, which survives restarts: it accepts nothing new, its
/// experiments are deleted one by one, and it is removed with the last of them. A failure on the way is shown
/// in its `errorMessage`, and the call can be repeated.
namespace det::master {

/// Returns whether it is already removed; otherwise it is removed later.
asio::awaitable<Result<bool>> delete_project(Services& s, http::Context context, ProjectId id);
asio::awaitable<Result<bool>> delete_workspace(Services& s, http::Context context, WorkspaceId id);

/// Continues the deletions of places and experiments that the end of the last master interrupted.
void resume_deletions(Services& s, const asio::any_io_executor& strand);

}  // namespace det::master
