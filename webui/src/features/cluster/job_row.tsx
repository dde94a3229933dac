import type { DragEvent } from "react";
import { ApiError } from "../../api/client";
import type { Job } from "../../api/types";
import { Editable } from "../../components/forms/edit";
import { useRights } from "../../components/people/me";
import { Age, Progress, StateBadge } from "../../components/parts";
import { taskKinds, type View } from "../../components/address/paths";
import { Link } from "../../components/address/route";
import { type JobForecast, outlookOf } from "./outlook";
import { isExperiment, mayChange, neighbour } from "./queue_moves";

interface JobRowProps {
  readonly job: Job;
  readonly jobs: readonly Job[];
  readonly forecast: JobForecast | undefined;
  /** The order of its queue can be changed. */
  readonly ordered: boolean;
  readonly dragged: boolean;
  readonly onDrag: (jobId: string | undefined) => void;
  /** The job that is dragged was let go over this one. */
  readonly onDrop: () => void;
  readonly onMove: (targetId: string) => void;
  readonly onChange: (change: { priority: number } | { weight: number }) => void;
  readonly onWhy: () => void;
}

/** A number that the master takes, or a sentence why not. */
async function numberOf(text: string): Promise<number> {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new ApiError(0, `"${text}" is not a number`);
  return value;
}

function pageOf(job: Job): View {
  if (isExperiment(job)) return { page: "experiment", id: Number(job.entityId), tab: "overview" };
  const kind = taskKinds.find((one) => job.type === `TYPE_${one.toUpperCase()}`) ?? "command";
  return { page: "task", kind, id: job.entityId };
}

export function JobRow({ job, jobs, forecast, ordered: hasOrder, dragged, onDrag, onDrop, onMove, onChange, onWhy }: JobRowProps) {
  const { jobId, entityId, name, summary, allocatedSlots, requestedSlots, priority, weight } = job;
  const outlook = outlookOf(forecast, allocatedSlots > 0);
  const changes = mayChange(job, useRights().may);
  const ordered = hasOrder && changes;
  const allow = (event: DragEvent) => event.preventDefault();
  return (
    <tr
      className={dragged ? "dragged" : undefined}
      draggable={ordered}
      onDragStart={() => onDrag(jobId)}
      onDragEnd={() => onDrag(undefined)}
      onDragOver={allow}
      onDrop={onDrop}
    >
      <td className="tight nowrap">
        {ordered && <MoveButtons job={job} jobs={jobs} onMove={onMove} />}
      </td>
      <td className="number">{summary.jobsAhead >= 0 ? summary.jobsAhead + 1 : "–"}</td>
      <td>
        <Link to={pageOf(job)}>{isExperiment(job) ? `${entityId} ${name}` : name}</Link>
      </td>
      <td>
        <StateBadge state={summary.state} />
      </td>
      <td className="number" title="Allocated and requested slots">
        {allocatedSlots} of {requestedSlots}
      </td>
      <td>
        <span className="quiet">{job.waitingReason}</span>{" "}
        <button type="button" className="text" aria-label={`Why is ${name} waiting?`} onClick={onWhy}>
          Why?
        </button>
      </td>
      <td className="nowrap" title={outlook?.because}>
        {outlook?.text}
      </td>
      <td>
        <Progress fraction={job.progress} />
      </td>
      <td className="number">
        {priority === null || priority === undefined ? (
          "–"
        ) : (
          <Editable what={`priority of ${name}`} value={String(priority)} may={changes} onSave={async (text) => onChange({ priority: await numberOf(text) })}>
            {priority}
          </Editable>
        )}
      </td>
      <td className="number">
        <Editable what={`weight of ${name}`} value={String(weight)} may={changes && isExperiment(job)} onSave={async (text) => onChange({ weight: await numberOf(text) })}>
          {weight}
        </Editable>
      </td>
      <td>{job.resourcePool}</td>
      <td>{job.username}</td>
      <td className="nowrap">
        <Age time={job.submissionTime} />
      </td>
    </tr>
  );
}

function MoveButtons({ job, jobs, onMove }: { job: Job; jobs: readonly Job[]; onMove: (targetId: string) => void }) {
  return ([-1, 1] as const).map((way) => {
    const target = neighbour(jobs, job.jobId, way);
    return (
      <button
        key={way}
        type="button"
        className="text move"
        disabled={target === undefined}
        aria-label={`Move ${job.name} ${way < 0 ? "ahead" : "behind"}`}
        onClick={() => target !== undefined && onMove(target)}
      >
        {way < 0 ? "↑" : "↓"}
      </button>
    );
  });
}
