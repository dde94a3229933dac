import { get, type Reply } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import type { Experiment, ParetoPoint } from "../../../api/types";
import { go, useParameter } from "../../../components/address/route";
import { widthOf } from "../../../components/charts/clip";
import { fraction } from "../../../components/charts/hyperparameters";
import { member, withDirection } from "../../../components/config";
import { count, formatNumber, isTerminal } from "../../../components/format";
import { Choice, Panel, Problem } from "../../../components/parts";
import { type Axis, axesOf, extent, isDrawable, stairs } from "./pareto_points";

type ParetoReply = Reply<"get", "/api/v1/experiments/{experimentId}/pareto">;

const pollMs = 3000;
const [width, height, right, top, bottom] = [640, 300, 616, 14, 250] as const;

/** Whether the search optimizes several metrics at once. */
export function hasSeveralMetrics(experiment: Experiment): boolean {
  const further = member(experiment.config, "searcher", "metrics");
  return Array.isArray(further) && further.length > 0;
}

/** The validations of a search that optimizes several metrics, two metrics at a time. */
export function ParetoFront({ experiment }: { experiment: Experiment }) {
  const load = (signal: AbortSignal): Promise<ParetoReply> =>
    get("/api/v1/experiments/{experimentId}/pareto", { path: { experimentId: experiment.id }, query: { includeDominated: true } }, signal);
  const [reply] = usePolled(`pareto ${experiment.id} ${experiment.state}`, load, pollMs, () => !isTerminal(experiment.state));
  const none = reply.status === "failed" && reply.error.status === 404;
  if (reply.status !== "loaded")
    return (
      <Panel title="Pareto front">
        {none && <p className="quiet">Shown once a trial has reported all metrics in a validation.</p>}
        <Problem text={reply.status === "failed" && !none ? reply.error.message : ""} />
      </Panel>
    );
  return <Front reply={reply.value} />;
}

function Front({ reply }: { reply: ParetoReply }) {
  const axes = axesOf(reply.metrics);
  const [wantedX, setX] = useParameter("pareto-x", axes[0]?.name ?? "");
  const [wantedY, setY] = useParameter("pareto-y", axes[1]?.name ?? "");
  const at = (name: string, otherwise: number) => {
    const found = axes.findIndex((axis) => axis.name === name);
    return found < 0 ? otherwise : found;
  };
  const [x, y] = [at(wantedX, 0), at(wantedY, 1)];
  const options = axes.map(({ name }) => [name, name] as const);
  return (
    <Panel
      title="Pareto front"
      tools={
        axes.length > 2 && (
          <>
            <Choice label="X metric" value={axes[x]?.name ?? ""} options={options} onChange={setX} />
            <Choice label="Y metric" value={axes[y]?.name ?? ""} options={options} onChange={setY} />
          </>
        )
      }
    >
      <Plot reply={reply} axes={axes} x={x} y={y} />
      <p className="quiet">
        Blue validations are Pareto-optimal: no other is at least as good in all metrics and better in one. Click a point to open
        its trial.
      </p>
    </Panel>
  );
}

function Plot({ reply, axes, x, y }: { reply: ParetoReply; axes: readonly Axis[]; x: number; y: number }) {
  const [across, up] = [axes[x], axes[y]];
  if (across === undefined || up === undefined) return null;
  const drawable = (points: readonly ParetoPoint[]) => points.filter((point) => isDrawable(point, [x, y]));
  const [front, dominated] = [drawable(reply.front), drawable(reply.dominated)];
  const all = [...dominated, ...front];
  const [columns, rows] = [extent(all, x), extent(all, y)];
  const text = (value: number) => formatNumber(Number(value.toPrecision(3)));
  const left = 14 + Math.max(...[rows.min, rows.max].map((value) => widthOf(text(value))));
  const px = (value: number) => left + 10 + fraction(columns, value) * (right - left - 20);
  const py = (value: number) => bottom - 8 - fraction(rows, value) * (bottom - top - 16);
  const path = stairs(front, [x, y], axes)
    .map(([a, b], i) => `${i === 0 ? "M" : "L"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`)
    .join("");
  const dot = (point: ParetoPoint, best: boolean) => (
    <circle
      key={`${point.trialId},${point.batches}`}
      cx={px(point.values[x] ?? 0)}
      cy={py(point.values[y] ?? 0)}
      r={best ? 4.5 : 3}
      className={best ? "dot best" : "dot rest"}
      onClick={() => go({ page: "trial", id: point.trialId, tab: "overview" })}
    >
      <title>{`Trial ${point.trialId} at ${count(Number(point.batches), "batch", "batches")}: ${axes.map(({ name }, i) => `${name} ${formatNumber(point.values[i] ?? NaN)}`).join(", ")}`}</title>
    </circle>
  );
  return (
    <figure className="chart bare">
      <svg className="plot" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${up.name} over ${across.name}, ${count(reply.front.length, "validation")} on the Pareto front`}>
        <line className="axis" x1={left} x2={left} y1={top} y2={bottom} />
        <line className="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
        {[rows.min, rows.max].map((value) => (
          <text key={value} x={left - 4} y={py(value) + 4} textAnchor="end">
            {text(value)}
          </text>
        ))}
        {[columns.min, columns.max].map((value, i) => (
          <text key={value} x={px(value)} y={bottom + 16} textAnchor={i === 0 ? "start" : "end"}>
            {text(value)}
          </text>
        ))}
        <text x={(left + right) / 2} y={bottom + 36} textAnchor="middle">
          {withDirection(across.name, across.smaller)}
        </text>
        <text x={left + 8} y={top + 4}>
          {withDirection(up.name, up.smaller)}
        </text>
        {dominated.map((point) => dot(point, false))}
        <path className="front" d={path} />
        {front.map((point) => dot(point, true))}
      </svg>
    </figure>
  );
}
