/** What an exact resume rests on, checked against what the master knows of a trial's runs. Pure. */

import type { TrialEnvironments } from "../../api/types";
import { flatten } from "../../components/format";
import type { Run } from "./runs";

export interface Check {
  /** Undefined: the trial has not told what it takes to know. */
  readonly holds: boolean | undefined;
  readonly text: string;
}

/** What may differ between runs without changing any number. */
const harmless = /^(hardware\.(hostname|memory_bytes|cores|gpu_driver)|os\.(kernel|name))$/;

/** Where each run went on. */
function starts(runs: readonly Run[]): Check[] {
  return runs.slice(1).map(({ run, from, saidFrom }): Check => {
    if (from !== undefined && saidFrom === from.batches)
      return { holds: true, text: `Run ${run} resumed after batch ${saidFrom}, where checkpoint ${from.uuid} was saved.` };
    if (saidFrom !== undefined) return { holds: false, text: `Run ${run} resumed after batch ${saidFrom}, but no checkpoint of that batch is known.` };
    if (from !== undefined)
      return { holds: undefined, text: `Run ${run} started from checkpoint ${from.uuid}, saved after batch ${from.batches}; its log does not show where it resumed.` };
    return { holds: true, text: `Run ${run} started from the beginning, because no checkpoint had been saved.` };
  });
}

type Environment = TrialEnvironments["environments"][number]["environment"];

/** All values of an environment by name, a package by its own. */
function valuesOf({ packages = [], ...rest }: Environment): Map<string, string> {
  const versions = packages.map((text): [string, string] => {
    const [name = text, version = ""] = text.split(/==| @ /, 2);
    return [`package ${name}`, version];
  });
  return new Map([...flatten(rest), ...versions]);
}

/** "a, b, c and 4 more" */
function some(names: readonly string[]): string {
  const most = 6;
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** Whether all runs had the same environment, as far as it can change a number. */
function environments(runs: readonly Run[], of: TrialEnvironments): Check {
  const told = new Set(of.environments.flatMap(({ found }) => found.map(({ runId }) => runId)));
  const silent = runs.filter(({ run }) => !told.has(run)).map(({ run }) => run);
  // The newest run's comes first.
  const values = of.environments.map(({ environment }) => valuesOf(environment)).reverse();
  const names = [...new Set(values.flatMap((map) => [...map.keys()]))].filter((name) => !harmless.test(name));
  const different = names.filter((name) => new Set(values.map((map) => map.get(name))).size > 1);
  const comesOrGoes = (name: string) => name.startsWith("package ") && values.every((map) => [undefined, values.find((other) => other.has(name))?.get(name)].includes(map.get(name)));
  const changed = different.filter((name) => !comesOrGoes(name));
  if (changed.length > 0) {
    const told = changed.map((name) => `${name} (${[...new Set(values.map((map) => map.get(name) ?? "none"))].join(", then ")})`);
    return { holds: false, text: `The runs differ in ${some(told)}. Metrics may differ from there on.` };
  }
  if (different.length > 0)
    return {
      holds: undefined,
      text: `Packages were added or removed between the runs, which matters only if the trial uses them: ${some(different.map((name) => name.replace("package ", "")))}.`,
    };
  if (silent.length > 0) return { holds: undefined, text: `The environment of ${silent.length === 1 ? "run" : "runs"} ${silent.join(", ")} is unknown.` };
  return { holds: true, text: "All runs had the same versions, processors, settings, variables, and packages." };
}

/** Whether all runs had as many slots: others add up the same numbers in another order. */
function slots(runs: readonly Run[]): Check[] {
  const counts = [...new Set(runs.flatMap(({ slots }) => (slots === undefined ? [] : [slots])))];
  if (counts.length < 2) return [];
  return [{ holds: false, text: `The runs had ${counts.join(", then ")} slots. Each batch has the same records; metrics may differ by rounding.` }];
}

function switches(of: TrialEnvironments): Check {
  const all = of.environments.map(({ environment }) => environment.switches?.deterministic_algorithms);
  if (all.length === 0 || all.some((on) => on === undefined)) return { holds: undefined, text: "It is unknown whether PyTorch used deterministic algorithms." };
  if (all.some((on) => on !== true)) return { holds: false, text: "Deterministic algorithms of PyTorch were disabled." };
  const gpus = of.environments.some(({ environment }) => (environment.hardware?.gpus ?? []).length > 0);
  const warns = of.environments.some(({ environment }) => environment.switches?.deterministic_algorithms_warn_only === true);
  return {
    holds: true,
    text: `PyTorch used deterministic algorithms${gpus && warns ? "; GPU kernels without a deterministic version are named in the log" : ""}.`,
  };
}

/** A class of a file, as the loop trains it ("model_def:MnistTrial"); all else is a script, which trains as it likes. */
export const isClass = (entrypoint: unknown): boolean =>
  typeof entrypoint === "string" && /^[^\s:]+:[^\s:]+$/.test(entrypoint.trim());

/** What the random numbers of a run rest on: those of a class on the loop, those of a script on what it does. */
function randomness(runs: readonly Run[], of: TrialEnvironments, ofClass: boolean): Check {
  const { trial } = of.seeds;
  if (!ofClass) {
    const text = `It is unknown whether the script uses the trial seed ${trial} and saves the states of its random generators.`;
    return { holds: undefined, text };
  }
  const saved = runs.some(({ checkpoints }) => checkpoints > 0);
  const states = saved ? "the states of the random generators are saved in checkpoints" : "no checkpoint was saved";
  return { holds: true, text: `Every run uses the trial seed ${trial}; ${states}.` };
}

/** What holds, what does not, and what is not known; `ofClass`: the loop trains it, not a script. */
export function exactness(runs: readonly Run[], of: TrialEnvironments, ofClass: boolean): Check[] {
  if (runs.length === 0) return [];
  return [...starts(runs), environments(runs, of), ...slots(runs), switches(of), randomness(runs, of, ofClass)];
}
