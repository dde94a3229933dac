/** Not again so soon: what was loaded anew and still does not come is said. */
const pauseMs = 30_000;

/** Whether a page that cannot be shown is loaded again by itself: a part of it did not come, and it was not just tried. */
export function reloads(cause: unknown, lastMs: number, nowMs: number): boolean {
  const text = cause instanceof Error ? cause.message : String(cause);
  // As Chromium, Firefox and Safari say it.
  const missing = /dynamically imported module|module script failed|preload CSS/i.test(text);
  return missing && nowMs - lastMs > pauseMs;
}
