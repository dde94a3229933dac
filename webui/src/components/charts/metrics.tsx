import { useDeferredValue, useMemo, useState } from "react";
import { Chart, type ChartProps } from "./chart";
import { type Axis, type Chart as ChartData, charts, countedRecords, points, possibleAxes, type Scale } from "./curves";
import { useDetail } from "./detail";
import { download } from "../forms/download";
import { Choice, Panel, Problem } from "../parts";
import { allReports, useReports } from "./reports";
import { useParameter, useQuery } from "../address/route";
import { csv, smooth } from "./series";
import { parseRange, type Range, rangeText, withDetail } from "./zoom";

const shownAtFirst = 6;

/** How much of the past a smoothed curve keeps. */
const weights = [["0", "none"], ["0.6", "low"], ["0.9", "medium"], ["0.98", "high"]] as const;

/** Validations are few, and stay as they are. */
function smoothed(chart: ChartData, weight: number): ChartData {
  if (weight === 0) return chart;
  const [x, ...ys] = chart.data;
  return { ...chart, data: [x, ...ys.map((y, i) => (chart.series[i]?.group === "training" ? smooth(y as (number | null | undefined)[], weight) : y))] };
}

interface MetricsProps {
  readonly trialIds: readonly number[];
  /** What turns the batches of each trial into other units. */
  readonly scales: ReadonlyMap<number, Scale>;
  readonly live: boolean;
  /** The metric on top. */
  readonly first: string;
  readonly colour?: ChartProps["colour"] | undefined;
}

/** The curves of some trials' metrics over batches, epochs, records or time. */
export function Metrics({ trialIds, scales, live, first, colour }: MetricsProps) {
  // Drawn when there is time, all together: of a list that is on its way nothing says that it is empty.
  const reports = useDeferredValue(useReports(trialIds, live));
  const { list } = reports;
  const withRecords = useMemo(() => {
    const counted = countedRecords(list);
    return new Map([...scales].map(([id, scale]) => [id, { ...scale, counted: counted.get(id) ?? [] }]));
  }, [list, scales]);
  const possible = possibleAxes(trialIds.flatMap((id) => withRecords.get(id) ?? []));
  const [{ x: wanted }, change] = useQuery();
  const axis: Axis = possible.find((name) => name === wanted) ?? "batches";
  const [log, setLog] = useParameter("log");
  const [only, setOnly] = useParameter("metric");
  const [smoothing, setSmoothing] = useParameter("smooth", "0");
  const [zoom, setZoom] = useParameter("zoom");
  const range = useMemo(() => parseRange(zoom), [zoom]);
  const detail = useDetail(trialIds, list, axis, withRecords, range);
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
  const weight = weights.find(([value]) => value === smoothing)?.[0] ?? "0";
  const made = useMemo(
    () => charts(points(withDetail(list, detail), axis, withRecords), first, axis).map((chart) => smoothed(chart, Number(weight))),
    [list, detail, axis, withRecords, first, weight],
  );
  const wantedCharts = made.some(({ name }) => name === only) ? made.filter(({ name }) => name === only) : made;
  const shown = all ? wantedCharts : wantedCharts.slice(0, shownAtFirst);
  return (
    <Panel
      title="Metrics"
      tools={
        <>
          <Choice label="Metric" value={only} options={[["", "all"], ...made.map(({ name }) => [name, name] as const)]} onChange={setOnly} />
          <Choice label="X axis" value={axis} options={possible.map((name) => [name, name] as const)} onChange={(value) => change({ x: value === "batches" ? "" : value, zoom: "" })} />
          <Choice label="Smoothing" value={weight} options={weights} onChange={setSmoothing} />
          <label className="check">
            <input type="checkbox" checked={log !== ""} onChange={(event) => setLog(event.target.checked ? "1" : "")} /> Log scale
          </label>
          {range !== undefined && (
            <button type="button" title="Or double-click a chart" onClick={() => setZoom("")}>
              Reset zoom
            </button>
          )}
          <button type="button" disabled={list.length === 0 || saving === "saving"} title="All reported metrics as CSV" onClick={() => void save()}>
            CSV
          </button>
        </>
      }
    >
      <Problem text={reports.error?.message ?? (saving === "saving" ? "" : saving)} />
      {made.length === 0 && (
        <p className="quiet">{!reports.complete ? "Loading metrics …" : live ? "No metrics reported yet." : "No metrics were reported."}</p>
      )}
      <div className="charts">
        {shown.map((chart) => (
          <Chart key={chart.name} chart={chart} log={log !== ""} colour={colour} range={range} onRange={(to?: Range) => setZoom(to ? rangeText(to) : "")} />
        ))}
      </div>
      {wantedCharts.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {wantedCharts.length} metrics
        </button>
      )}
    </Panel>
  );
}
