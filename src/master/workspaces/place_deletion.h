#pragma once

#include "det/master/services.h"
#include "det/master/workspaces/workspaces.h"

/// Deleting projects and workspaces with all that they hold.
///
/// What they hold is looked at first: an experiment that is not finished, a checkpoint that a model names or
/// that somebody needs, an experiment that the caller may not delete refuse the call, all of them named at
/// once, and nothing is done. Then the place is marked, which is kept over restarts: it takes nothing new,
/// its experiments go as they do when each is deleted, and it goes with the last of them. What fails on the
/// way is in its `errorMessage`, and the call can be repeated.
namespace det::master {

/// Whether it is gone already; else it goes after that.
asio::awaitable<Result<bool>> delete_project(Services& s, http::Context context, ProjectId id);
asio::awaitable<Result<bool>> delete_workspace(Services& s, http::Context context, WorkspaceId id);

/// Goes on with the deletions, of experiments as well, that the end of the last master interrupted.
void resume_deletions(Services& s, const asio::any_io_executor& strand);

}  // namespace det::master
