import { type FormEvent, useMemo, useState } from "react";
import { usePolled } from "../../api/loadable";
import { scaleOf } from "../../components/charts/curves";
import { colourAt, restColour } from "../../components/charts/palette";
import { Dot } from "../../components/charts/dot";
import { flatten, formatNumber, isTerminal, runTime, shortNumber } from "../../components/format";
import { groupingsOf } from "../../components/charts/groupings";
import { trialsMax } from "../../components/panels/block";
import { Media } from "../../components/media/media";
import { Metrics } from "../../components/charts/metrics";
import { Loaded, PageHead, Panel, StateBadge } from "../../components/parts";
import { Link, useParameter } from "../../components/address/route";
import { foundOrMissing, getTrial, type Missing, type TrialWithExperiment } from "../../api/trials";
import { comparedIds } from "./compared";
import { CodeDifferences } from "./code_differences";
import { DifferenceRows } from "./difference_rows";

/** Trials of any experiments beside each other: the address names them. */
export function ComparePage() {
  const [text, setText] = useParameter("trials");
  const ids = useMemo(() => comparedIds(text, trialsMax), [text]);
  const [loaded] = usePolled(
    `compare ${ids.join()}`,
    (signal) => foundOrMissing(ids, (id) => getTrial(id, signal)),
    3000,
    ({ found }) => found.some(({ trial }) => !isTerminal(trial.state)),
    { topics: ids.map((id) => `trial ${id}` as const), leastMs: 1000 },
  );
  const remove = (id: number) => set(ids.filter((one) => one !== id));
  const set = (list: readonly number[]) => setText(list.join(","));
  return (
    <>
      <PageHead title="Compare trials">
        <AddTrial onAdd={(id) => set([...ids.filter((one) => one !== id), id])} />
      </PageHead>
      {ids.length === 0 ? (
        <p className="quiet">
          Add trials by ID, or select experiments in the <Link to={{ page: "experiments" }}>list</Link> and compare their best trials.
        </p>
      ) : (
        <Loaded of={loaded} what="trials">
          {({ found, missing }) => (
            <>
              <NotFound list={missing} onRemove={remove} />
              {found.length > 0 && <Comparison list={found} onRemove={remove} />}
            </>
          )}
        </Loaded>
      )}
    </>
  );
}

/** Those that cannot be shown, and why. */
function NotFound({ list, onRemove }: { list: readonly Missing[]; onRemove: (id: number) => void }) {
  return list.map(({ id, why }) => (
    <p key={id} className="problem" role="alert">
      {why}{" "}
      <button type="button" className="text" aria-label={`Remove trial ${id}`} onClick={() => onRemove(id)}>
        Remove
      </button>
    </p>
  ));
}

function AddTrial({ onAdd }: { onAdd: (id: number) => void }) {
  const [text, setText] = useState("");
  const add = (event: FormEvent) => {
    event.preventDefault();
    const id = comparedIds(text, 1)[0];
    if (id !== undefined) onAdd(id);
    setText("");
  };
  return (
    <form className="row" onSubmit={add}>
      <input value={text} inputMode="numeric" placeholder="Trial ID" aria-label="Trial ID" onChange={(e) => setText(e.target.value)} />
      <button type="submit">Add</button>
    </form>
  );
}

function Comparison({ list, onRemove }: { list: readonly TrialWithExperiment[]; onRemove: (id: number) => void }) {
  const key = list.map(({ trial }) => trial.id).join();
  const ids = useMemo(() => list.map(({ trial }) => trial.id), [key]);
  const scales = useMemo(() => new Map(list.map(({ trial, experiment }) => [trial.id, scaleOf(trial, experiment.config)])), [key]);
  const groupings = useMemo(() => groupingsOf(list.map(({ trial }) => trial)), [key]);
  const live = list.some(({ trial }) => !isTerminal(trial.state));
  const colours = new Map(ids.map((id, index) => [id, colourAt(index)]));
  const texts = list.map(({ trial }) => new Map(flatten(trial.hparams)));
  const names = [...new Set(texts.flatMap((map) => [...map.keys()]))].sort();
  const differs = (name: string) => new Set(texts.map((map) => map.get(name))).size > 1;
  return (
    <>
      <Metrics
        trialIds={ids}
        scales={scales}
        live={live}
        first={list[0]?.experiment.searcherMetric ?? ""}
        colour={({ trialId }) => colours.get(trialId) ?? restColour}
        groupings={groupings}
      />
      <Panel title="Comparison">
        <div className="table">
          <table aria-label="Compared trials">
            <thead>
              <tr>
                <th scope="col">Trial</th>
                {list.map(({ trial }) => (
                  <th key={trial.id} scope="col">
                    <Dot colour={colours.get(trial.id)} />{" "}
                    <Link to={{ page: "trial", id: trial.id, tab: "overview" }}>{trial.id}</Link>{" "}
                    <button type="button" className="text" aria-label={`Remove trial ${trial.id}`} onClick={() => onRemove(trial.id)}>
                      ×
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">Experiment</th>
                {list.map(({ trial, experiment }) => (
                  <td key={trial.id}>
                    <Link to={{ page: "experiment", id: experiment.id, tab: "overview" }}>
                      {experiment.id} {experiment.name}
                    </Link>
                  </td>
                ))}
              </tr>
              <tr>
                <th scope="row">State</th>
                {list.map(({ trial }) => (
                  <td key={trial.id}>
                    <StateBadge state={trial.state} />
                  </td>
                ))}
              </tr>
              <tr>
                <th scope="row">Best metric</th>
                {list.map(({ trial, experiment }) => (
                  <td key={trial.id}>
                    {formatNumber(trial.searcherMetricValue)} <span className="quiet">{experiment.searcherMetric}</span>
                  </td>
                ))}
              </tr>
              <tr>
                <th scope="row">Batches</th>
                {list.map(({ trial }) => (
                  <td key={trial.id}>{trial.totalBatchesProcessed}</td>
                ))}
              </tr>
              <tr>
                <th scope="row">Duration</th>
                {list.map(({ trial }) => (
                  <td key={trial.id}>{runTime(trial.startTime, trial.endTime, Date.now())}</td>
                ))}
              </tr>
              {names.map((name) => (
                <tr key={name} className={differs(name) ? "differs" : undefined}>
                  <th scope="row">{name}</th>
                  {texts.map((map, index) => (
                    <td key={ids[index]} title={map.get(name)}>
                      {shortNumber(map.get(name) ?? "–")}
                    </td>
                  ))}
                </tr>
              ))}
              {list.length > 1 && <DifferenceRows list={list} />}
            </tbody>
          </table>
        </div>
      </Panel>
      <Media trialIds={ids} live={live} colours={colours} beside />
      <CodeDifferences list={list} />
    </>
  );
}
