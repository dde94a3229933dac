import { useMemo } from "react";
import type { MetricReport } from "../../api/types";
import type { ChartProps } from "./chart";
import type { Axis } from "./curves";
import { hardwareCharts } from "./hardware";
import { MetricCharts } from "./metric_charts";

interface HardwareChartsProps extends Pick<ChartProps, "colour" | "range" | "onRange"> {
  readonly reports: readonly MetricReport[];
  readonly axis: Axis;
  /** Where on the axis a report is; undefined: nowhere. */
  readonly place: (report: MetricReport) => number | undefined;
}

/** How busy the machines were on which some trials ran. */
export function HardwareCharts({ reports, axis, place, ...props }: HardwareChartsProps) {
  const made = useMemo(() => hardwareCharts(reports, axis, place), [reports, axis, place]);
  return (
    <>
      <MetricCharts charts={made} log={false} {...props} />
      <p className="quiet">Of whole machines, with all that runs on them; averages of ten seconds.</p>
    </>
  );
}
