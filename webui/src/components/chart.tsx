import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Chart as ChartData } from "./curves";
import { formatNumber } from "./format";

const colours = ["#2a6fdb", "#e07a1f", "#2f9e6e", "#c2417a", "#7b5cd6", "#b08a00", "#1b96a8", "#a8452d"];
const height = 240;

function options(chart: ChartData, width: number, log: boolean): uPlot.Options {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width,
    height,
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [
      { ...axis, label: "batches", labelSize: 18, size: 36 },
      { ...axis, size: 64, values: (_plot, splits) => splits.map((v) => (v === null ? "" : formatNumber(v))) },
    ],
    series: [
      { label: "batches" },
      ...chart.labels.map((label, index) => ({
        label,
        stroke: colours[index % colours.length] ?? ink,
        width: 1.5,
        dash: label.endsWith("validation") ? [6, 3] : [],
        points: { show: label.endsWith("validation"), size: 6 },
        value: (_plot: uPlot, v: number | null) => (v === null || v === undefined ? "–" : formatNumber(v)),
      })),
    ],
  };
}

/** One metric's curves on a canvas. Drag to zoom, double-click to see all. */
export function Chart({ chart, log }: { chart: ChartData; log: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = `${chart.labels.join("\n")}|${log}`;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(options(chart, element.clientWidth, log), chart.data, element);
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

  return (
    <figure className="chart">
      <figcaption>
        {chart.name}
        {chart.notFinite > 0 && <span className="problem"> {chart.notFinite} values are NaN or infinite: not drawn</span>}
      </figcaption>
      <div ref={box} />
    </figure>
  );
}
