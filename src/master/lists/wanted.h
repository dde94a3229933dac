#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "det/master/lists/filter.h"
#include "det/master/objects.h"
#include "det/master/services.h"

/// What a list of experiments or runs asks for, and the rows that it is answered from.
namespace det::master {

struct FindRequest {
  std::optional<std::int64_t> project_id;
  std::int32_t offset = 0, limit = 0;
  std::string sort, filter;
  std::string query;     ///< an expression; what matches it and `filter` is found
  std::string group_by;  ///< a column: only rows that have `group_value` in it
  json::value group_value;
};
BOOST_DESCRIBE_STRUCT(FindRequest, (),
                      (project_id, offset, limit, sort, filter, query, group_by, group_value))

struct Wanted {
  Filter filter;
  std::vector<SortKey> sort;
  std::vector<std::string> columns{};                          ///< others that are asked for
  std::optional<std::pair<std::string, std::string>> group{};  ///< a column, and the key of what is in it

  bool any_column(const std::function<bool(const std::string&)>& is) const {
    return filter.root.any_column(is) || std::ranges::any_of(sort, is, &SortKey::column) ||
           std::ranges::any_of(columns, is);
  }
  bool needs_hyperparameters() const {
    return any_column([](const std::string& column) { return column.starts_with("hp."); });
  }
  bool needs_metrics() const {
    return any_column([](const std::string& column) {
      return !column.starts_with("hp.") && column.find('.') != std::string::npos;
    });
  }
};
Result<Wanted> parse_wanted(Services& s, const std::any& principal, const FindRequest& request);

/// Indices of the rows that match, in the order wanted; ties by index.
std::vector<std::size_t> select(const std::vector<Row>& rows, const Wanted& wanted);

/// The experiments of the project that may match, the newest first, as the strand shows them.
asio::awaitable<std::vector<api::Experiment>> experiments_of(Services& s, const std::any& principal,
                                                             std::optional<std::int64_t> project,
                                                             const Filter& filter, bool runs);
std::vector<TrialId> best_trials(std::span<const api::Experiment> experiments);

/// What the columns of experiments need beside their summaries, read for all of them at once.
class Details {
 public:
  Details(store::Store& store, std::span<const api::Experiment> experiments, const Wanted& wanted);

  json::value column(const api::Experiment& e, const std::string& name) const;
  /// One row an experiment; they refer to the experiments and to this.
  std::vector<Row> rows(std::span<const api::Experiment> experiments) const;

 private:
  std::map<TrialId, json::object> drawn_, metrics_;  ///< of best trials
  std::map<ExperimentId, json::object> configured_;
};

}  // namespace det::master
