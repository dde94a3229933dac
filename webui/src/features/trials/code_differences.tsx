import { useState } from "react";
import { usePolled } from "../../api/loadable";
import type { Experiment } from "../../api/types";
import type { TrialWithExperiment } from "../../api/trials";
import { fileDifferences } from "../../components/code/differences";
import { modelDefinition } from "../../components/code/model_definition";
import { asText, type TarEntry } from "../../components/code/tar";
import { Choice, Loaded, Panel } from "../../components/parts";
import { late } from "../../components/late";

const DiffView = late(() => import("../../components/code/diff_view").then((m) => m.default));

/** In which files two of the experiments differ, and how. */
export function CodeDifferences({ list }: { list: readonly TrialWithExperiment[] }) {
  const experiments = [...new Map(list.map(({ experiment }) => [experiment.id, experiment])).values()];
  return experiments.length < 2 ? null : <Compared experiments={experiments} />;
}

function Compared({ experiments }: { experiments: readonly Experiment[] }) {
  const [chosen, setChosen] = useState<readonly [number?, number?]>([]);
  const known = (id: number | undefined) => experiments.find((experiment) => experiment.id === id)?.id;
  const before = known(chosen[0]) ?? experiments[0]?.id ?? 0;
  const after = known(chosen[1]) ?? experiments[1]?.id ?? 0;
  const [files] = usePolled(
    `code ${before} ${after}`,
    (signal) => Promise.all([modelDefinition(before, signal), modelDefinition(after, signal)]),
    0,
    () => false,
  );
  const options = experiments.map(({ id, name }) => [String(id), `${id} ${name}`] as const);
  return (
    <Panel
      title="Code"
      tools={
        experiments.length > 2 && (
          <>
            <Choice label="From experiment" value={String(before)} options={options} onChange={(id) => setChosen([Number(id), after])} />
            <Choice label="to" value={String(after)} options={options} onChange={(id) => setChosen([before, Number(id)])} />
          </>
        )
      }
    >
      <Loaded of={files} what="the submitted files">{([old, now]) => <Files old={old} now={now} before={before} after={after} />}</Loaded>
    </Panel>
  );
}

interface FilesProps {
  readonly old: readonly TarEntry[];
  readonly now: readonly TarEntry[];
  readonly before: number;
  readonly after: number;
}

const shownBytesMax = 1_000_000;

function Files({ old, now, before, after }: FilesProps) {
  const regular = (entries: readonly TarEntry[]) => entries.filter(({ type }) => type === 48);
  const found = fileDifferences(regular(old), regular(now));
  const textOf = (entries: readonly TarEntry[], path: string) => {
    const content = entries.find((entry) => entry.path === path)?.content;
    return content === undefined ? "" : content.length > shownBytesMax ? undefined : asText(content);
  };
  if (found.length === 0) return <p className="quiet">The submitted files are the same.</p>;
  return found.map(({ path, change }) => {
    const [a, b] = [textOf(old, path), textOf(now, path)];
    return (
      <details key={path} className="changes" open={found.length === 1}>
        <summary>
          {path} <span className="quiet">{change === "changed" ? "" : `${change} in experiment ${after}`}</span>
        </summary>
        {a === undefined || b === undefined ? (
          <p className="quiet">This file is binary or too large to compare.</p>
        ) : (
          <DiffView before={a} after={b} label={`${path} in experiments ${before} and ${after}`} same="Only the ends of lines differ." />
        )}
      </details>
    );
  });
}
