/** The order of a table's rows. */

export interface Order {
  readonly by: string;
  readonly descending: boolean;
}

/** "-name" is descending by name. */
export function parseOrder(text: string): Order {
  return text.startsWith("-") ? { by: text.slice(1), descending: true } : { by: text, descending: false };
}

/** The order after a click on a column's title. */
export function toggled(order: Order, by: string): Order {
  return { by, descending: order.by === by && !order.descending };
}

type Key = number | string | undefined;

/** Sorts stably; what has no value, and NaN, comes last either way. */
export function sorted<T>(rows: readonly T[], key: (row: T) => Key, descending: boolean): T[] {
  const missing = (value: Key) => value === undefined || value === "" || Number.isNaN(value);
  const compare = (a: Key, b: Key): number => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order =
      typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return descending ? -order : order;
  };
  return rows
    .map((row) => [key(row), row] as const)
    .sort(([a], [b]) => compare(a, b))
    .map(([, row]) => row);
}
