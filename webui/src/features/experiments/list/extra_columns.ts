/** Columns for hyperparameters (`hp.lr`) and metrics of the best trial (`validation.loss.min`). Pure. */

import type { Experiment, Trial } from "../../../api/types";
import type { Vocabulary } from "./expression";

/** An experiment of a list, with its best trial where the list was asked for it. */
export type Listed = Experiment & { readonly bestTrial?: Trial | undefined };

const aggregates = ["last", "min", "max", "mean"] as const;
const groups: Readonly<Record<string, string>> = { training: "avg_metrics", validation: "validation_metrics" };

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

export const isExtra = (id: string): boolean => id.includes(".");

/** The member at "a.b" of nested objects. */
function at(value: unknown, path: string): unknown {
  if (!isObject(value)) return undefined;
  if (path in value) return value[path];
  const dot = path.indexOf(".");
  return dot < 0 ? undefined : at(value[path.slice(0, dot)], path.slice(dot + 1));
}

/** Group, name and aggregate of "validation.loss.min". */
function partsOf(id: string): readonly [string, string, string] {
  const first = id.indexOf(".");
  const last = id.lastIndexOf(".");
  return [id.slice(0, first), id.slice(first + 1, last), id.slice(last + 1)];
}

/** "lr", or "loss, min". */
export function extraTitle(id: string): string {
  if (id.startsWith("hp.")) return id.slice(3);
  const [group, name, aggregate] = partsOf(id);
  return `${group === "validation" ? "" : `${group} `}${name}, ${aggregate}`;
}

/** What an experiment has in the column: of a hyperparameter that it searches, its best trial's value. */
export function extraValue(experiment: Listed, id: string): unknown {
  if (id.startsWith("hp.")) {
    const found = at(experiment.hyperparameters, id.slice(3));
    if (!isObject(found)) return found;
    if ("val" in found) return found.val;
    return at(experiment.bestTrial?.hparams, id.slice(3));
  }
  const [group, name, aggregate] = partsOf(id);
  const metrics = at(experiment.bestTrial?.summaryMetrics, groups[group] ?? group);
  const metric = isObject(metrics) ? metrics[name] : undefined;
  return isObject(metric) ? metric[aggregate] : undefined;
}

function leavesOf(value: unknown, prefix: string, found: Set<string>): void {
  if (!isObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (isObject(inner) && typeof inner.type !== "string") leavesOf(inner, `${prefix}${name}.`, found);
    else found.add(prefix + name);
  }
}

/** What can be shown and filtered by, going by some experiments. */
export function vocabularyOf(experiments: readonly Listed[], users: readonly string[]): Vocabulary {
  const hyperparameters = new Set<string>();
  const metrics = new Set<string>();
  const labels = new Set<string>();
  for (const experiment of experiments) {
    leavesOf(experiment.hyperparameters, "", hyperparameters);
    for (const label of experiment.labels) labels.add(label);
    const summary: unknown = experiment.bestTrial?.summaryMetrics;
    if (!isObject(summary)) continue;
    for (const [group, of] of Object.entries(summary)) {
      const name = Object.entries(groups).find(([, key]) => key === group)?.[0] ?? group;
      if (isObject(of)) for (const metric of Object.keys(of)) for (const aggregate of aggregates) metrics.add(`${name}.${metric}.${aggregate}`);
    }
  }
  return { hyperparameters: [...hyperparameters].sort(), metrics: [...metrics].sort(), users, labels: [...labels].sort() };
}
