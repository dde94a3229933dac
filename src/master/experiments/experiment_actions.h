#pragma once

#include "det/master/services.h"

/// What is done to one experiment at a call, also for calls that do it to many.
namespace det::master {

asio::awaitable<Result<http::Empty>> command_experiment(Services& s, http::Context context, ExperimentId id,
                                                        cluster::Verb verb);
asio::awaitable<Result<http::Empty>> archive_experiment(Services& s, http::Context context, ExperimentId id,
                                                        bool archived);
/// Returns once it is marked; files and rows go after that.
asio::awaitable<Result<http::Empty>> delete_experiment(Services& s, http::Context context, ExperimentId id);
/// The same for whoever was found to be allowed to.
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
