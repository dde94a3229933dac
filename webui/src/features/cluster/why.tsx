import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Job } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Loaded } from "../../components/parts";
import { Link } from "../../components/address/route";

/** Why a job waits, trial by trial, and who is before it. */
export function WhyDialog({ job, jobs, onClose }: { job: Job; jobs: readonly Job[]; onClose: () => void }) {
  const [why] = usePolled(`why ${job.jobId}`, (signal) => get("/api/v1/job-queues/{jobId}/why", { path: { jobId: job.jobId } }, signal), 3000);
  const named = (id: string) => jobs.find(({ jobId }) => jobId === id);
  return (
    <Dialog title={`Why is ${job.entityId} ${job.name} waiting?`} action="OK" wide onAction={() => undefined} onClose={onClose}>
      <Loaded of={why} what="the reason">
        {({ explanation, scheduler, trials }) => (
          <>
            <p>{explanation.charAt(0).toUpperCase() + explanation.slice(1)}.</p>
            <p className="quiet">
              Pool {job.resourcePool}, scheduler {scheduler.replaceAll("_", " ")}.
            </p>
            {trials.length > 0 && (
              <div className="table">
                <table aria-label="Trials of the job">
                  <thead>
                    <tr>
                      <th scope="col" className="number">
                        Trial
                      </th>
                      <th scope="col" className="number">
                        Slots
                      </th>
                      <th scope="col">State</th>
                      <th scope="col">Agents, or waiting reason</th>
                    </tr>
                  </thead>
                  <tbody>
                    {trials.map(({ trialId, slots, state, agents, reason, canNeverRun, behindJobId }) => (
                      <tr key={trialId}>
                        <td className="number">
                          <Link to={{ page: "trial", id: trialId, tab: "overview" }}>{trialId}</Link>
                        </td>
                        <td className="number">{slots}</td>
                        <td>{state.toLowerCase()}</td>
                        <td className={canNeverRun ? "problem" : undefined}>
                          {agents.length > 0 ? agents.join(", ") : reason}
                          {behindJobId !== "" && ` (behind ${named(behindJobId)?.entityId ?? "another job"} ${named(behindJobId)?.name ?? ""})`}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
