/** What a trial ran in, as lists of names and values. */

import type { TrialEnvironments } from "../../api/types";
import { flatten, formatBytes } from "../../components/format";
import { gitText } from "../../components/git";

export interface Section {
  readonly title: string;
  readonly rows: readonly (readonly [string, string])[];
}

/** What holds for the whole trial first, then each environment that it had, the newest run's first. */
export function environmentSections(of: TrialEnvironments): readonly Section[] {
  const whole: (readonly [string, string])[] = [
    ["Git", gitText(of.git)],
    ["Trial seed", String(of.seeds.trial)],
    ["Experiment seed", String(of.seeds.experiment ?? "")],
  ];
  const sections: Section[] = [{ title: "Source", rows: whole.filter(([, value]) => value !== "") }];
  for (const { environment, found } of of.environments) {
    const runs = [...new Set(found.map(({ runId }) => runId))].sort((a, b) => a - b).join(", ");
    const { gpus = [], memory_bytes: memory, ...hardware } = environment.hardware ?? {};
    sections.push({
      title: `Run ${runs}`,
      rows: [
        ...present(hardware),
        ...(typeof memory === "number" ? [["memory", formatBytes(memory)] as const] : []),
        ...gpus.map((gpu, i) => [`GPU ${i}`, [gpu.name, gpu.memory_bytes && formatBytes(gpu.memory_bytes)].filter(Boolean).join(", ")] as const),
        ...present(environment.os ?? {}),
        ...present(environment.versions ?? {}),
      ],
    });
    sections.push({ title: "Settings", rows: [...present(environment.switches ?? {}), ...present(environment.variables ?? {})] });
    sections.push({ title: "Packages", rows: (environment.packages ?? []).map(splitPackage) });
  }
  return sections.filter(({ rows }) => rows.length > 0);
}

function present(values: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== "");
  return flatten(Object.fromEntries(known)).map(([name, value]) => [name.replaceAll("_", " "), value]);
}

function splitPackage(text: string): readonly [string, string] {
  const [name = text, version] = text.split(/==| @ /, 2);
  return [name, version ?? ""];
}
