import { useMemo } from "react";
import { grouped } from "./bands";
import { Chart, type ChartProps } from "./chart";
import { type Axis, type Chart as ChartData, charts, countedRecords, overLogX, points, possibleAxes, type Scale } from "./curves";
import { useDetail } from "./detail";
import type { Groupings } from "./groupings";
import type { Reports } from "./reports";
import { smooth } from "./series";
import type { ChartView } from "./view";
import { type Range, withDetail } from "./zoom";

/** Validations are few, and stay as they are. */
function smoothed(chart: ChartData, weight: number): ChartData {
  if (weight === 0) return chart;
  const [x, ...ys] = chart.data;
  return { ...chart, data: [x, ...ys.map((y, i) => (chart.series[i]?.group === "training" ? smooth(x as number[], y as (number | null | undefined)[], weight) : y))] };
}

interface Shown {
  readonly trialIds: readonly number[];
  readonly reports: Reports;
  /** What turns the batches of each trial into other units. */
  readonly scales: ReadonlyMap<number, Scale>;
  readonly view: ChartView;
  readonly groupings: Groupings;
  /** The metric on top. */
  readonly first: string;
  readonly range?: Range | undefined;
}

/** A chart for each metric, the axes that all trials have what it takes for, and what that is. */
export function useCharts({ trialIds, reports: { list }, scales, view, groupings, first, range }: Shown): { readonly made: readonly ChartData[]; readonly possible: readonly Axis[]; readonly axis: Axis; readonly withRecords: ReadonlyMap<number, Scale> } {
  const withRecords = useMemo(() => {
    const counted = countedRecords(list);
    return new Map([...scales].map(([id, scale]) => [id, { ...scale, counted: counted.get(id) ?? [] }]));
  }, [list, scales]);
  const possible = possibleAxes(trialIds.flatMap((id) => withRecords.get(id) ?? []));
  const axis = possible.find((name) => name === view.axis) ?? "batches";
  const detail = useDetail(trialIds, list, axis, withRecords, range);
  const { smooth: weight, group, band, logX } = view;
  const made = useMemo(() => {
    const values = group === "" ? undefined : groupings.get(group);
    return charts(points(withDetail(list, detail), axis, withRecords), first, axis)
      .map((chart) => smoothed(chart, weight))
      .map((chart) => (values === undefined ? chart : grouped(chart, group, (id) => values.get(id) ?? "–", band)))
      .map((chart) => (logX ? overLogX(chart) : chart));
  }, [list, detail, axis, withRecords, first, weight, group, band, groupings, logX]);
  return { made, possible, axis, withRecords };
}

interface MetricChartsProps {
  readonly charts: readonly ChartData[];
  readonly log: boolean;
  readonly colour?: ChartProps["colour"];
  readonly range?: Range | undefined;
  readonly onRange?: ((range?: Range) => void) | undefined;
}

export function MetricCharts({ charts, ...props }: MetricChartsProps) {
  return (
    <div className="charts">
      {charts.map((chart) => (
        <Chart key={chart.name} chart={chart} {...props} />
      ))}
    </div>
  );
}
