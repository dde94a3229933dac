#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "det/http/routing/router.h"
#include "det/master/ledger/ledger.h"
#include "det/master/monitoring/prometheus_text.h"

namespace det::master {

/// The master's measurements of its own work since it started.
///
/// Threads: the master's strand.
class Measurements {
 public:
  /// Starts to measure these two.
  void watch(Ledger& ledger, http::Router& router);

  /// (verb, route): how long answers took. As many as there are routes in use, and one for all others.
  const std::map<std::pair<std::string, std::string>, Histogram>& requests() const { return requests_; }
  /// (verb, route, status): how many.
  const std::map<std::tuple<std::string, std::string, int>, std::int64_t>& answers() const {
    return answers_;
  }
  const Histogram& commits() const { return commits_; }
  /// How long allocations waited for their slots, of those that have got them.
  const Histogram& waits() const { return waits_; }

  struct Ingested {
    std::int64_t log_lines = 0, log_bytes = 0, metric_reports = 0, metric_values = 0, events = 0;
  };
  const Ingested& ingested() const { return ingested_; }

 private:
  void count(const std::vector<store::Change>& changes);
  void count(const experiment::AllocationRecord& allocation);

  std::map<std::pair<std::string, std::string>, Histogram> requests_;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> answers_;
  Histogram commits_, waits_;
  Ingested ingested_;
  std::set<std::string> placed_;  // allocations that have their slots and are not over
};

}  // namespace det::master
