import type { ReactNode } from "react";
import type { components } from "../../../api/generated/schema";
import { formatBytes, formatDuration, formatNumber, hasRun, isTerminal, runTime } from "../../../components/format";
import { Age, Labels, Progress, StateBadge } from "../../../components/parts";
import { Link } from "../../../components/address/route";
import { extraTitle, extraValue, isExtra, type Listed } from "./extra_columns";
import type { Layout } from "./layout";

export interface ExperimentColumn {
  readonly id: string;
  readonly title: string;
  readonly number?: boolean;
  readonly hint?: string;
  /** In pixels, where nobody says otherwise; the name takes what is left. */
  readonly width: number;
  /** What a group shows of its numbers; without it, nothing. */
  readonly sum?: (numbers: ColumnAggregate) => ReactNode;
  /** The list can be grouped by it. */
  readonly groups?: boolean;
  readonly cell: (experiment: Listed) => ReactNode;
}

type ColumnAggregate = components["schemas"]["ColumnAggregate"];

const short = (number: number) => formatNumber(Number(number.toPrecision(3)));

/** The mean, and how far the numbers spread. */
const spread = ({ mean, min, max, count: n }: ColumnAggregate) => (
  <span title={`Mean of ${n}: ${mean}\nLowest: ${min}\nHighest: ${max}`}>
    {short(mean)} {min !== max && <span className="quiet">({short(min)} to {short(max)})</span>}
  </span>
);
const total = ({ sum }: ColumnAggregate) => <span title="In all">{formatNumber(sum)}</span>;

const pageOf = (id: number) => ({ page: "experiment", id, tab: "overview" }) as const;

/** All that the list can show, in the order in which it shows them. */
export const allColumns: readonly ExperimentColumn[] = [
  { id: "id", title: "ID", width: 56, number: true, cell: ({ id }) => <Link to={pageOf(id)}>{id}</Link> },
  {
    id: "name",
    title: "Name",
    width: 150,
    cell: ({ id, name, archived }) => (
      <>
        <Link to={pageOf(id)}>{name || "(no name)"}</Link> {archived && <span className="label">archived</span>}
      </>
    ),
  },
  {
    id: "description",
    title: "Description",
    width: 240,
    cell: ({ description }) => (
      <span className="ellipsis quiet" title={description}>
        {description}
      </span>
    ),
  },
  { id: "labels", title: "Labels", groups: true, width: 100, cell: ({ labels }) => <Labels labels={labels} /> },
  { id: "state", title: "State", groups: true, width: 110, cell: ({ state }) => <StateBadge state={state} /> },
  {
    id: "progress",
    title: "Progress",
    width: 125,
    sum: ({ mean }) => <Progress fraction={mean} />,
    cell: ({ state, progress }) => (isTerminal(state) ? null : <Progress fraction={progress} />),
  },
  { id: "trials", title: "Trials", width: 66, number: true, sum: total, cell: ({ numTrials }) => numTrials },
  { id: "searcher", title: "Searcher", groups: true, width: 110, cell: ({ searcherType }) => searcherType },
  {
    id: "best",
    title: "Best",
    width: 90,
    number: true,
    sum: spread,
    cell: ({ searcherMetric, bestTrialSearcherMetric }) => (
      <span title={searcherMetric}>{formatNumber(bestTrialSearcherMetric)}</span>
    ),
  },
  { id: "started", title: "Started", width: 90, cell: ({ startTime }) => <Age time={startTime} /> },
  { id: "ended", title: "Ended", width: 90, cell: ({ endTime }) => <Age time={endTime} /> },
  {
    id: "duration",
    title: "Duration",
    width: 92,
    number: true,
    sum: ({ sum }) => <span title="In all">{formatDuration(sum * 1000)}</span>,
    cell: ({ state, startTime, endTime }) => hasRun(state) && runTime(startTime, endTime, Date.now()),
  },
  {
    id: "project",
    title: "Project",
    width: 170,
    cell: ({ projectId, projectName, workspaceName }) => (
      <Link to={{ page: "project", id: projectId, tab: "experiments" }} title="All experiments of this project">
        {workspaceName === projectName ? projectName : `${workspaceName} / ${projectName}`}
      </Link>
    ),
  },
  { id: "user", title: "User", groups: true, width: 100, cell: ({ username }) => username },
  { id: "pool", title: "Pool", groups: true, width: 100, cell: ({ resourcePool, unmanaged }) => (unmanaged ? "unmanaged" : resourcePool) },
  { id: "checkpoints", title: "Checkpoints", width: 110, number: true, sum: total, cell: ({ checkpointCount }) => checkpointCount },
  { id: "size", title: "Size", width: 90, number: true, sum: ({ sum }) => formatBytes(sum), cell: ({ checkpointSize }) => formatBytes(Number(checkpointSize)) },
  {
    id: "parent",
    title: "Forked from",
    width: 104,
    number: true,
    cell: ({ forkedFrom }) => (forkedFrom ? <Link to={pageOf(forkedFrom)}>{forkedFrom}</Link> : null),
  },
];

export const usualColumns = "id,name|labels,state,progress,trials,searcher,best,started,duration,user";

/** A column of a hyperparameter or a metric. */
const extraColumn = (id: string): ExperimentColumn => ({
  id,
  title: extraTitle(id),
  number: true,
  width: 130,
  sum: spread,
  groups: id.startsWith("hp."),
  hint: id.startsWith("hp.") ? "Hyperparameter" : `${id}, of the best trial`,
  cell: (experiment) => {
    const value = extraValue(experiment, id);
    if (value === undefined || value === null) return null;
    return typeof value === "number" ? formatNumber(value) : typeof value === "object" ? JSON.stringify(value) : String(value);
  },
});

const known: ReadonlyMap<string, ExperimentColumn> = new Map(allColumns.map((column) => [column.id, column]));

/** What a list can be grouped by; hyperparameters come in addition. */
export const groupColumns = allColumns.filter(({ groups }) => groups);
export const groupTitle = (id: string): string => known.get(id)?.title ?? extraTitle(id);

export interface PlacedColumn extends ExperimentColumn {
  readonly pinned: boolean;
  /** Somebody has said how wide it is. */
  readonly fixed: boolean;
}

/** How a cell of a column stands in its row. */
export interface Cell {
  readonly className: string;
  readonly style: { readonly left?: number };
}

/** The columns of a layout; what there is no longer is left out. */
export function placedColumns(layout: Layout): readonly PlacedColumn[] {
  return layout.flatMap(({ id, width, pinned }) => {
    const column = known.get(id) ?? (isExtra(id) ? extraColumn(id) : undefined);
    return column === undefined ? [] : [{ ...column, pinned, width: width ?? column.width, fixed: width !== undefined }];
  });
}
