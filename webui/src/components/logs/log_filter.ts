/** What of a log the address asks for. Pure. */

import type { LogQuery } from "./log_source";
import type { Query } from "../address/paths";

export const levels = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** The question to the master behind the address's filters. */
export function filterOf(query: Query): LogQuery {
  const at = levels.findIndex((level) => level === query.level);
  const since = Date.parse(query.since ?? "");
  return {
    ...(query.find ? { searchText: query.find } : {}),
    ...(query.rank ? { rankIds: [Number(query.rank)] } : {}),
    ...(at > 0 ? { levels: levels.slice(at).map((level) => `LOG_LEVEL_${level}`) } : {}),
    ...(Number.isNaN(since) ? {} : { timestampAfter: new Date(since).toISOString() }),
  };
}
