import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Chart as ChartData, placeOf, type Series } from "./curves";
import { formatNumber } from "../format";
import { colourAt } from "./palette";
import { pngOf } from "./png";
import { inUnits, isolated, neighbours, notDrawn, unitOf } from "./series";
import { svgOf } from "./svg";
import { download } from "../forms/download";
import { useDark } from "../theme";
import { type Range, rangeText } from "./zoom";

/** One chart alone has the width of the page. */
const heightOf = (width: number) => (width > 800 ? 340 : 230);
const legendMax = 10;

export interface ChartProps {
  readonly chart: ChartData;
  readonly log: boolean;
  /** The colour of a trial's curve; without it, each series has one of the palette. */
  readonly colour?: ((series: Series) => string) | undefined;
  /** What is shown of the x axis; without it, all. */
  readonly range?: Range | undefined;
  /** All is of one kind: nothing is dashed to tell validation from training. */
  readonly plain?: boolean;
  /** Somebody zoomed in, or out again to all that there is. */
  readonly onRange?: ((range?: Range) => void) | undefined;
}

/** Whether two ranges are the same on the screen. */
const sameRange = (a: Range | undefined, b: Range | undefined) =>
  a === b || (a !== undefined && b !== undefined && rangeText(a) === rangeText(b));

/** What of the x axis a chart shows; undefined: all. */
function shownRange({ scales, data }: uPlot): Range | undefined {
  const [first, last] = [data[0][0], data[0].at(-1)];
  const { min, max } = scales.x ?? {};
  if (first === undefined || last === undefined || min === undefined || max === undefined || min === null || max === null) return undefined;
  return min > first || max < last ? { from: min, to: max } : undefined;
}

type Values = readonly (number | null | undefined)[];

/** The data as it is drawn, and the unit of its values. */
function drawn({ data: [x, ...ys] }: ChartData): { readonly data: uPlot.AlignedData; readonly unit: number } {
  const unit = unitOf(ys as Values[]);
  return { unit, data: [x, ...ys.map((y) => inUnits(y as Values, unit) as (number | null | undefined)[])] };
}

/** How near the pointer must come to a curve, in pixels, to be told which one it is. */
const nearPixels = 24;

/** The curve at the pointer, and its nearest value. */
interface Nearest {
  readonly text: string;
  readonly colour: string;
}

const edgeClass = "edge";

/** How far a curve is above or below the pointer, also between two of its values. */
function distance(plot: uPlot, at: number, _index: number, _valuePosition: number, pointer: number): number {
  if (plot.series[at]?.class === edgeClass) return Number.POSITIVE_INFINITY;
  const [x, y] = [plot.data[0], plot.data[at] as Values];
  const left = plot.cursor.left ?? -1;
  const [before, after] = neighbours(x as number[], y, plot.posToVal(left, "x")) ?? [];
  if (before === undefined || after === undefined) return Number.POSITIVE_INFINITY;
  const [fromX, toX] = [plot.valToPos(x[before] ?? 0, "x"), plot.valToPos(x[after] ?? 0, "x")];
  const [fromY, toY] = [plot.valToPos(y[before] ?? 0, "y"), plot.valToPos(y[after] ?? 0, "y")];
  const part = toX === fromX ? 0 : (left - fromX) / (toX - fromX);
  return Math.abs(fromY + (toY - fromY) * part - pointer);
}

const labelOf = ({ axis }: ChartData) => (axis === "time" ? "seconds" : axis);

/** A place on the x axis in words: "3 epochs", or a moment. */
const positionText = (chart: ChartData, x: number) => (chart.axis === "wall time" ? new Date(x * 1000).toLocaleString() : `${formatNumber(x)} ${labelOf(chart)}`);

const colourOfSeries = (series: Series, index: number, colour: ChartProps["colour"]) => (series.place === undefined ? colour?.(series) : undefined) ?? colourAt(placeOf(series, index));

/** The colour of a band; those of `colourAt` are either #rrggbb or hsl(…). */
const faint = (colour: string) => (colour.startsWith("#") ? `${colour}30` : colour.replace(")", " / 0.19)"));

type Options = Pick<ChartProps, "chart" | "log" | "colour" | "plain"> & {
  readonly onNearest: (nearest?: Nearest) => void;
};

function options({ chart, log, colour, plain, onNearest }: Options, unit: number, width: number): uPlot.Options {
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
  const many = chart.series.filter(({ edge }) => !edge).length > legendMax;
  const label = labelOf(chart);
  const colourOf = (series: Series, index: number) => colourOfSeries(series, index, colour);
  let near: number | null = null;
  const tell = (plot: uPlot) => {
    const series = chart.series[(near ?? 0) - 1];
    const index = near === null ? null : plot.cursor.idxs?.[near];
    if (near === null || series === undefined || index === null || index === undefined) return onNearest();
    const value = plot.data[near]?.[index];
    const at = `at ${positionText(chart, plot.data[0][index] ?? 0)}`;
    const number = value === null || value === undefined ? "" : `${formatNumber(value * unit)} ${at}`;
    onNearest({ text: `${series.label} ${number}`, colour: colourOf(series, (near ?? 0) - 1) });
  };
  return {
    width,
    height: heightOf(width),
    legend: { show: !many },
    cursor: { sync: { key: "metrics", scales: ["x", null] }, focus: { prox: nearPixels, dist: distance } },
    focus: { alpha: many ? 0.25 : 1 },
    hooks: {
      setSeries: [
        (plot, index) => {
          near = index;
          tell(plot);
        },
      ],
      setCursor: [tell],
    },
    bands: (chart.bands ?? []).map(({ of, low, high }) => ({ series: [high + 1, low + 1], fill: faint(colourOf(chart.series[of] as Series, of)) })),
    scales: { x: { time: chart.axis === "wall time", distr: chart.logX ? 3 : 1 }, y: { distr: log ? 3 : 1 } },
    axes: [
      { ...axis, label, labelSize: 16, labelFont: `11px ${style.fontFamily}`, size: 32 },
      { ...axis, size: (_plot, values) => 18 + 6.5 * Math.max(3, ...(values ?? []).map((text) => text.length)), values: (_plot, splits) => splits.map((v) => (v === null ? "" : formatNumber(v * unit))) },
    ],
    series: [
      { label, value: (_plot: uPlot, x: number | null) => (x === null || x === undefined ? "–" : positionText(chart, x)) },
      ...chart.series.map((series, index) => ({
        label: series.label,
        ...(series.edge ? { class: edgeClass } : {}),
        stroke: series.edge ? "transparent" : colourOf(series, index),
        width: series.edge ? 0 : many ? 1 : 1.6,
        dash: series.group === "validation" && !plain ? [6, 3] : [],
        points: {
          show: series.group === "validation" && !many && !series.edge,
          size: 5,
          // Where not all are shown: those that no line reaches, which nobody would see.
          filter: (plot: uPlot, at: number, all: boolean) => (all ? null : isolated(plot.data[at] as Values)),
        },
        value: (_plot: uPlot, v: number | null) => (v === null || v === undefined ? "–" : formatNumber(v * unit)),
      })),
    ],
  };
}

/** One metric's curves on a canvas. Drag to zoom, double-click to see all. */
export function Chart({ chart, log, colour, range, onRange, plain }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const nearest = useRef<HTMLSpanElement>(null);
  const latest = useRef({ range, onRange });
  latest.current = { range, onRange };
  const dark = useDark();
  const colours = colour === undefined ? "" : chart.series.map(colour).join();
  const { data, unit } = useMemo(() => drawn(chart), [chart]);
  const shape = [chart.axis, chart.logX, log, dark, unit, colours, ...chart.series.map(({ label }) => label)].join("\n");

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    // Written here, not by React: the pointer moves often.
    const onNearest = (found?: Nearest) => {
      if (nearest.current === null) return;
      nearest.current.textContent = found?.text ?? "";
      nearest.current.style.setProperty("--dot", found?.colour ?? "transparent");
    };
    const shown = { chart, log, colour, plain: plain ?? false, onNearest };
    const made = new uPlot(options(shown, unit, element.clientWidth), data, element);
    plot.current = made;
    // Whoever draws a range with the pointer, or clicks twice, has let go when this comes.
    const tell = () => {
      const shown = shownRange(made);
      if (plot.current === made && !sameRange(shown, latest.current.range)) latest.current.onRange?.(shown);
    };
    const later = () => setTimeout(tell);
    element.addEventListener("mouseup", later);
    element.addEventListener("dblclick", later);
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: heightOf(element.clientWidth) }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      element.removeEventListener("mouseup", later);
      element.removeEventListener("dblclick", later);
      made.destroy();
      plot.current = null;
    };
    // New data for the same series goes in by setData below.
  }, [shape]);

  // What comes while somebody looks at a part does not take it away.
  useEffect(() => {
    const made = plot.current;
    if (made === null) return;
    const part = onRange === undefined ? shownRange(made) : range && { from: range.from, to: range.to };
    made.setData(data, part === undefined);
    if (part !== undefined) made.setScale("x", { min: chart.logX && part.from <= 0 ? (data[0][0] ?? 1) : part.from, max: part.to });
  }, [data, range, shape]);

  const count = chart.data[0].length;
  const file = chart.name.replaceAll(/[^\w.-]+/g, "_");
  const colourOf = (index: number) => colourOfSeries(chart.series[index] as Series, index, colour);
  const saveSvg = () => {
    const xText = (x: number) => (chart.axis === "wall time" ? new Date(x * 1000).toLocaleTimeString() : formatNumber(x));
    download(`${file}.svg`, "image/svg+xml", svgOf(chart, { log, range, colourOf, xText, xLabel: labelOf(chart) }));
  };
  const savePng = async () => {
    const made = plot.current;
    if (made === null) return;
    const curves = chart.series.flatMap(({ label, edge }, index) => (edge ? [] : [{ label, colour: colourOf(index) }]));
    download(`${file}.png`, "image/png", await pngOf(made.ctx.canvas, chart.name, curves));
  };
  return (
    <figure className="chart">
      <figcaption>
        <span>{chart.name}</span>
        {chart.notFinite > 0 && <span className="problem"> {notDrawn(chart.notFinite)}</span>}
        <span className="nearest" ref={nearest} aria-hidden="true" />
        <span className="save">
          <button type="button" className="text" aria-label={`Save ${chart.name} as PNG`} onClick={() => void savePng()}>
            PNG
          </button>{" "}
          <button type="button" className="text" aria-label={`Save ${chart.name} as SVG`} onClick={saveSvg}>
            SVG
          </button>
        </span>
      </figcaption>
      <div ref={box} role="img" aria-label={`${chart.name} over ${chart.axis}, ${chart.series.filter(({ edge }) => !edge).length} curves, ${count} points`} />
    </figure>
  );
}
