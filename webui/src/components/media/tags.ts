import type { MediaTag } from "../../api/media";

/** A tag of any of some trials. */
export interface Shown extends MediaTag {
  /** The trials that have it, in the order in which they are shown. */
  readonly trials: readonly number[];
}

const order = ["image", "histogram", "text", "audio"] as const;

/** The tags of several trials together, by kind and name; the steps are those of all of them. */
export function together(of: readonly (readonly [trial: number, tags: readonly MediaTag[]])[]): readonly Shown[] {
  const all = new Map<string, Shown>();
  for (const [trial, tags] of of)
    for (const one of tags) {
      const key = `${order.indexOf(one.kind)} ${one.tag}`;
      const { steps, trials } = all.get(key) ?? { steps: [], trials: [] };
      all.set(key, { ...one, steps: union(steps, one.steps), trials: [...trials, trial] });
    }
  const place = ({ kind }: Shown) => order.indexOf(kind);
  return [...all.values()].sort((a, b) => place(a) - place(b) || a.tag.localeCompare(b.tag, undefined, { numeric: true }));
}

/** All numbers of both, in their order, each once. */
export function union(a: readonly number[], b: readonly number[]): readonly number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}

/** Those whose tag has all the words in it. */
export function matching(tags: readonly Shown[], words: string): readonly Shown[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return tags.filter(({ tag }) => wanted.every((word) => tag.toLowerCase().includes(word)));
}

/** The last of the steps that is not after `wanted`, as its place in the list; without `wanted` the last one. */
export function placeOf(steps: readonly number[], wanted: number | undefined): number {
  if (wanted === undefined) return steps.length - 1;
  const after = steps.findIndex((step) => step > wanted);
  return after < 0 ? steps.length - 1 : Math.max(0, after - 1);
}
