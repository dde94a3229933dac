/** Rows of the tables and lists of a page, for those who go through them by keyboard. */

const visible = (row: HTMLElement) => row.offsetParent !== null;

const rowsIn = (content: HTMLElement): HTMLElement[] => [...content.querySelectorAll<HTMLElement>("tbody tr")].filter(visible);

const current = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>("tbody tr") ?? null;

/** What Enter opens, or else what can have the focus. */
const mainPart = (row: HTMLElement): HTMLElement | null => row.querySelector<HTMLElement>("a[href]") ?? row.querySelector<HTMLElement>("button, input");

/** Gives the focus to the next row, or to the previous one with -1; to the first one where none has it. */
export function goToRow(content: HTMLElement, step: 1 | -1): void {
  const rows = rowsIn(content).filter((row) => mainPart(row) !== null);
  const at = rows.findIndex((row) => row === current());
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
  if (next === undefined) return;
  mainPart(next)?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

/** Ticks the row that has the focus, or unticks it. */
export function toggleRow(): void {
  current()?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
}

/** Goes to the page's own search field. */
export function goToSearch(content: HTMLElement): boolean {
  const field = [...content.querySelectorAll<HTMLInputElement>("input[type=search], .filter-field input")].find(visible);
  field?.focus();
  field?.select();
  return field !== undefined;
}
