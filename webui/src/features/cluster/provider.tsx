import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Allotment } from "../../api/types";
import { formatDuration } from "../../components/format";
import { Age, Loaded, Pairs, Panel } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";
import { ProviderChart } from "./provider_chart";

const pollMs = 3000;

const columns: readonly Column<Allotment>[] = [
  { id: "id", title: "Allotment", number: true, value: ({ id }) => Number(id), cell: ({ id }) => id },
  { id: "nodes", title: "Nodes", number: true, value: ({ nodes }) => nodes, cell: ({ nodes, nodesJoined }) => `${nodesJoined} of ${nodes}` },
  { id: "state", title: "State", value: ({ state }) => state, cell: ({ state }) => state.toLowerCase() },
  { id: "job", title: "Job", value: ({ engineId }) => engineId, cell: ({ engineId }) => engineId },
  { id: "reason", title: "Reason", cell: ({ reason }) => <span className="quiet">{reason}</span> },
  { id: "requested", title: "Requested", value: ({ requested }) => Date.parse(requested), cell: ({ requested }) => <Age time={requested} /> },
  { id: "left", title: "Time left", cell: ({ ends }) => <TimeLeft ends={ends} /> },
  { id: "agents", title: "Agents", cell: ({ agents }) => agents.join(", ") },
  { id: "task", title: "For", cell: ({ taskId }) => taskId },
  { id: "log", title: "Log", cell: ({ log }) => <code>{log}</code> },
];

function TimeLeft({ ends }: { ends: string | null | undefined }) {
  if (!ends) return null;
  return (
    <time dateTime={ends} title={new Date(ends).toLocaleString()}>
      {formatDuration(Math.max(0, Date.parse(ends) - Date.now()))}
    </time>
  );
}

/** The machines that the provider of a pool was asked for and gave. */
export function Provider({ pool }: { pool: string }) {
  const [loaded] = usePolled(
    `provider ${pool}`,
    (signal) => get("/api/v1/resource-pools/{resourcePoolName}/provider", { path: { resourcePoolName: pool } }, signal),
    pollMs,
  );
  return (
    <Panel title={`Machines of pool ${pool}`}>
      <Loaded of={loaded} what="its machines">
        {(of) => (
          <>
            <Pairs
              rows={[
                ["Provider", of.provider],
                ["Nodes", `${of.nodesRunning} running, ${of.nodesRequested} requested, ${of.nodesLeaving} leaving (${of.minNodes} to ${of.maxNodes}, ${of.slotsPerNode} slots each)`],
                ...(of.trouble === "" ? [] : [["Trouble", <span key="trouble" className="problem">{of.trouble}</span>] as const]),
                ...(of.whyNotMore === "" ? [] : [["Why not more", of.whyNotMore] as const]),
                ...(of.failures === 0 ? [] : [["Last failure", `${of.lastFailure} (${of.failures} in a row)`] as const]),
              ]}
            />
            {of.history.length > 1 && <ProviderChart samples={of.history} slotsPerNode={of.slotsPerNode} />}
            <Table label={`Allotments of pool ${pool}`} rows={of.allotments} columns={columns} rowKey={({ id }) => id} order="id" parameter={`machines-of-${pool}-by`} empty="No machines now. They are requested when a task waits." />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
