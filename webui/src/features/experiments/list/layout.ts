/**
 * Which columns the list shows, in which order, how wide, and which stay in view when it is scrolled sideways, as a text for
 * the address and for saved views: "id,name:300|state,hp.lr:80". What stands before the bar stays. Pure.
 */

export interface Placed {
  readonly id: string;
  /** In pixels; without it, as wide as the column usually is. */
  readonly width?: number;
  readonly pinned: boolean;
}
export type Layout = readonly Placed[];

const widthMin = 40;
const widthMax = 1200;

/** IDs may have any sign that a hyperparameter's name has. */
const written = (id: string) => encodeURIComponent(id).replace(/%20/g, " ");
function read(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const within = (width: number) => Math.round(Math.min(widthMax, Math.max(widthMin, width)));

/** The name is always there: it is what one clicks. A column that stands twice counts once. */
export function parseLayout(text: string): Layout {
  const bar = text.indexOf("|");
  const placed = new Map<string, Placed>();
  for (const [at, part] of text.split(/[,|]/).entries()) {
    const [id = "", width = ""] = part.split(":");
    const pinned = bar >= 0 && at < text.slice(0, bar).split(",").length;
    if (id !== "" && !placed.has(id)) placed.set(id, { id: read(id), pinned, ...(/^\d+$/.test(width) ? { width: within(Number(width)) } : {}) });
  }
  const list = [...placed.values()];
  if (!placed.has("name")) list.splice(list[0]?.id === "id" ? 1 : 0, 0, { id: "name", pinned: list[0]?.pinned ?? false });
  return list;
}

export function layoutText(layout: Layout): string {
  const part = ({ id, width }: Placed) => (width === undefined ? written(id) : `${written(id)}:${width}`);
  const [pinned, others] = [layout.filter((one) => one.pinned), layout.filter((one) => !one.pinned)];
  return (pinned.length === 0 ? [] : [pinned.map(part).join(","), "|"]).concat(others.map(part).join(",")).join("");
}

/** Puts a column before another one, and pins it where that one is pinned; before none: to the end. */
export function movedBefore(layout: Layout, id: string, before: string | undefined): Layout {
  const column = layout.find((one) => one.id === id);
  if (column === undefined || id === before) return layout;
  const rest = layout.filter((one) => one !== column);
  const at = rest.findIndex((one) => one.id === before);
  const next = rest[at];
  return next === undefined ? [...rest, { ...column, pinned: false }] : rest.toSpliced(at, 0, { ...column, pinned: next.pinned });
}

/** One place to the left (-1) or to the right (1), among the pinned columns or among the others. */
export function moved(layout: Layout, id: string, step: -1 | 1): Layout {
  const at = layout.findIndex((one) => one.id === id);
  const [column, other] = [layout[at], layout[at + step]];
  if (column === undefined || other === undefined || column.pinned !== other.pinned) return layout;
  return layout.with(at, other).with(at + step, column);
}

/** Pins a column as the last of those that are pinned, or makes it the first of the others. */
export function pinned(layout: Layout, id: string, on: boolean): Layout {
  const column = layout.find((one) => one.id === id);
  if (column === undefined) return layout;
  const rest = layout.filter((one) => one !== column);
  return [...rest.filter((one) => one.pinned), { ...column, pinned: on }, ...rest.filter((one) => !one.pinned)];
}

/** Without a width: as wide as it usually is. */
export function resized(layout: Layout, id: string, width: number | undefined): Layout {
  return layout.map((one) => {
    if (one.id !== id) return one;
    const { width: _before, ...rest } = one;
    return width === undefined ? rest : { ...rest, width: within(width) };
  });
}

/** Shows a column at the end, or hides it. */
export function shown(layout: Layout, id: string, on: boolean): Layout {
  const rest = layout.filter((one) => one.id !== id);
  return on ? [...rest, { id, pinned: false }] : rest;
}
