import { useMemo } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Job, Pagination, ResourcePool, Task } from "../../api/types";
import { count } from "../../components/format";
import { Age, Choice, Loaded, PageHead, Progress, StateBadge } from "../../components/parts";
import { Link, useParameter } from "../../components/route";
import { type Column, Table } from "../../components/table";
import { taskSubject } from "./usage";

const pollMs = 2000;

interface Queue {
  readonly jobs: readonly Job[];
  readonly pools: readonly ResourcePool[];
  /** Why an experiment's trials wait, by the experiment's number. */
  readonly reasons: ReadonlyMap<string, string>;
}

async function load(pool: string, signal: AbortSignal): Promise<Queue> {
  const [queue, { resourcePools }, { allocationIdToSummary }] = await Promise.all([
    get<{ jobs: readonly { readonly full: Job }[]; pagination: Pagination }>("job-queues-v2", pool === "" ? {} : { resourcePool: pool }, signal),
    get<{ resourcePools: readonly ResourcePool[] }>("resource-pools", {}, signal),
    get<{ allocationIdToSummary: Readonly<Record<string, Task>> }>("tasks", {}, signal),
  ]);
  const reasons = new Map<string, string>();
  for (const task of Object.values(allocationIdToSummary)) {
    const subject = taskSubject(task);
    if (subject && task.waitingReason !== "" && !reasons.has(String(subject.experiment)))
      reasons.set(String(subject.experiment), task.waitingReason);
  }
  return { jobs: queue.jobs.map(({ full }) => full), pools: resourcePools, reasons };
}

/** What waits and runs, in the order in which the cluster serves it. */
export function QueuePage() {
  const [pool, setPool] = useParameter("pool");
  const [loaded] = usePolled(`queue ${pool}`, (signal) => load(pool, signal), pollMs);
  const names = loaded.status === "loaded" ? loaded.value.pools.map(({ name }) => name) : [];
  return (
    <>
      <PageHead
        title="Job queue"
        actions={
          <Choice label="Pool" value={pool} options={[["", "all"], ...names.map((name) => [name, name] as const)]} onChange={setPool} />
        }
      >
        {loaded.status === "loaded" && <span className="quiet">{count(loaded.value.jobs.length, "job")}</span>}
      </PageHead>
      <Loaded of={loaded} what="the queue">
        {({ jobs, reasons }) => <Jobs jobs={jobs} reasons={reasons} />}
      </Loaded>
    </>
  );
}

function Jobs({ jobs, reasons }: { jobs: readonly Job[]; reasons: ReadonlyMap<string, string> }) {
  const columns = useMemo(
    (): Column<Job>[] => [
      { id: "place", title: "#", number: true, value: ({ summary }) => summary.jobsAhead, cell: ({ summary }) => summary.jobsAhead + 1 },
      {
        id: "name",
        title: "Job",
        value: ({ name }) => name,
        cell: ({ name, entityId }) => (
          <Link to={{ page: "experiment", id: Number(entityId), tab: "overview" }}>
            {entityId} {name}
          </Link>
        ),
      },
      { id: "state", title: "State", value: ({ summary }) => summary.state, cell: ({ summary }) => <StateBadge state={summary.state} /> },
      {
        id: "slots",
        title: "Slots",
        number: true,
        hint: "Has, of those that it wants",
        value: ({ allocatedSlots }) => allocatedSlots,
        cell: ({ allocatedSlots, requestedSlots }) => `${allocatedSlots} of ${requestedSlots}`,
      },
      {
        id: "why",
        title: "Waits because",
        cell: ({ entityId, allocatedSlots, requestedSlots }) =>
          allocatedSlots < requestedSlots ? <span className="quiet">{reasons.get(entityId) ?? ""}</span> : null,
      },
      { id: "progress", title: "Progress", value: ({ progress }) => progress, cell: ({ progress }) => <Progress fraction={progress} /> },
      { id: "priority", title: "Priority", number: true, value: ({ priority }) => priority, cell: ({ priority }) => priority },
      { id: "pool", title: "Pool", value: ({ resourcePool }) => resourcePool, cell: ({ resourcePool }) => resourcePool },
      { id: "user", title: "User", value: ({ username }) => username, cell: ({ username }) => username },
      {
        id: "submitted",
        title: "Submitted",
        value: ({ submissionTime }) => Date.parse(submissionTime),
        cell: ({ submissionTime }) => <Age time={submissionTime} />,
      },
    ],
    [reasons],
  );
  return <Table label="Jobs" rows={jobs} columns={columns} rowKey={({ jobId }) => jobId} order="place" empty="Nothing runs or waits to run." />;
}
