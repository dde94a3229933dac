import { useMemo } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { TrialEnvironments } from "../../api/types";
import { Age, Loaded, Panel } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";
import { listRuns } from "./api";
import { type Check, exactness, isClass } from "./exactness";
import type { Run } from "./runs";

interface RunTableProps {
  readonly id: number;
  readonly batches: number;
  readonly live: boolean;
  /** Of the experiment. */
  readonly config: unknown;
}

/** Each start of the trial's process: what it went on from, and how far it came. */
export function RunTable({ id, batches, live, config }: RunTableProps) {
  const [list] = usePolled(`runs ${id}`, (signal) => listRuns(id, batches, signal), 5000, () => live, { topics: [`trial ${id}`], leastMs: 2000 });
  const columns = useMemo(
    (): Column<Run>[] => [
      { id: "run", title: "Run", number: true, value: ({ run }) => run, cell: ({ run }) => run },
      { id: "started", title: "Started", cell: ({ started }) => <Age time={started} /> },
      { id: "agent", title: "Agent", value: ({ agent }) => agent, cell: ({ agent }) => agent },
      {
        id: "from",
        title: "Resumed from",
        cell: ({ from, saidFrom }) =>
          from === undefined ? (
            saidFrom === undefined ? "the beginning" : `batch ${saidFrom}`
          ) : (
            <>
              checkpoint <span className="mono">{from.uuid}</span> after batch {from.batches}
            </>
          ),
      },
      { id: "to", title: "Last batch", number: true, value: ({ lastBatch }) => lastBatch, cell: ({ lastBatch }) => lastBatch },
      { id: "checkpoints", title: "Checkpoints saved", number: true, cell: ({ checkpoints }) => checkpoints },
    ],
    [],
  );
  return (
    <Loaded of={list} what="runs">
      {(runs) => (
        <>
          <Table label="Runs" rows={runs} columns={columns} rowKey={({ run }) => run} order="run" empty="No runs yet." />
          <p className="quiet">
            Metrics that a run reported after its last checkpoint are replaced by those of the next run.
          </p>
          {runs.length > 0 && <Proof id={id} runs={runs} live={live} ofClass={isClass(entrypointOf(config))} />}
        </>
      )}
    </Loaded>
  );
}

const entrypointOf = (config: unknown) =>
  typeof config === "object" && config !== null && "entrypoint" in config ? config.entrypoint : undefined;

/** What says that the trial is, to the last bit, the one that was never interrupted. */
function Proof({ id, runs, live, ofClass }: { id: number; runs: readonly Run[]; live: boolean; ofClass: boolean }) {
  const [loaded] = usePolled(`environment ${id}`, async (signal) => (await get("/api/v1/trials/{trialId}/environment", { path: { trialId: id } }, signal)) as TrialEnvironments, 5000, () => live);
  return (
    <Panel title="Exact resume">
      <Loaded of={loaded} what="environments">
        {(environments) => (
          <ul className="proof">
            {exactness(runs, environments, ofClass).map((check) => (
              <Line key={check.text} check={check} />
            ))}
          </ul>
        )}
      </Loaded>
      <p className="quiet">
        If all checks pass, the trial ends with the same weights and metrics, bit for bit, as without interruption: on CPUs always, on GPUs with deterministic kernels.
      </p>
    </Panel>
  );
}

function Line({ check: { holds, text } }: { check: Check }) {
  const [tone, word] = holds === undefined ? ["waiting", "unknown"] : holds ? ["good", "passes"] : ["bad", "fails"];
  return (
    <li>
      <span className={`state ${tone}`}>{word}</span> {text}
    </li>
  );
}
