import { flatten } from "../../components/format";

/** The numbers of trials in a text such as "3, 1,x,3": each once, in their order, at most `max`. */
export function comparedIds(text: string, max: number): number[] {
  const ids = text
    .split(/[\s,]+/)
    .map((part) => Number(part.replace(/^#/, "")))
    .filter((id) => Number.isSafeInteger(id) && id > 0);
  return [...new Set(ids)].slice(0, max);
}

export interface Difference {
  readonly name: string;
  /** Of each that is compared; undefined where it has none. */
  readonly values: readonly (string | undefined)[];
}

/** The names whose values are not the same in all lists, in the order in which they first come. */
export function differences(lists: readonly (readonly (readonly [string, string])[])[]): Difference[] {
  const maps = lists.map((list) => new Map(list));
  const names = [...new Set(lists.flatMap((list) => list.map(([name]) => name)))];
  return names.map((name) => ({ name, values: maps.map((map) => map.get(name)) })).filter(({ values }) => new Set(values).size > 1);
}

/** What differs by itself between any two experiments, or is compared with the trials. */
const ofItself = /^(name|description|labels|hyperparameters(\..*)?|workspace|project)$/;

/** A configuration as names and values. */
export const configurationRows = (config: unknown): (readonly [string, string])[] => flatten(config).filter(([name]) => !ofItself.test(name));
