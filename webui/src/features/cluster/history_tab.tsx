import { useMemo } from "react";
import { getText } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { download } from "../../components/forms/download";
import { useRights } from "../../components/people/me";
import { Choice, Loaded } from "../../components/parts";
import { useQuery } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import {
  allocationsAddress,
  formatHours,
  type Group,
  type Grouping,
  groupings,
  groupsOf,
  historyCsv,
  periodsOf,
  type Range,
  rangeOf,
  ranges,
  sumsAddress,
  usualRange,
} from "./history";
import { colourOf, HistoryChart } from "./history_chart";
import { palette } from "../../components/charts/palette";

const pollMs = 60_000;

/** Who used how many slots for how long. The address holds the question. */
export function HistoryTab() {
  const { may } = useRights();
  if (may("VIEW_CLUSTER_USAGE")) return <Usage />;
  return <p className="quiet">Usage is visible to users with the role ClusterAdmin. Ask an administrator for access.</p>;
}

function Usage() {
  const [query, change] = useQuery();
  const range = rangeOf(query, Date.now());
  const grouping: Grouping = groupings.find(([name]) => name === query.by)?.[0] ?? "username";
  const address = sumsAddress(range);
  const [csv] = usePolled(address, (signal) => getText(address, signal), pollMs);
  const own = query.from !== undefined && query.to !== undefined;
  const setDay = (day: { from?: string; to?: string }) => {
    const next = { from: range.from, to: range.to, ...day };
    if (next.from !== "" && next.to !== "") change({ range: "", ...next });
  };
  return (
    <>
      <search className="row filters">
        <Choice label="Group by" value={grouping} options={groupings} onChange={(by) => change({ by: by === "username" ? "" : by })} />
        <Choice
          label="Range"
          value={own ? "own" : (ranges.find(([name]) => name === query.range)?.[0] ?? usualRange)}
          options={own ? [["own", "custom"], ...ranges] : ranges}
          onChange={(name) => change({ range: name === usualRange ? "" : name, from: "", to: "", period: "" })}
        />
        <label className="choice">
          <span>From</span>
          <input type="date" value={range.from} max={range.to} onChange={(event) => setDay({ from: event.target.value })} />
        </label>
        <label className="choice">
          <span>to</span>
          <input type="date" value={range.to} min={range.from} onChange={(event) => setDay({ to: event.target.value })} />
        </label>
        <Choice
          label="Interval"
          value={range.period}
          options={[["day", "days"], ["month", "months"]]}
          onChange={(period) => change(query.range === "year" ? { range: "", from: range.from, to: range.to, period } : { period: period === "day" ? "" : period })}
        />
      </search>
      <Loaded of={csv} what="usage">
        {(text) => <History csv={text} range={range} grouping={grouping} />}
      </Loaded>
    </>
  );
}

function History({ csv, range, grouping }: { csv: string; range: Range; grouping: Grouping }) {
  const periods = useMemo(() => periodsOf(range), [range.from, range.to, range.period]);
  const groups = useMemo(() => groupsOf(csv, grouping, periods), [csv, grouping, periods]);
  const all = groups.reduce((sum, { total }) => sum + total, 0);
  const ranks = new Map(groups.map(({ name }, rank) => [name, rank]));
  const named = groupings.find(([name]) => name === grouping)?.[1] ?? "";
  const columns: readonly Column<Group>[] = [
    {
      id: "name",
      title: grouping === "total" ? "Total" : named.charAt(0).toUpperCase() + named.slice(1),
      value: ({ name }) => name,
      cell: ({ name }) => {
        const rank = ranks.get(name) ?? 0;
        const coloured = groups.length <= palette.length || rank < palette.length - 1;
        return (
          <>
            <i className="swatch" style={{ background: colourOf(coloured ? rank : palette.length) }} /> {name || "(none)"}
          </>
        );
      },
    },
    { id: "hours", title: "Slot-hours", number: true, value: ({ total }) => total, cell: ({ total }) => formatHours(total) },
    {
      id: "share",
      title: "Share",
      number: true,
      value: ({ total }) => total,
      cell: ({ total }) => (
        <>
          <progress max={1} value={all > 0 ? total / all : 0} aria-label="Share" /> {all > 0 ? Math.round((100 * total) / all) : 0}&nbsp;%
        </>
      ),
    },
    {
      id: "most",
      title: range.period === "month" ? "Peak in" : "Peak on",
      cell: ({ hours }) => {
        const most = Math.max(...hours);
        return `${periods[hours.indexOf(most)] ?? ""}: ${formatHours(most)}`;
      },
    },
  ];
  if (groups.length === 0)
    return (
      <p className="quiet">
        {grouping === "experiment_label"
          ? "No labeled experiment used slots in this period. Add labels to experiments, or group by user."
          : "No slots were used in this period. Select a longer one."}
      </p>
    );
  return (
    <>
      <HistoryChart groups={groups} periods={periods} />
      <div className="row filters history-tools">
        <span className="quiet">
          {formatHours(all)} slot-hours, days in UTC{grouping === "experiment_label" && "; experiments with several labels count once for each label"}
        </span>
        <div className="actions">
          <button type="button" title="The usage shown, one row per day or month" onClick={() => download(`usage-${range.from}-${range.to}.csv`, "text/csv", historyCsv(groups, periods))}>
            CSV
          </button>
          <a href={allocationsAddress(range)} download={`allocations-${range.from}-${range.to}.csv`} title="One row per allocation">
            CSV of every allocation
          </a>
        </div>
      </div>
      <Table label="Usage" rows={groups} columns={columns} rowKey={({ name }) => name} order="-hours" empty="" />
      <p className="quiet">
        On the command line: <code>det resources aggregated {range.from} {range.to}{range.period === "month" ? " --monthly" : ""}</code>
      </p>
    </>
  );
}
