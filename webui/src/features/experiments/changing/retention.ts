/** For how long the logs of an experiment's trials are kept. Pure. */

/** As the API says it: until the experiment is deleted is there. */
export const forEver = -1;
const daysMax = 32_767;

/** `days`: those that are left of a trial that has ended, else all of them. */
export function keptText(days: number, ended: boolean): string {
  if (days === forEver) return "until the experiment is deleted";
  if (days === 0) return ended ? "until the next log cleanup" : "until the first log cleanup after the trial ends";
  const text = days === 1 ? "day" : "days";
  return ended ? `${days} more ${text}` : `${days} ${text} after the end`;
}

export type Wish = { readonly days: number } | { readonly problem: string };

/** What was typed, as the API wants it. */
export function wishOf(always: boolean, typed: string): Wish {
  if (always) return { days: forEver };
  const text = typed.trim();
  if (!/^\d+$/.test(text) || Number(text) > daysMax) return { problem: `Enter a whole number of days from 0 to ${daysMax}.` };
  return { days: Number(text) };
}
