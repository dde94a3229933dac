import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import type { MediaValue } from "../../api/media";
import { formatNumber } from "../format";
import { useDark } from "../theme";
import { heatOf } from "./heat";

const rows = 48;
/** Of the darkest place, on light and on dark ground. */
const inks = { light: [30, 90, 205], dark: [125, 175, 255] } as const;

/** How the values of a tensor were distributed over the steps: the more of them, the darker. */
export function HistogramPlot({ values, name }: { values: readonly MediaValue[]; name: string }) {
  const heat = useMemo(() => heatOf(values.map(({ histogram }) => histogram ?? { edges: [], counts: [] }), rows), [values]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  const [pointed, setPointed] = useState("");
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const { columns } = heat;
    const image = context.createImageData(columns.length, rows);
    columns.forEach((column, x) =>
      column.forEach((part, row) => {
        const at = 4 * ((rows - 1 - row) * columns.length + x);
        image.data.set([...inks[dark ? "dark" : "light"], Math.round(255 * Math.sqrt(part))], at);
      }),
    );
    context.putImageData(image, 0, 0);
  }, [heat, dark]);
  const [first, last] = [values[0], values.at(-1)];
  const point = ({ currentTarget: box, nativeEvent: { offsetX, offsetY } }: PointerEvent<HTMLCanvasElement>) => {
    const value = values[Math.min(values.length - 1, Math.floor((offsetX / box.clientWidth) * values.length))];
    const height = heat.most - (offsetY / box.clientHeight) * (heat.most - heat.least);
    setPointed(value === undefined ? "" : `step ${value.step}, value ${formatNumber(Number(height.toPrecision(3)))}`);
  };
  return (
    <div className="heat">
      <div className="axis quiet">
        <span>{formatNumber(heat.most)}</span>
        <span>{formatNumber(heat.least)}</span>
      </div>
      <canvas ref={canvas} width={values.length} height={rows} role="img" aria-label={`Histograms of ${name} from step ${first?.step} to ${last?.step}, values from ${formatNumber(heat.least)} to ${formatNumber(heat.most)}`} onPointerMove={point} onPointerLeave={() => setPointed("")} />
      <div className="axis steps quiet">
        <span>{first?.step}</span>
        <span>{pointed}</span>
        <span>{values.length > 1 ? last?.step : ""}</span>
      </div>
    </div>
  );
}
