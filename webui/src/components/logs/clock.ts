/** Moments in the time of the browser: what logs show is what their fields ask for. Pure. */

const two = (n: number) => String(n).padStart(2, "0");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** "2026-11-24" */
export function dayText(at: Date): string {
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** "24 Nov" */
export const shortDay = (at: Date): string => `${two(at.getDate())} ${months[at.getMonth()] ?? ""}`;

/** "09:05:07" */
const secondText = (at: Date) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

/** "09:05:07.120"; empty for what is no moment. */
export function clockText(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : `${secondText(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** "2026-11-24 09:05:07" */
export function momentText(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : `${dayText(at)} ${secondText(at)}`;
}

/** "24 Nov" where the day is another than that of the time before; empty where it is the same. */
export function newDay(time: string, before: string | undefined): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  return before !== undefined && dayText(new Date(before)) === dayText(at) ? "" : shortDay(at);
}

/** "UTC+05:30": where the browser's clock is at that moment. */
export function zoneText(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "\u2212" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** A moment as a field of type datetime-local has it, in the browser's time; empty for none. */
export function fieldOf(time: string | undefined, to: "minutes" | "seconds" = "minutes"): string {
  const at = new Date(time ?? "");
  if (Number.isNaN(at.getTime())) return "";
  return `${dayText(at)}T${secondText(at).slice(0, to === "minutes" ? 5 : 8)}`;
}

/** What such a field says as an absolute moment, for the address and the master; empty for none. */
export function timeOf(field: string): string {
  const at = Date.parse(field);
  return Number.isNaN(at) ? "" : new Date(at).toISOString();
}
