import { useMemo } from "react";
import { usePolled } from "../../api/loadable";
import { Age, Loaded } from "../../components/parts";
import { type Column, Table } from "../../components/table";
import { listRuns } from "./api";
import type { Run } from "./runs";

/** Each start of the trial's process: what it went on from, and how far it came. */
export function RunTable({ id, live }: { id: number; live: boolean }) {
  const [list] = usePolled(`runs ${id}`, (signal) => listRuns(id, signal), 5000, () => live);
  const columns = useMemo(
    (): Column<Run>[] => [
      { id: "run", title: "Run", number: true, value: ({ run }) => run, cell: ({ run }) => run },
      { id: "started", title: "Started", cell: ({ started }) => <Age time={started} /> },
      { id: "agent", title: "Agent", value: ({ agent }) => agent, cell: ({ agent }) => agent },
      {
        id: "from",
        title: "Began from",
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
      { id: "reports", title: "Reports kept", number: true, cell: ({ reports }) => reports },
    ],
    [],
  );
  return (
    <Loaded of={list} what="runs">
      {(runs) => (
        <>
          <Table label="Runs" rows={runs} columns={columns} rowKey={({ run }) => run} order="run" empty="It has not started yet." />
          <p className="quiet">
            A run that goes on trains the same batches with the same numbers as one that was never interrupted: a report that is
            sent again for a batch must equal the first one.
          </p>
        </>
      )}
    </Loaded>
  );
}
