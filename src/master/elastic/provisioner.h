#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "det/master/elastic/provider.h"
#include "det/master/identity/auth.h"
#include "det/master/ledger/ledger.h"

namespace det::master {

/// How many machines a pool had, and needed, at one time.
struct PoolSample {
  Time time;
  std::int32_t nodes_requested = 0;  ///< asked for, and not there yet
  std::int32_t nodes_running = 0;    ///< with a connected agent
  std::int32_t slots_used = 0, slots_waited_for = 0;
};
BOOST_DESCRIBE_STRUCT(PoolSample, (), (time, nodes_requested, nodes_running, slots_used, slots_waited_for))

/// Brings what the cluster wants of engines and what they have together, for each pool with a provider.
///
/// The cluster remembers an allotment before its engine hears of it, under a name that the engine keeps. So
/// nothing is asked for twice, and nothing is forgotten: after a crash the list of the engine says what was
/// submitted. What it has of ours that nobody wants is cancelled.
///
/// Threads: the ledger's strand. Providers run on a thread of their own each.
class Provisioner {
 public:
  Provisioner(asio::any_io_executor strand, Ledger& ledger, const Auth& auth, std::string cluster_id);
  ~Provisioner();

  /// Adds a pool's provider; call it before `start`.
  void add(const std::string& pool, std::unique_ptr<Provider> provider);
  void start();
  void stop() { stopping_ = true; }

  /// What the engine of the pool last said against us; empty: it answers.
  std::string trouble(const std::string& pool) const;
  /// Where people find the output of an allotment's agents; empty: nobody knows.
  std::string log_of(const std::string& pool, const std::string& allotment) const;
  /// How often each pool's engine was called since the start.
  std::map<std::string, std::int64_t> calls() const;
  /// A sample every ten seconds since the start, of six hours at most.
  std::vector<PoolSample> history(const std::string& pool) const;

 private:
  struct Pool;
  asio::awaitable<void> run(Pool& pool);
  asio::awaitable<bool> round(Pool& pool);
  asio::awaitable<void> forget_strangers();
  asio::awaitable<void> sample();
  asio::awaitable<void> submit(Pool& pool, std::string id);
  asio::awaitable<void> say(cluster::Event event);
  /// The account of the site that an allotment is charged to.
  std::string account_of(const elastic::Allotment& allotment) const;
  std::string name_of(const std::string& allotment) const { return prefix_ + allotment; }

  asio::any_io_executor strand_;
  Ledger& ledger_;
  const Auth& auth_;
  std::string prefix_;  ///< of the names of our jobs
  std::map<std::string, std::unique_ptr<Pool>> pools_;
  bool stopping_ = false;
};

}  // namespace det::master
