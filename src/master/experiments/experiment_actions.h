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
/// The place of a job in its queue.
struct JobSummary {
  std::string state;
  std::int32_t jobs_ahead = 0;  ///< -1 where the pool's queue has no order
};
BOOST_DESCRIBE_STRUCT(JobSummary, (), (state, jobs_ahead))
/// Of the experiment's job; none where it has no job, being over or paused.
std::optional<JobSummary> job_summary(Services& s, ExperimentId id);
asio::awaitable<Result<http::Empty>> kill_trial(Services& s, http::Context context, TrialId id);

}  // namespace det::master
