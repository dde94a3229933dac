// Tells a page that what it shows has changed, so that it need not ask again and again.

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::ItemWriter;
using http::Verb;

/// Between two lines of a stream.
constexpr std::chrono::milliseconds kLeast{100};
/// In which one who hung up is noticed.
constexpr std::chrono::seconds kMost{15};
constexpr std::size_t kMostWatched = 1000;

struct ChangesQuery {
  std::vector<ExperimentId> experiment_ids;
  std::vector<TrialId> trial_ids;
  bool experiments = false, cluster = false;
};
BOOST_DESCRIBE_STRUCT(ChangesQuery, (), (experiment_ids, trial_ids, experiments, cluster))
struct ChangesLine {
  std::vector<std::string> changed;
};
BOOST_DESCRIBE_STRUCT(ChangesLine, (), (changed))

/// What rings, and what it is called in the stream.
std::map<std::string, std::string> watched(const ChangesQuery& query) {
  std::map<std::string, std::string> keys;
  for (const auto id : query.experiment_ids)
    keys.emplace(Ledger::experiment_key(id), fmt::format("experiment {}", id));
  for (const auto id : query.trial_ids) keys.emplace(Ledger::metric_key(id), fmt::format("trial {}", id));
  if (query.experiments) keys.emplace(Ledger::experiments_key(), "experiments");
  if (query.cluster) keys.emplace(Ledger::cluster_key(), "cluster");
  return keys;
}

asio::awaitable<Result<void>> follow(Services& s, ChangesQuery query, ItemWriter<ChangesLine>& out) {
  const auto keys = watched(query);
  if (keys.empty() || keys.size() > kMostWatched)
    co_return invalid_argument(
        "{} things are asked for; name from 1 to {} with experimentIds, trialIds, experiments and cluster",
        keys.size(), kMostWatched);
  std::vector<std::string> names;
  for (const auto& [key, name] : keys) names.push_back(key);
  Watch watch(s.ledger, std::move(names));
  const ChangesLine nothing;
  bool taken = co_await out.write(nothing);  // it has begun
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (taken) {
    co_await watch.wait(kMost);
    ChangesLine line;
    for (const auto& key : watch.rang()) line.changed.push_back(keys.at(key));
    if (line.changed.empty()) {
      taken = co_await out.alive();
      continue;
    }
    taken = co_await out.write(line);
    pause.expires_after(kLeast);
    boost::system::error_code ended;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }
  co_return Result<void>{};
}

}  // namespace

void add_change_routes(http::Router& router, Services& s) {
  router.add_stream<ChangesQuery, ChangesLine>(
      Verb::Get, "/api/v1/changes/follow",
      [&s](Context, ChangesQuery q, ItemWriter<ChangesLine>& out) { return follow(s, std::move(q), out); },
      Doc{.summary = "Follow which experiments and trials change, and whether agents, tasks or the queue do; "
                     "a line names them, and the first line nothing",
          .tag = "Experiments"});
}

}  // namespace det::master
