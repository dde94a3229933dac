import { useMemo } from "react";
import type { UsageEntry } from "../../api/types";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { download } from "../../components/forms/download";
import { useRights } from "../../components/people/me";
import { Choice, Loaded } from "../../components/parts";
import { useQuery } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import {
  allocationsAddress,
  formatCost,
  formatHours,
  type Group,
  type Grouping,
  groupings,
  groupsOf,
  historyCsv,
  layersOf,
  type Measure,
  periodsOf,
  type Range,
  rangeOf,
  ranges,
  sumsQuery,
  usualRange,
} from "./history";
import { colourOf, HistoryChart } from "./history_chart";
import { palette } from "../../components/charts/palette";

const pollMs = 60_000;
const measures = [["hours", "slot-hours"], ["cost", "cost"]] as const;

/** Who used how many slots for how long, and what it cost. The address holds the question. */
export function HistoryTab() {
  const { may } = useRights();
  if (may("VIEW_CLUSTER_USAGE")) return <Usage />;
  return <p className="quiet">Usage is visible to users with the role ClusterAdmin. Ask an administrator for access.</p>;
}

function Usage() {
  const [query, change] = useQuery();
  const range = rangeOf(query, Date.now());
  const grouping: Grouping = groupings.find(([name]) => name === query.by)?.[0] ?? "username";
  const asked = sumsQuery(range);
  const [usage] = usePolled(JSON.stringify(asked), (signal) => get("/api/v1/resources/allocation/aggregated", { query: asked }, signal), pollMs);
  const priced = usage.status === "loaded" && usage.value.resourceEntries.some(({ cost }) => cost > 0);
  const measure: Measure = priced && query.measure === "cost" ? "cost" : "hours";
  const own = query.from !== undefined && query.to !== undefined;
  const setDay = (day: { from?: string; to?: string }) => {
    const next = { from: range.from, to: range.to, ...day };
    if (next.from !== "" && next.to !== "") change({ range: "", ...next });
  };
  return (
    <>
      <search className="row filters">
        <Choice label="Group by" value={grouping} options={groupings} onChange={(by) => change({ by: by === "username" ? "" : by })} />
        {priced && <Choice label="Show" value={measure} options={measures} onChange={(name) => change({ measure: name === "hours" ? "" : name })} />}
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
      <Loaded of={usage} what="usage">
        {({ resourceEntries, currency }) => (
          <History
            entries={resourceEntries}
            currency={currency}
            range={range}
            grouping={grouping}
            priced={priced}
            measure={measure}
          />
        )}
      </Loaded>
    </>
  );
}

interface HistoryProps {
  readonly entries: readonly UsageEntry[];
  readonly currency: string;
  readonly range: Range;
  readonly grouping: Grouping;
  readonly priced: boolean;
  readonly measure: Measure;
}

function History({ entries, currency, range, grouping, priced, measure }: HistoryProps) {
  const periods = useMemo(() => periodsOf(range), [range.from, range.to, range.period]);
  const groups = useMemo(() => groupsOf(entries, grouping, periods, measure), [entries, grouping, periods, measure]);
  const layers = useMemo(() => layersOf(groups, measure), [groups, measure]);
  const costText = (cost: number) => formatCost(cost, currency);
  const hoursText = (hours: number) => `${formatHours(hours)} slot-hours`;
  const [format, inWords] = measure === "cost" ? [costText, costText] : [formatHours, hoursText];
  const sum = (of: Measure) => groups.reduce((total, group) => total + group[of].total, 0);
  const all = sum(measure);
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
    { id: "hours", title: "Slot-hours", number: true, value: ({ hours }) => hours.total, cell: ({ hours }) => formatHours(hours.total) },
    ...(priced ? [{ id: "cost", title: "Cost", number: true, value: ({ cost }: Group) => cost.total, cell: ({ cost }: Group) => costText(cost.total) }] : []),
    {
      id: "share",
      title: "Share",
      number: true,
      value: (group) => group[measure].total,
      cell: (group) => {
        const share = all > 0 ? group[measure].total / all : 0;
        return (
          <>
            <progress max={1} value={share} aria-label="Share" /> {Math.round(100 * share)}&nbsp;%
          </>
        );
      },
    },
    {
      id: "most",
      title: range.period === "month" ? "Peak in" : "Peak on",
      cell: (group) => {
        const { values } = group[measure];
        const most = Math.max(...values);
        return `${periods[values.indexOf(most)] ?? ""}: ${format(most)}`;
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
      <HistoryChart layers={layers} periods={periods} title={measure === "cost" ? `Cost (${currency})` : "Slot-hours"} format={format} inWords={inWords} />
      <div className="row filters history-tools">
        <span className="quiet">
          {hoursText(sum("hours"))}
          {priced && `, ${costText(sum("cost"))}`}, days in UTC{grouping === "experiment_label" && "; experiments with several labels count once for each label"}
        </span>
        <div className="actions">
          <button type="button" title="The usage shown, one row per day or month" onClick={() => download(`usage-${range.from}-${range.to}.csv`, "text/csv", historyCsv(layers, periods))}>
            CSV
          </button>
          <a href={allocationsAddress(range)} download={`allocations-${range.from}-${range.to}.csv`} title="One row per allocation">
            CSV of every allocation
          </a>
        </div>
      </div>
      <Table label="Usage" rows={groups} columns={columns} rowKey={({ name }) => name} order={`-${measure}`} empty="" />
      <p className="quiet">
        On the command line: <code>det resources aggregated {range.from} {range.to}{range.period === "month" ? " --monthly" : ""}</code>
      </p>
    </>
  );
}
