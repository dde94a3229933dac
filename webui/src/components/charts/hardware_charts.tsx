import { useMemo } from "react";
import type { MetricReport } from "../../api/types";
import type { ChartProps } from "./chart";
import type { Axis, Scale } from "./curves";
import { hardwareCharts } from "./hardware";
import { MetricCharts } from "./metric_charts";
import { placing } from "./placing";

interface HardwareChartsProps extends Pick<ChartProps, "colour" | "range" | "onRange"> {
  readonly reports: readonly MetricReport[];
  readonly axis: Axis;
  readonly scales: ReadonlyMap<number, Scale>;
}

/** How busy the machines were on which some trials ran. */
export function HardwareCharts({ reports, axis, scales, ...props }: HardwareChartsProps) {
  const made = useMemo(() => hardwareCharts(reports, axis, placing(reports, axis, scales)), [reports, axis, scales]);
  return (
    <>
      <MetricCharts charts={made} log={false} {...props} />
      <p className="quiet">Of whole machines, with all that runs on them; averages of ten seconds.</p>
    </>
  );
}
