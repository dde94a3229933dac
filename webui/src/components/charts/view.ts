/** How charts are shown, as the query of an address or a panel of a note has it. Pure. */

import { axes, type Axis } from "./curves";
import { type BandKind, bandKinds } from "./bands";

/** How much of the past a smoothed curve keeps. */
export const weights = [["0", "none"], ["0.6", "low"], ["0.9", "medium"], ["0.98", "high"]] as const;

export interface ChartView {
  /** The only metric that is shown; empty: all. */
  readonly metric: string;
  readonly axis: Axis;
  readonly log: boolean;
  /** The x axis, too. */
  readonly logX: boolean;
  readonly smooth: number;
  /** The trials of one curve: those with the same value of this. Empty: each trial is one. */
  readonly group: string;
  readonly band: BandKind;
}

type Values = Readonly<Record<string, string | undefined>>;

const isSaid = (flag: string) => flag !== "" && flag !== "false";

/** What is not known is as if it were not said. */
export function chartView({ metric = "", x, log = "", logx = "", smooth, group = "", band }: Values): ChartView {
  const weight = Number(smooth);
  return {
    metric,
    axis: axes.find((axis) => axis === x) ?? "batches",
    log: isSaid(log),
    logX: isSaid(logx),
    smooth: weight > 0 && weight < 1 ? weight : 0,
    group,
    band: bandKinds.find((kind) => kind === band) ?? "min–max",
  };
}
