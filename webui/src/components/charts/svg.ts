/** A chart as a picture of its own, for papers and slides. Pure. */

import { formatNumber } from "../format";
import type { Chart } from "./curves";

type Value = number | null | undefined;

const [width, height] = [800, 420];
const margin = { left: 64, right: 16, top: 34, bottom: 44 };

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** About `count` round numbers from `low` to `high`. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= rough) ?? rough;
  const all: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high * (1 + 1e-12); n += 1) all.push(Number((n * step).toPrecision(12)));
  return all;
}

/** Powers of ten from `low` to `high`, both of them inside. */
const powers = (low: number, high: number) => {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
};

interface Options {
  readonly log: boolean;
  readonly range?: { readonly from: number; readonly to: number } | undefined;
  readonly colourOf: (index: number) => string;
  readonly xText: (x: number) => string;
  readonly xLabel: string;
}

/** Where a value is between two others: 0 to 1. */
const placed = (value: number, low: number, high: number, log: boolean) => (log ? Math.log10(value / low) / (Math.log10(high / low) || 1) : (value - low) / (high - low || 1));

/** Lines on white, with axes and a legend. On a log scale, what is not above 0 is a gap. */
export function svgOf(chart: Chart, { log, range, colourOf, xText, xLabel }: Options): string {
  const [xs, ...ys] = chart.data as [readonly number[], ...(readonly Value[])[]];
  const shown = (at: number) => range === undefined || ((xs[at] ?? 0) >= range.from && (xs[at] ?? 0) <= range.to);
  const drawn = ys.map((column) => column.map((y, at) => (!shown(at) ? undefined : typeof y === "number" && (!log || y > 0) ? y : y === undefined ? undefined : null)));
  const values = drawn.flat().filter((y) => typeof y === "number");
  const inside = xs.filter((_, at) => shown(at));
  const logX = chart.logX ?? false;
  const from = logX && range !== undefined && range.from <= 0 ? undefined : range?.from;
  const [left, right] = [from ?? inside[0] ?? (logX ? 1 : 0), range?.to ?? inside.at(-1) ?? 1];
  let [low, high] = [0, 1];
  if (values.length > 0) [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  if (!log && low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  const marks = log ? powers(low, high) : ticks(low, high, 6);
  if (log) [low, high] = [marks[0] ?? low, marks.at(-1) ?? high];
  const toX = (x: number) => margin.left + placed(x, left, right, logX) * (width - margin.left - margin.right);
  const toY = (y: number) => height - margin.bottom - placed(y, low, high, log) * (height - margin.top - margin.bottom);
  const at = (x: number, y: number) => `${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`;

  const path = (column: readonly Value[]) => {
    let [text, pen] = ["", "M"];
    column.forEach((y, i) => {
      if (y === null) pen = "M";
      if (typeof y !== "number") return;
      text += `${pen}${at(xs[i] ?? 0, y)}`;
      pen = "L";
    });
    return text;
  };
  const area = (lower: readonly Value[], upper: readonly Value[]) => {
    const both = xs.flatMap((x, i) => (typeof lower[i] === "number" && typeof upper[i] === "number" ? [[x, lower[i], upper[i]] as const] : []));
    return both.length < 2 ? "" : `M${[...both.map(([x, , y]) => at(x, y)), ...both.toReversed().map(([x, y]) => at(x, y))].join("L")}Z`;
  };

  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${margin.left}" y="20" font-size="14" font-weight="bold">${escaped(chart.name)}</text>`,
  ];
  for (const y of marks)
    lines.push(
      `<path d="M${at(left, y)}L${at(right, y)}" stroke="#e2e2e2"/>`,
      `<text x="${margin.left - 6}" y="${(toY(y) + 4).toFixed(1)}" text-anchor="end">${escaped(formatNumber(y))}</text>`,
    );
  for (const x of logX ? powers(left, right).filter((power) => power >= left && power <= right) : ticks(left, right, 8)) lines.push(`<text x="${toX(x).toFixed(1)}" y="${height - margin.bottom + 16}" text-anchor="middle">${escaped(xText(x))}</text>`);
  lines.push(`<text x="${(width + margin.left - margin.right) / 2}" y="${height - 8}" text-anchor="middle">${escaped(xLabel)}</text>`);
  for (const band of chart.bands ?? []) lines.push(`<path d="${area(drawn[band.low] ?? [], drawn[band.high] ?? [])}" fill="${colourOf(band.of)}" fill-opacity="0.18"/>`);
  let legend = 0;
  chart.series.forEach((series, index) => {
    if (series.edge) return;
    const dash = series.group === "validation" ? ' stroke-dasharray="6 3"' : "";
    lines.push(`<path d="${path(drawn[index] ?? [])}" fill="none" stroke="${colourOf(index)}" stroke-width="1.6"${dash}/>`);
    if (legend < 12) lines.push(`<text x="${width - margin.right}" y="${margin.top + 4 + 14 * legend}" text-anchor="end" fill="${colourOf(index)}">${escaped(series.label)}</text>`);
    legend += 1;
  });
  return [...lines, "</svg>", ""].join("\n");
}
