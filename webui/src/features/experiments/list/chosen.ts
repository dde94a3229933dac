/** The experiments that are ticked in a list. Pure. */

import type { Experiment } from "../../../api/types";
import type { Query } from "../../../components/address/paths";

interface Page<T> {
  readonly experiments: readonly T[];
  readonly pagination: { readonly total?: number };
}

type Chosen<T> = ReadonlyMap<number, T>;
type Numbered = Pick<Experiment, "id">;

/** What of a question decides which experiments match, whatever their order, groups and columns. */
export const filterKey = ({ row: _row, sort: _sort, columns: _columns, group: _group, open: _open, ...filter }: Query): string => JSON.stringify(Object.entries(filter).sort());

/**
 * What stays chosen when a page of the list has come: after another question only what is on it; else what it has, and
 * what may be on other pages.
 */
export function stillChosen<T extends Numbered>(chosen: Chosen<T>, { experiments, pagination }: Page<T>, asksElse: boolean): Chosen<T> {
  const isAll = (pagination.total ?? 0) <= experiments.length;
  if (!asksElse && !isAll) return chosen;
  const here = new Set(experiments.map(({ id }) => id));
  const kept = [...chosen].filter(([id]) => here.has(id));
  return kept.length === chosen.size ? chosen : new Map(kept);
}

/** The chosen experiments in their newest known state. */
export function latest<T extends Numbered>(chosen: Chosen<T>, reply: Page<T> | undefined): T[] {
  const now = new Map(reply?.experiments.map((experiment) => [experiment.id, experiment]));
  return [...chosen.values()].map((experiment) => now.get(experiment.id) ?? experiment);
}
