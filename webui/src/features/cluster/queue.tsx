import { useState } from "react";
import { get, post, type Sent } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import type { Job, ResourcePool } from "../../api/types";
import { count } from "../../components/format";
import { Choice, Loaded, PageHead, Problem } from "../../components/parts";
import { useParameter } from "../../components/address/route";
import { JobRow } from "./job_row";
import type { JobForecast } from "./outlook";
import { isOrdered, moveTo } from "./queue_moves";
import { WhyDialog } from "./why";

const pollMs = 2000;
const forecastMs = 10_000;

interface Queue {
  readonly jobs: readonly Job[];
  readonly pools: readonly ResourcePool[];
}

async function load(pool: string, signal: AbortSignal): Promise<Queue> {
  const [queue, { resourcePools }] = await Promise.all([
    get("/api/v1/job-queues-v2", { query: pool === "" ? {} : { resourcePool: pool } }, signal),
    get("/api/v1/resource-pools", {}, signal),
  ]);
  return { jobs: queue.jobs.map(({ full }) => full), pools: resourcePools };
}

async function loadForecast(pool: string, signal: AbortSignal): Promise<ReadonlyMap<string, JobForecast>> {
  const { jobs } = await get("/api/v1/job-queues/forecast", { query: pool === "" ? {} : { resourcePool: pool } }, signal);
  return new Map(jobs.map((job) => [job.jobId, job]));
}

/** What waits and runs, in the order in which the cluster serves it. */
export function QueuePage() {
  const [pool, setPool] = useParameter("pool");
  const [loaded, reload] = usePolled(`queue ${pool}`, (signal) => load(pool, signal), pollMs, undefined, { topics: ["cluster", "experiments"], leastMs: 1000 });
  const [forecast, foresee] = usePolled(`forecast ${pool}`, (signal) => loadForecast(pool, signal), forecastMs);
  const outlooks = forecast.status === "loaded" ? forecast.value : undefined;
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
        {({ jobs }) => (
          <Jobs
            jobs={jobs}
            outlooks={outlooks}
            reload={() => {
              reload();
              foresee();
            }}
          />
        )}
      </Loaded>
    </>
  );
}

const titles = ["", "#", "Job", "State", "Slots", "Waiting reason", "Forecast", "Progress", "Priority", "Weight", "Pool", "User", "Submitted"] as const;
const numbers: readonly string[] = ["#", "Slots", "Priority", "Weight"];

type Change = NonNullable<Sent<"post", "/api/v1/job-queues">["body"]["updates"]>[number];

/** The jobs as rows that can be dragged to another place, or moved there with buttons. */
function Jobs({ jobs, outlooks, reload }: { jobs: readonly Job[]; outlooks: ReadonlyMap<string, JobForecast> | undefined; reload: () => void }) {
  const [asked, setAsked] = useState<Job>();
  const [dragged, setDragged] = useState<string>();
  const [problem, setProblem] = useState("");
  if (jobs.length === 0) return <p className="quiet">No running or queued jobs. Experiments, notebooks, shells and commands are listed here from their submission to their end.</p>;
  const update = (change: Change) => {
    setProblem("");
    post("/api/v1/job-queues", { body: { updates: [change] } }).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
  };
  const move = (jobId: string, targetId: string) => {
    const change = moveTo(jobs, jobId, targetId);
    if (change) update(change);
  };
  return (
    <>
      <Problem text={problem} />
      <div className="table">
        <table aria-label="Jobs">
          <thead>
            <tr>
              {titles.map((title) => (
                <th key={title} scope="col" className={numbers.includes(title) ? "number" : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {jobs.map((job) => (
              <JobRow
                key={job.jobId}
                job={job}
                jobs={jobs}
                forecast={outlooks?.get(job.jobId)}
                ordered={isOrdered(job)}
                dragged={dragged === job.jobId}
                onDrag={setDragged}
                onDrop={() => dragged !== undefined && move(dragged, job.jobId)}
                onMove={(targetId) => move(job.jobId, targetId)}
                onChange={(change) => update({ jobId: job.jobId, ...change })}
                onWhy={() => setAsked(job)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p className="quiet">Drag a row or use its arrows to change the order within a pool. The scheduler of the pool decides what is preempted. Forecasts follow from the progress of each job.</p>
      {asked !== undefined && <WhyDialog job={asked} jobs={jobs} onClose={() => setAsked(undefined)} />}
    </>
  );
}
