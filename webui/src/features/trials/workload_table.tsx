import { useState } from "react";
import { usePolled } from "../../api/loadable";
import type { Workload } from "../../api/types";
import { formatBytes, metricText } from "../../components/format";
import { Age, Loaded, StateBadge } from "../../components/parts";
import { useParameter } from "../../components/address/route";
import { listWorkloads, type WorkloadKind } from "./api";

const pageSize = 200;

const kinds: readonly WorkloadKind[] = ["training", "validation", "checkpoint"];

const kindOf = ({ training, checkpoint }: Workload): WorkloadKind => (training ? "training" : checkpoint ? "checkpoint" : "validation");

/** What the trial did, newest first. */
export function WorkloadTable({ id, live }: { id: number; live: boolean }) {
  const [offset, setOffset] = useState(0);
  const [chosen, setChosen] = useParameter("only");
  const only = kinds.find((kind) => kind === chosen);
  const setOnly = (kind: string) => {
    setOffset(0);
    setChosen(kind);
  };
  const [loaded] = usePolled(
    `workloads ${id} ${only} ${offset}`,
    (signal) => listWorkloads(id, only, offset, pageSize, signal),
    2000,
    () => live,
    { topics: [`trial ${id}`], leastMs: 1000 },
  );
  return (
    <Loaded of={loaded} what="workloads">
      {({ workloads, pagination }) => {
        const total = pagination.total ?? 0;
        if (total === 0 && only === undefined) return <p className="quiet">No workloads yet.</p>;
        return (
          <>
            <div className="row filters">
              {["", ...kinds].map((kind) => (
                <button key={kind} type="button" aria-pressed={(only ?? "") === kind} onClick={() => setOnly(kind)}>
                  {kind || "all"}
                </button>
              ))}
            </div>
            <div className="table">
              <table aria-label="Workloads">
                <thead>
                  <tr>
                    <th scope="col" className="number">
                      Batches
                    </th>
                    <th scope="col">Kind</th>
                    <th scope="col" className="number">
                      Records
                    </th>
                    <th scope="col">Ended</th>
                    <th scope="col">Result</th>
                  </tr>
                </thead>
                <tbody>
                  {workloads.map((workload) => (
                    <Row key={keyOf(workload)} workload={workload} />
                  ))}
                </tbody>
              </table>
            </div>
            {total > pageSize && (
              <nav className="row pages" aria-label="Pages of workloads">
                <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
                  Newer
                </button>
                <span className="quiet">
                  {offset + 1}–{Math.min(total, offset + pageSize)} of {total}
                </span>
                <button type="button" disabled={offset + pageSize >= total} onClick={() => setOffset(offset + pageSize)}>
                  Older
                </button>
              </nav>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function keyOf(workload: Workload): string {
  const at = workload.training ?? workload.validation ?? workload.checkpoint;
  return `${kindOf(workload)} ${at?.totalBatches} ${workload.checkpoint?.uuid ?? ""}`;
}

function Row({ workload }: { workload: Workload }) {
  const { training, validation, checkpoint } = workload;
  const at = training ?? validation ?? checkpoint;
  const records = (training ?? validation)?.numInputs ?? 0;
  const metrics = Object.entries((training ?? validation)?.metrics.avgMetrics ?? {});
  const size = Object.values(checkpoint?.resources ?? {}).reduce((sum, bytes) => sum + Number(bytes), 0);
  return (
    <tr>
      <td className="number">{at?.totalBatches.toLocaleString("en-US")}</td>
      <td>{kindOf(workload)}</td>
      <td className="number">{records > 0 && records.toLocaleString("en-US")}</td>
      <td>
        <Age time={at?.endTime} />
      </td>
      <td>
        {checkpoint ? (
          <>
            <span className="mono">{checkpoint.uuid}</span> <StateBadge state={checkpoint.state} /> {size > 0 && formatBytes(size)}
          </>
        ) : (
          metrics.map(([name, value]) => (
            <span key={name} className="metric">
              <span className="quiet">{name}</span> {metricText(value)}
            </span>
          ))
        )}
      </td>
    </tr>
  );
}
