import { useMemo, useState } from "react";
import type { Trial } from "../../api/types";
import { Dot } from "../../components/charts/dot";
import { flatten, formatBytes, formatNumber, hasRun, runTime, toNumber } from "../../components/format";
import { StateBadge } from "../../components/parts";
import { Link } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";

interface TrialTableProps {
  readonly trials: readonly Trial[];
  readonly metric: string;
  /** The best trial, which is marked. */
  readonly best?: number | undefined;
  /** Of the trials whose curves are drawn beside the table. */
  readonly colours?: ReadonlyMap<number, string> | undefined;
  /** The order at first; by number if it is not given. */
  readonly order?: string;
}

const shownMax = 500;

/** A number or a text by which a hyperparameter's column is sorted. */
function sortValue(text: string | undefined): number | string | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) ? number : text;
}

/** The trials of an experiment, a row each; hyperparameters that differ have columns of their own. */
export function TrialTable({ trials, metric, best, colours, order = "id" }: TrialTableProps) {
  const [all, setAll] = useState(false);
  const columns = useMemo(() => columnsFor(trials, metric, best, colours), [trials, metric, best, colours]);
  const shown = all ? trials : trials.slice(0, shownMax);
  return (
    <>
      <Table
        label="Trials"
        rows={shown}
        columns={columns}
        rowKey={({ id }) => id}
        order={order}
        parameter="trials-by"
        empty="No trials yet."
      />
      {trials.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {trials.length} trials
        </button>
      )}
    </>
  );
}

function columnsFor(trials: readonly Trial[], metric: string, best: number | undefined, colours?: ReadonlyMap<number, string>): Column<Trial>[] {
  const texts = new Map(trials.map((trial) => [trial.id, new Map(flatten(trial.hparams))]));
  const names = [...new Set([...texts.values()].flatMap((map) => [...map.keys()]))].sort();
  const differing = names.filter((name) => new Set([...texts.values()].map((map) => map.get(name))).size > 1);
  return [
    {
      id: "id",
      title: "ID",
      number: true,
      value: ({ id }) => id,
      cell: ({ id }) => (
        <>
          {colours && <Dot colour={colours.get(id)} />} <Link to={{ page: "trial", id, tab: "overview" }}>{id}</Link>
        </>
      ),
    },
    {
      id: "state",
      title: "State",
      value: ({ state }) => state,
      cell: ({ id, state }) => (
        <>
          <StateBadge state={state} />
          {id === best && <span className="label best">best</span>}
        </>
      ),
    },
    {
      id: "batches",
      title: "Batches",
      number: true,
      value: ({ totalBatchesProcessed }) => totalBatchesProcessed,
      cell: ({ totalBatchesProcessed }) => totalBatchesProcessed,
    },
    {
      id: "metric",
      title: `Best ${metric}`,
      number: true,
      value: ({ searcherMetricValue }) => toNumber(searcherMetricValue),
      cell: ({ searcherMetricValue }) => formatNumber(searcherMetricValue),
    },
    ...differing.map((name): Column<Trial> => {
      const isNumber = [...texts.values()].every((map) => typeof sortValue(map.get(name)) !== "string");
      return {
        id: `h.${name}`,
        title: name,
        number: isNumber,
        hint: "Hyperparameter",
        value: ({ id }) => sortValue(texts.get(id)?.get(name)),
        cell: ({ id }) => {
          const text = texts.get(id)?.get(name) ?? "";
          if (isNumber && text !== "") return formatNumber(Number(text));
          return (
            <span className="ellipsis" title={text}>
              {text}
            </span>
          );
        },
      };
    }),
    {
      id: "restarts",
      title: "Restarts",
      number: true,
      value: ({ restarts }) => restarts,
      cell: ({ restarts }) => restarts,
    },
    {
      id: "checkpoints",
      title: "Checkpoints",
      number: true,
      value: ({ checkpointCount }) => checkpointCount ?? 0,
      cell: ({ checkpointCount, totalCheckpointSize }) => (
        <span title={formatBytes(Number(totalCheckpointSize ?? 0))}>{checkpointCount ?? 0}</span>
      ),
    },
    {
      id: "duration",
      title: "Duration",
      number: true,
      value: ({ startTime, endTime }) => (endTime ? Date.parse(endTime) : Date.now()) - Date.parse(startTime),
      cell: ({ state, totalBatchesProcessed, startTime, endTime }) =>
        (hasRun(state) || totalBatchesProcessed > 0) && runTime(startTime, endTime, Date.now()),
    },
  ];
}
