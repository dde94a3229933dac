// Lists of experiments in groups, with what the columns of each group amount to.

#include "det/master/lists/grouping.h"
#include "det/master/lists/wanted.h"
#include "det/master/rights/rights.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct GroupRequest {
  std::string group_by;
  std::optional<std::int64_t> project_id;
  std::int32_t offset = 0, limit = 0;
  std::string sort, filter, query;
  std::vector<std::string> columns;
};
BOOST_DESCRIBE_STRUCT(GroupRequest, (), (group_by, project_id, offset, limit, sort, filter, query, columns))
struct ExperimentGroup {
  json::value value;
  std::int32_t count = 0;
  std::map<std::string, std::int32_t> states;
  std::vector<ColumnAggregate> aggregates;
};
BOOST_DESCRIBE_STRUCT(ExperimentGroup, (), (value, count, states, aggregates))
struct GroupsReply {
  std::vector<ExperimentGroup> groups;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(GroupsReply, (), (groups, pagination))

asio::awaitable<Result<GroupsReply>> group_experiments(Services& s, std::any principal, GroupRequest r) {
  if (r.group_by.empty()) co_return invalid_argument("groupBy is empty; it names a column, as hp.lr or user");
  if (r.columns.size() > 200)
    co_return invalid_argument("columns names {} columns; 200 are the most", r.columns.size());
  auto wanted = parse_wanted(
      s, principal,
      {.project_id = r.project_id, .limit = r.limit, .sort = r.sort, .filter = r.filter, .query = r.query});
  if (!wanted) co_return tl::unexpected(wanted.error());
  wanted->columns = r.columns;
  wanted->columns.push_back(r.group_by);
  const auto experiments = co_await experiments_of(s, principal, r.project_id, wanted->filter, false);
  auto read = [&s, &r, &experiments, &wanted] {
    const Details details(s.store, experiments, *wanted);
    const auto rows = details.rows(experiments);
    const auto groups = group_rows(rows, select(rows, *wanted), r.group_by);
    const auto span = page_of(groups.size(), r.offset, r.limit);
    GroupsReply reply{.groups = {}, .pagination = span.pagination};
    for (auto i = span.begin; i < span.end; ++i) {
      const auto& members = groups[i].rows;
      ExperimentGroup group{.value = groups[i].value,
                            .count = static_cast<std::int32_t>(members.size()),
                            .states = tally(rows, members, "state"),
                            .aggregates = {}};
      for (const auto& column : r.columns)
        if (auto amount = aggregate(rows, members, column)) group.aggregates.push_back(*std::move(amount));
      reply.groups.push_back(std::move(group));
    }
    return reply;
  };
  auto reply = co_await offload(s, std::move(read));
  co_await s.ledger.durable();
  co_return reply;
}

}  // namespace

void add_grouping_routes(http::Router& router, Services& s) {
  router.add<GroupRequest, GroupsReply>(
      Verb::Post, "/api/v1/experiments-groups",
      [&s](Context c, GroupRequest r) -> asio::awaitable<Result<GroupsReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        co_return co_await group_experiments(s, c.principal, std::move(r));
      },
      Doc{.summary =
              "Search experiments, as experiments-search does, and group them by a column; `columns` "
              "are summed up for each group, and groups stand in the order of their first experiments. "
              "The experiments of one group: experiments-search with `groupBy` and `groupValue`",
          .tag = "Experiments"});
}

}  // namespace det::master
