import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Experiment } from "../../../api/types";
import type { Query } from "../../../components/address/paths";
import { parseOrder } from "../../../components/tables/sorting";
import { ColumnHeads } from "./column_heads";
import { type Cell, type PlacedColumn, placedColumns } from "./columns";
import { type Layout, layoutText, parseLayout } from "./layout";
import { pageSize, usualOrder } from "./search";
import { InView } from "./rows_in_view";
import { pagesFor, placesOf, rowsOf } from "./sections";
import { keyAt, type Rows, type Wanted } from "./use_rows";

/** In pixels, as in style.css. */
const rowHeight = 33;
const boxWidth = 34;
const settleMs = 300;
/** Rows come and go by so many: a table that changes is laid out and painted as a whole. */
const chunk = 16;

interface Props {
  readonly rows: Rows;
  readonly query: Query;
  readonly columns: string;
  readonly onColumns: (text: string) => void;
  readonly ask: (some: Query) => void;
  /** Says how far the list is scrolled. */
  readonly keep: (some: Query) => void;
  /** What is in view or near. */
  readonly onView: (wanted: readonly Wanted[]) => void;
  readonly chosen: ReadonlyMap<number, Experiment>;
  readonly choose: (some: readonly Experiment[], on: boolean) => void;
  readonly onAll: (on: boolean) => void;
}

/** The rows in view of a list of any length, with titles that stay. */
export function ExperimentRows({ rows, query, columns, onColumns, ask, keep, onView, chosen, choose, onAll }: Props) {
  const [dragged, setDragged] = useState<Layout>(); // while an edge is
  const settled = useMemo(() => parseLayout(columns), [columns]);
  const layout = dragged ?? settled;
  const placed = useMemo(() => placedColumns(layout), [layout]);
  const { places, total, flexible } = useMemo(() => widths(placed), [placed]);
  const place = useCallback((column: PlacedColumn) => places.get(column.id) ?? nowhere, [places]);

  const box = useRef<HTMLDivElement>(null);
  const from = Number(query.row) || 0;
  const last = rowsOf(rows.sections);
  const virtual = useVirtualizer({
    count: last,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    initialOffset: from * rowHeight,
  });
  const items = virtual.getVirtualItems();
  const first = Math.floor((items[0]?.index ?? 0) / chunk) * chunk;
  const end = Math.min(last, Math.ceil(((items.at(-1)?.index ?? -1) + 1) / chunk) * chunk);
  const inView = useMemo(() => placesOf(rows.sections, first, end), [rows.sections, first, end]);
  const wanted = pagesFor(inView, pageSize).map(({ section, page }) => ({ group: keyAt(rows, section), page }));
  const wantedText = JSON.stringify(wanted);
  useEffect(() => onView(JSON.parse(wantedText) as readonly Wanted[]), [wantedText]);
  // Another question begins at the top.
  const asked = useRef(rows.question);
  useEffect(() => {
    if (asked.current !== rows.question && query.row === undefined) box.current?.scrollTo({ top: 0 });
    asked.current = rows.question;
  }, [rows.question]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const onScroll = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const row = Math.round((box.current?.scrollTop ?? 0) / rowHeight);
      keep({ row: row === 0 ? "" : String(row) });
    }, settleMs);
  };
  useEffect(() => () => clearTimeout(timer.current), []);

  const order = parseOrder(query.sort ?? usualOrder);
  return (
    <div className="table scrolled" ref={box} onScroll={onScroll}>
      <table aria-label="Experiments" aria-rowcount={last + 1} style={{ minWidth: total, width: flexible ? "100%" : total }}>
        <colgroup>
          <col style={{ width: boxWidth }} />
          {placed.map((column) => (
            <col key={column.id} style={isFlexible(column, placed) ? undefined : { width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            <th className="tight pinned">
              <input
                type="checkbox"
                aria-label="Select all"
                title={rows.total > allMax ? `The first ${allMax}` : undefined}
                checked={rows.total > 0 && chosen.size >= Math.min(rows.total, allMax)}
                onChange={(event) => onAll(event.target.checked)}
              />
            </th>
            <ColumnHeads
              columns={placed}
              layout={layout}
              order={order}
              onOrder={({ by, descending }) => {
                const sort = `${descending ? "-" : ""}${by}`;
                ask({ sort: sort === usualOrder ? "" : sort });
              }}
              onLayout={(next, isSettled) => {
                setDragged(isSettled ? undefined : next);
                if (isSettled) onColumns(layoutText(next));
              }}
              onGroup={(id) => ask({ group: id, open: "" })}
              place={place}
            />
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr aria-hidden="true" style={{ height: first * rowHeight }} />}
          <InView rows={rows} places={inView} first={first} group={query.group ?? ""} open={query.open ?? ""} columns={placed} chosen={chosen} choose={choose} keep={keep} place={place} />
          {end < last && <tr aria-hidden="true" style={{ height: (last - end) * rowHeight }} />}
        </tbody>
      </table>
    </div>
  );
}

/** So many are selected at once. */
export const allMax = 1000;

const nowhere: Cell = { className: "", style: {} };

/** The name takes what the others leave, unless somebody has said how wide it is, or other columns are pinned behind it. */
function isFlexible({ id, fixed }: PlacedColumn, all: readonly PlacedColumn[]): boolean {
  const behind = all.slice(all.findIndex((one) => one.id === id) + 1);
  return id === "name" && !fixed && !behind.some((one) => one.pinned);
}

/** Where pinned columns stay, and how wide all are together. */
function widths(columns: readonly PlacedColumn[]) {
  const places = new Map<string, Cell>();
  let left = boxWidth;
  for (const { id, number, pinned, width } of columns) {
    const names = [number ? "number" : "", id === "name" ? "name" : "", pinned ? "pinned" : ""].filter((name) => name !== "");
    places.set(id, { className: names.join(" "), style: pinned ? { left } : {} });
    left += width;
  }
  return { places, total: left, flexible: columns.some((column) => isFlexible(column, columns)) };
}
