/** What the list of experiments asks the master for: pure, so that it can be tested. */

import type { Query as Question } from "../../../api/client";
import type { Query } from "../../../components/address/paths";
import { parseOrder } from "../../../components/tables/sorting";

/** Columns that the search of any column calls otherwise. */
const searchColumns: Readonly<Record<string, string>> = {
  trials: "numTrials",
  searcher: "searcherType",
  best: "searcherMetricsVal",
  started: "startTime",
  ended: "endTime",
  pool: "resourcePool",
  checkpoints: "checkpointCount",
  size: "checkpointSize",
  parent: "forkedFrom",
  labels: "tags",
};

/** The states behind each choice of the filter. */
export const stateFilters: Readonly<Record<string, readonly string[]>> = {
  active: ["STATE_ACTIVE", "STATE_RUNNING", "STATE_QUEUED", "STATE_PULLING", "STATE_STARTING"],
  paused: ["STATE_PAUSED"],
  stopping: ["STATE_STOPPING_COMPLETED", "STATE_STOPPING_CANCELED", "STATE_STOPPING_KILLED", "STATE_STOPPING_ERROR"],
  completed: ["STATE_COMPLETED"],
  canceled: ["STATE_CANCELED"],
  error: ["STATE_ERROR"],
};

/** What the master calls a column that it can sort by. */
export const sortKeys: Readonly<Record<string, string>> = {
  id: "SORT_BY_ID",
  name: "SORT_BY_NAME",
  description: "SORT_BY_DESCRIPTION",
  state: "SORT_BY_STATE",
  progress: "SORT_BY_PROGRESS",
  trials: "SORT_BY_NUM_TRIALS",
  searcher: "SORT_BY_SEARCHER",
  best: "SORT_BY_SEARCHER_METRIC_VAL",
  started: "SORT_BY_START_TIME",
  ended: "SORT_BY_END_TIME",
  duration: "SORT_BY_DURATION",
  user: "SORT_BY_USER",
  pool: "SORT_BY_RESOURCE_POOL",
  checkpoints: "SORT_BY_CHECKPOINT_COUNT",
  size: "SORT_BY_CHECKPOINT_SIZE",
  parent: "SORT_BY_FORKED_FROM",
  archived: "SORT_BY_ARCHIVED",
};

export const usualOrder = "-id";
export const pageSize = 50;

/** The question behind an address. What the address has wrong is as if it were not there. */
export function listParameters(query: Query, page = 0, size = pageSize): Question<"/api/v1/experiments"> {
  const order = parseOrder(query.sort ?? usualOrder);
  const states = stateFilters[query.state ?? ""];
  const archived = query.archived === "yes" ? true : query.archived === "all" ? undefined : false;
  return {
    search: (query.search ?? "").trim(),
    sortBy: sortKeys[order.by] ?? "SORT_BY_ID",
    orderBy: order.descending ? "ORDER_BY_DESC" : "ORDER_BY_ASC",
    offset: page * size,
    limit: size,
    ...(states ? { states } : {}),
    ...(query.user ? { users: [query.user] } : {}),
    ...(query.label ? { labels: [query.label] } : {}),
    ...(/^\d+$/.test(query.project ?? "") ? { projectId: Number(query.project) } : {}),
    ...(archived === undefined ? {} : { archived }),
  };
}

/** What the master calls a column of the list when it is asked for any. */
export const searchColumn = (id: string): string => searchColumns[id] ?? id;

/** The same question to the search of any column, for expressions, groups, and columns of hyperparameters and metrics. */
export function searchRequest(query: Query, expression: string) {
  const order = parseOrder(query.sort ?? usualOrder);
  return {
    query: expression,
    sort: `${searchColumn(order.by)}=${order.descending ? "desc" : "asc"}`,
    ...(/^\d+$/.test(query.project ?? "") ? { projectId: query.project as string } : {}),
  };
}
