#pragma once

#include "det/master/services.h"

/// Actions on one experiment, also used by the calls that act on many.
namespace det::master {

asio::awaitable<Result<http::Empty>> command_experiment(Services& s, http::Context context, ExperimentId id,
                                                        cluster::Verb verb);
asio::awaitable<Result<http::Empty>> archive_experiment(Services& s, http::Context context, ExperimentId id,
                                                        bool archived);
/// Returns once the experiment is marked for deletion; its files and rows are deleted after that.
asio::awaitable<Result<http::Empty>> delete_experiment(Services& s, http::Context context, ExperimentId id);
/// The same for a caller whose permission was already checked.
asio::awaitable<Result<http::Empty>> begin_deletion(Services& s, ExperimentId id);
asio::awaitable<Result<http::Empty>> move_experiment(Services& s, http::Context context, ExperimentId id,
                                                     store::ProjectId project);
/// `days` after its end; -1: as long as the experiment is there. InvalidArgument for others below 0.
asio::awaitable<Result<http::Empty>> retain_logs(Services& s, ExperimentId id, std::int32_t days);
/// POST /api/v1/experiments/continue
void add_continue_routes(http::Router& router, Services& s);
/// {"state", "jobsAhead"} of its job; null where it has none, being over or paused.
json::value job_summary(Services& s, ExperimentId id);
asio::awaitable<Result<http::Empty>> kill_trial(Services& s, http::Context context, TrialId id);

}  // namespace det::master
