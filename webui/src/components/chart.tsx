import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Chart as ChartData, Series } from "./curves";
import { formatNumber } from "./format";
import { palette } from "./palette";
import { useDark } from "./theme";

const height = 230;
const legendMax = 10;

export interface ChartProps {
  readonly chart: ChartData;
  readonly log: boolean;
  /** The colour of a trial's curve; without it, each series has one of the palette. */
  readonly colour?: ((series: Series) => string) | undefined;
}

function options({ chart, log, colour }: ChartProps, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const probe = (name: string) => {
    // light-dark() is resolved by a property that is a colour, not by the variable.
    const element = document.createElement("i");
    element.style.color = `var(${name})`;
    document.body.append(element);
    const value = getComputedStyle(element).color;
    element.remove();
    return value;
  };
  const ink = probe("--quiet");
  const line = probe("--line");
  const axis: uPlot.Axis = { stroke: ink, font: `11px ${style.fontFamily}`, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const many = chart.series.length > legendMax;
  const label = chart.axis === "time" ? "seconds" : chart.axis;
  return {
    width,
    height,
    legend: { show: !many },
    cursor: { sync: { key: "metrics", scales: ["x", null] }, focus: { prox: many ? 16 : -1 } },
    focus: { alpha: 0.25 },
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [
      { ...axis, label, labelSize: 16, labelFont: `11px ${style.fontFamily}`, size: 32 },
      { ...axis, size: (_plot, values) => 18 + 6.5 * Math.max(3, ...(values ?? []).map((text) => text.length)), values: (_plot, splits) => splits.map((v) => (v === null ? "" : formatNumber(v))) },
    ],
    series: [
      { label },
      ...chart.series.map((series, index) => ({
        label: series.label,
        stroke: colour?.(series) ?? palette[index % palette.length] ?? ink,
        width: many ? 1 : 1.6,
        dash: series.group === "validation" && !many && chart.series.some(({ group }) => group === "training") ? [6, 3] : [],
        points: { show: series.group === "validation" && !many, size: 5 },
        value: (_plot: uPlot, v: number | null) => (v === null || v === undefined ? "–" : formatNumber(v)),
      })),
    ],
  };
}

/** One metric's curves on a canvas. Drag to zoom, double-click to see all. */
export function Chart({ chart, log, colour }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const dark = useDark();
  const colours = colour === undefined ? "" : chart.series.map(colour).join();
  const shape = [chart.axis, log, dark, colours, ...chart.series.map(({ label }) => label)].join("\n");

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(options({ chart, log, colour }, element.clientWidth), chart.data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
    // New data for the same series goes in by setData below.
  }, [shape]);

  useEffect(() => plot.current?.setData(chart.data), [chart]);

  const count = chart.data[0].length;
  return (
    <figure className="chart">
      <figcaption>
        {chart.name}
        {chart.notFinite > 0 && <span className="problem"> {chart.notFinite} values are NaN or infinite: not drawn</span>}
      </figcaption>
      <div ref={box} role="img" aria-label={`${chart.name} over ${chart.axis}, ${chart.series.length} curves, ${count} points`} />
    </figure>
  );
}
