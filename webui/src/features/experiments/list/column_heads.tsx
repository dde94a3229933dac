import { type PointerEvent, useState } from "react";
import type { Order } from "../../../components/tables/sorting";
import { sortOf, SortTitle } from "../../../components/tables/table";
import { Menu } from "../../../components/forms/menu";
import type { Cell, PlacedColumn } from "./columns";
import { type Layout, moved, movedBefore, pinned, resized, shown } from "./layout";
import { isExtra } from "./extra_columns";
import { sortKeys } from "./search";

/** One step of the menu's buttons, in pixels. */
const step = 24;

interface Props {
  readonly columns: readonly PlacedColumn[];
  readonly layout: Layout;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  /** While somebody drags an edge, `settled` is false. */
  readonly onLayout: (layout: Layout, settled: boolean) => void;
  readonly onGroup: (id: string) => void;
  readonly place: (column: PlacedColumn) => Cell;
}

const isSortable = (id: string) => id in sortKeys || isExtra(id);

/** Titles that sort, are dragged to another place and by their edge to another width; a menu does the same by keyboard. */
export function ColumnHeads({ columns, layout, order, onOrder, onLayout, onGroup, place }: Props) {
  const [dragged, setDragged] = useState<string>();
  return columns.map((column) => {
    const { id, title, hint } = column;
    const change = (next: Layout) => onLayout(next, true);
    return (
      <th
        key={id}
        scope="col"
        title={hint}
        aria-sort={isSortable(id) ? sortOf(order, id) : undefined}
        {...place(column)}
        draggable
        onDragStart={(event) => {
          event.dataTransfer.effectAllowed = "move";
          setDragged(id);
        }}
        onDragEnd={() => setDragged(undefined)}
        onDragOver={(event) => dragged !== undefined && event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          if (dragged !== undefined) change(movedBefore(layout, dragged, id));
        }}
      >
        <span className="head">
          <span className="ellipsis">{isSortable(id) ? <SortTitle id={id} title={title} order={order} onOrder={onOrder} /> : title}</span>
          <Menu label={`Column ${title}`}>
            <button type="button" data-stays onClick={() => change(moved(layout, id, -1))}>
              Move left
            </button>
            <button type="button" data-stays onClick={() => change(moved(layout, id, 1))}>
              Move right
            </button>
            <button type="button" data-stays onClick={() => change(resized(layout, id, column.width + step))}>
              Wider
            </button>
            <button type="button" data-stays onClick={() => change(resized(layout, id, column.width - step))}>
              Narrower
            </button>
            <button type="button" onClick={() => change(pinned(layout, id, !column.pinned))}>
              {column.pinned ? "Unpin" : "Pin"}
            </button>
            {column.groups && (
              <button type="button" onClick={() => onGroup(id)}>
                Group by {title}
              </button>
            )}
            {id !== "name" && (
              <button type="button" onClick={() => change(shown(layout, id, false))}>
                Hide
              </button>
            )}
          </Menu>
          <Edge width={column.width} onWidth={(width, settled) => onLayout(resized(layout, id, width), settled)} />
        </span>
      </th>
    );
  });
}

/** The right edge of a title; a double click makes the column as wide as it usually is. */
function Edge({ width, onWidth }: { width: number; onWidth: (width: number | undefined, settled: boolean) => void }) {
  const drag = (event: PointerEvent<HTMLSpanElement>) => {
    event.preventDefault();
    const handle = event.currentTarget;
    const begun = event.clientX;
    // What it is on the screen, which for the name is what the others leave.
    const before = handle.closest("th")?.getBoundingClientRect().width ?? width;
    handle.setPointerCapture(event.pointerId);
    const to = (x: number, settled: boolean) => onWidth(before + x - begun, settled);
    handle.onpointermove = ({ clientX }) => to(clientX, false);
    handle.onpointerup = ({ clientX }) => {
      handle.onpointermove = handle.onpointerup = null;
      if (clientX !== begun) to(clientX, true);
    };
  };
  return (
    <span
      className="edge"
      aria-hidden="true"
      draggable
      onDragStart={(event) => {
        event.preventDefault();
        event.stopPropagation();
      }}
      onPointerDown={drag}
      onDoubleClick={() => onWidth(undefined, true)}
    />
  );
}
