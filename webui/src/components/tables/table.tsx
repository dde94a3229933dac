import { type ReactNode, useMemo } from "react";
import { useParameter } from "../address/route";
import { type Order, parseOrder, sorted, toggled } from "./sorting";

export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly number?: boolean;
  /** Explains the title on hover. */
  readonly hint?: string;
  /** What rows are sorted by; without it, the column does not sort. */
  readonly value?: (row: T) => number | string | undefined;
}

/** For `aria-sort` of a title. */
export const sortOf = (order: Order, id: string) => (order.by !== id ? "none" : order.descending ? "descending" : "ascending");

interface SortTitleProps {
  readonly id: string;
  readonly title: string;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** A title that is a button: a click sorts, a second one the other way round. */
export function SortTitle({ id, title, order, onOrder }: SortTitleProps) {
  return (
    <button type="button" className="sort" onClick={() => onOrder(toggled(order, id))}>
      {title}
      <span aria-hidden="true">{{ none: "", descending: " ↓", ascending: " ↑" }[sortOf(order, id)]}</span>
    </button>
  );
}

interface HeadProps {
  readonly columns: readonly { readonly id: string; readonly title: string; readonly number?: boolean; readonly hint?: string }[];
  readonly sortable: (id: string) => boolean;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

function TableHead({ columns, sortable, order, onOrder }: HeadProps) {
  return (
    <thead>
      <tr>
        {columns.map(({ id, title, number, hint }) => (
          <th key={id} scope="col" className={number ? "number" : undefined} title={hint} aria-sort={sortable(id) ? sortOf(order, id) : undefined}>
            {sortable(id) ? <SortTitle id={id} title={title} order={order} onOrder={onOrder} /> : title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface TableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string | number;
  /** The order at first, "id" or "-id"; the address keeps another one under `parameter`. */
  readonly order: string;
  readonly parameter?: string;
  readonly empty: ReactNode;
  readonly rowClass?: (row: T) => string | undefined;
}

/** A table of what is all here, sorted in the page. */
export function Table<T>({ label, rows, columns, rowKey, order: usual, parameter = "sort", empty, rowClass }: TableProps<T>) {
  const [text, setText] = useParameter(parameter, usual);
  const order = parseOrder(text);
  const list = useMemo(() => {
    const by = columns.find(({ id }) => id === order.by)?.value;
    return by === undefined ? rows : sorted(rows, by, order.descending);
  }, [rows, columns, order.by, order.descending]);
  if (rows.length === 0) return <p className="quiet">{empty}</p>;
  return (
    <div className="table">
      <table aria-label={label}>
        <TableHead
          columns={columns}
          sortable={(id) => columns.find((column) => column.id === id)?.value !== undefined}
          order={order}
          onOrder={({ by, descending }) => setText(`${descending ? "-" : ""}${by}`)}
        />
        <tbody>
          {list.map((row) => (
            <tr key={rowKey(row)} className={rowClass?.(row)}>
              {columns.map(({ id, number, cell }) => (
                <td key={id} className={number ? "number" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
