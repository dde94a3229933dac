import { useDeferredValue, useMemo, useState } from "react";
import { type BandKind, bandKinds } from "./bands";
import type { ChartProps } from "./chart";
import type { Scale } from "./curves";
import { differing, type Groupings } from "./groupings";
import { download } from "../forms/download";
import { CopyButton } from "../forms/copy_button";
import { Choice, Panel, Problem } from "../parts";
import { ofHardware } from "./hardware";
import { HardwareCharts } from "./hardware_charts";
import { MetricCharts, useCharts } from "./metric_charts";
import { allReports, useReports } from "./reports";
import { useQuery } from "../address/route";
import { csv } from "./series";
import { blockText, panelOf } from "../panels/block";
import { chartView, weights } from "./view";
import { parseRange, type Range, rangeText } from "./zoom";

const shownAtFirst = 6;
const none: Groupings = new Map();

interface MetricsProps {
  readonly trialIds: readonly number[];
  /** What turns the batches of each trial into other units. */
  readonly scales: ReadonlyMap<number, Scale>;
  readonly live: boolean;
  /** The metric on top. */
  readonly first: string;
  readonly colour?: ChartProps["colour"] | undefined;
  /** What several trials can be put together by. */
  readonly groupings?: Groupings;
}

/** The curves of some trials' metrics over batches, epochs, records or time, as the address says. */
export function Metrics({ trialIds, scales, live, first, colour, groupings = none }: MetricsProps) {
  // Drawn when there is time, all together: of a list that is on its way nothing says that it is empty.
  const reports = useDeferredValue(useReports(trialIds, live));
  const [query, change] = useQuery();
  const asked = chartView(query);
  const groups = differing(groupings);
  const group = groups.includes(asked.group) ? asked.group : "";
  const view = { ...asked, group };
  const range = useMemo(() => parseRange(query.zoom ?? ""), [query.zoom]);
  const { made, possible, axis, withRecords } = useCharts({ trialIds, reports, scales, view, groupings, first, range });
  const [all, setAll] = useState(false);
  const [saving, setSaving] = useState("");
  const save = async () => {
    setSaving("saving");
    try {
      download("metrics.csv", "text/csv", csv(await allReports(trialIds)));
      setSaving("");
    } catch (cause) {
      setSaving(`Cannot download the metrics: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  };
  const weight = weights.find(([value]) => Number(value) === view.smooth)?.[0] ?? "0";
  const measured = useMemo(() => reports.list.some(ofHardware), [reports.list]);
  const hardware = measured && (query.hardware ?? "") !== "";
  const onRange = (to?: Range) => change({ zoom: to ? rangeText(to) : "" });
  const only = made.filter(({ name }) => name === view.metric);
  const wanted = only.length > 0 ? only : made;
  const shown = all ? wanted : wanted.slice(0, shownAtFirst);
  return (
    <Panel
      title="Metrics"
      tools={
        <>
          <Choice label="Metric" value={view.metric} options={[["", "all"], ...made.map(({ name }) => [name, name] as const)]} onChange={(metric) => change({ metric })} />
          <Choice label="X axis" value={axis} options={possible.map((name) => [name, name] as const)} onChange={(value) => change({ x: value === "batches" ? "" : value, zoom: "" })} />
          <Choice label="Smoothing" value={weight} options={weights} onChange={(value) => change({ smooth: value === "0" ? "" : value })} />
          {groups.length > 0 && (
            <Choice label="Group by" value={group} options={[["", "none"], ...groups.map((name) => [name, name] as const)]} onChange={(value) => change({ group: value })} />
          )}
          {group !== "" && <Choice<BandKind> label="Band" value={view.band} options={bandKinds.map((kind) => [kind, kind] as const)} onChange={(band) => change({ band: band === "min–max" ? "" : band })} />}
          <label className="check">
            <input type="checkbox" checked={view.log} onChange={(event) => change({ log: event.target.checked ? "1" : "" })} /> Log scale
          </label>
          {axis !== "wall time" && (
            <label className="check">
              <input type="checkbox" checked={view.logX} onChange={(event) => change({ logx: event.target.checked ? "1" : "" })} /> Log x axis
            </label>
          )}
          {measured && (
            <label className="check" title="How busy the machines were">
              <input type="checkbox" checked={hardware} onChange={(event) => change({ hardware: event.target.checked ? "1" : "" })} /> Hardware
            </label>
          )}
          {range !== undefined && (
            <button type="button" title="Or double-click a chart" onClick={() => change({ zoom: "" })}>
              Reset zoom
            </button>
          )}
          <button type="button" disabled={reports.list.length === 0 || saving === "saving"} title="All reported metrics as CSV" onClick={() => void save()}>
            CSV
          </button>
          <CopyButton label="Copy for notes" title="A block that shows these charts in notes of projects and experiments" text={blockText(panelOf(trialIds, { ...view, axis }))} />
        </>
      }
    >
      <Problem text={reports.error?.message ?? (saving === "saving" ? "" : saving)} />
      {made.length === 0 && (
        <p className="quiet">{!reports.complete ? "Loading metrics …" : live ? "No metrics reported yet." : "No metrics were reported."}</p>
      )}
      <MetricCharts charts={shown} log={view.log} colour={colour} range={range} onRange={onRange} />
      {wanted.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {wanted.length} metrics
        </button>
      )}
      {hardware && (
        <>
          <h3>Hardware</h3>
          <HardwareCharts reports={reports.list} axis={axis} scales={withRecords} colour={colour} range={range} onRange={onRange} />
        </>
      )}
    </Panel>
  );
}
