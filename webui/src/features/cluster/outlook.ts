/** What is said of when a job will start or end. Pure. */

import type { components } from "../../api/generated/schema";
import { formatDuration } from "../../components/format";

export type JobForecast = components["schemas"]["JobForecast"];

export interface Outlook {
  readonly text: string;
  /** What it rests on. */
  readonly because: string;
}

/** "in 12 min": no more exact than a forecast is. */
function soon(seconds: number): string {
  if (seconds < 60) return "within a minute";
  const whole = formatDuration(seconds * 1000);
  return `in ${whole.replace(/ \d\d s$/, "")}`;
}

/** `running`: the job has slots. */
export function outlookOf(forecast: JobForecast | undefined, running: boolean): Outlook | undefined {
  if (forecast === undefined) return undefined;
  const { startSeconds: start, endSeconds: end, byProgress, earlierExperiment: earlier } = forecast;
  const because = byProgress
    ? "If it goes on as until now"
    : earlier
      ? `If it takes as long as experiment ${earlier}`
      : "Nothing is known of how long it takes";
  if (running) return end === undefined ? { text: "", because } : { text: `ends ${soon(end)}`, because };
  if (start === undefined) return { text: "not in sight", because: "Jobs before it have no end in sight" };
  const ends = end === undefined ? "" : `; ends ${soon(end)}`;
  return { text: `starts ${soon(start)}`, because: `If the jobs before it go on as until now${ends}. ${because}.` };
}
