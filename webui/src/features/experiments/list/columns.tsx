import type { ReactNode } from "react";
import { formatBytes, formatNumber, hasRun, isTerminal, runTime } from "../../../components/format";
import { Age, Labels, Progress, StateBadge } from "../../../components/parts";
import { Link } from "../../../components/address/route";
import { extraTitle, extraValue, isExtra, type Listed } from "./extra_columns";

export interface ExperimentColumn {
  readonly id: string;
  readonly title: string;
  readonly number?: boolean;
  readonly hint?: string;
  readonly cell: (experiment: Listed) => ReactNode;
}

const pageOf = (id: number) => ({ page: "experiment", id, tab: "overview" }) as const;

/** All that the list can show, in the order in which it shows them. */
export const allColumns: readonly ExperimentColumn[] = [
  { id: "id", title: "ID", number: true, cell: ({ id }) => <Link to={pageOf(id)}>{id}</Link> },
  {
    id: "name",
    title: "Name",
    cell: ({ id, name, archived }) => (
      <>
        <Link to={pageOf(id)}>{name || "(no name)"}</Link> {archived && <span className="label">archived</span>}
      </>
    ),
  },
  {
    id: "description",
    title: "Description",
    cell: ({ description }) => (
      <span className="ellipsis quiet" title={description}>
        {description}
      </span>
    ),
  },
  { id: "labels", title: "Labels", cell: ({ labels }) => <Labels labels={labels} /> },
  { id: "state", title: "State", cell: ({ state }) => <StateBadge state={state} /> },
  {
    id: "progress",
    title: "Progress",
    cell: ({ state, progress }) => (isTerminal(state) ? null : <Progress fraction={progress} />),
  },
  { id: "trials", title: "Trials", number: true, cell: ({ numTrials }) => numTrials },
  { id: "searcher", title: "Searcher", cell: ({ searcherType }) => searcherType },
  {
    id: "best",
    title: "Best",
    number: true,
    cell: ({ searcherMetric, bestTrialSearcherMetric }) => (
      <span title={searcherMetric}>{formatNumber(bestTrialSearcherMetric)}</span>
    ),
  },
  { id: "started", title: "Started", cell: ({ startTime }) => <Age time={startTime} /> },
  { id: "ended", title: "Ended", cell: ({ endTime }) => <Age time={endTime} /> },
  {
    id: "duration",
    title: "Duration",
    number: true,
    cell: ({ state, startTime, endTime }) => hasRun(state) && runTime(startTime, endTime, Date.now()),
  },
  {
    id: "project",
    title: "Project",
    cell: ({ projectId, projectName, workspaceName }) => (
      <Link to={{ page: "project", id: projectId, tab: "experiments" }} title="All experiments of this project">
        {workspaceName === projectName ? projectName : `${workspaceName} / ${projectName}`}
      </Link>
    ),
  },
  { id: "user", title: "User", cell: ({ username }) => username },
  { id: "pool", title: "Pool", cell: ({ resourcePool, unmanaged }) => (unmanaged ? "unmanaged" : resourcePool) },
  { id: "checkpoints", title: "Checkpoints", number: true, cell: ({ checkpointCount }) => checkpointCount },
  { id: "size", title: "Size", number: true, cell: ({ checkpointSize }) => formatBytes(Number(checkpointSize)) },
  {
    id: "parent",
    title: "Forked from",
    number: true,
    cell: ({ forkedFrom }) => (forkedFrom ? <Link to={pageOf(forkedFrom)}>{forkedFrom}</Link> : null),
  },
];

export const usualColumns = "id,name,labels,state,progress,trials,searcher,best,started,duration,user";

/** A column of a hyperparameter or a metric. */
const extraColumn = (id: string): ExperimentColumn => ({
  id,
  title: extraTitle(id),
  number: true,
  hint: id.startsWith("hp.") ? "Hyperparameter" : `${id}, of the best trial`,
  cell: (experiment) => {
    const value = extraValue(experiment, id);
    if (value === undefined || value === null) return null;
    return typeof value === "number" ? formatNumber(value) : typeof value === "object" ? JSON.stringify(value) : String(value);
  },
});

/** The columns that a comma separated list names; the name is always shown, it is what one clicks. */
export function chosenColumns(text: string): readonly ExperimentColumn[] {
  const names = new Set(text.split(","));
  names.add("name");
  return [...allColumns.filter(({ id }) => names.has(id)), ...[...names].filter(isExtra).map(extraColumn)];
}
