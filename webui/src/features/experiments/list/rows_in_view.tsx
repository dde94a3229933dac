import { memo } from "react";
import type { Experiment } from "../../../api/types";
import type { Query } from "../../../components/address/paths";
import { type Cell, groupTitle, type PlacedColumn } from "./columns";
import type { Listed } from "./extra_columns";
import { GroupRow } from "./group_row";
import type { Place } from "./sections";
import { keyAt, openGroups, rowAt, type Rows } from "./use_rows";

/** What every row of the list needs. */
interface RowsInView {
  readonly columns: readonly PlacedColumn[];
  readonly choose: (some: readonly Experiment[], on: boolean) => void;
  readonly place: (column: PlacedColumn) => Cell;
}

interface InViewProps extends RowsInView {
  readonly rows: Rows;
  readonly places: readonly Place[];
  /** The number of the first of these places. */
  readonly first: number;
  /** The column that the list is grouped by. */
  readonly group: string;
  /** The groups that are open, as the address has them. */
  readonly open: string;
  readonly chosen: ReadonlyMap<number, Experiment>;
  readonly keep: (some: Query) => void;
}

/** What stands at some places of the list. */
export const InView = memo(function InView({ rows, places, first, group, open: openText, columns, chosen, choose, keep, place }: InViewProps) {
  const open = openGroups(openText);
  const toggle = (key: string) => {
    const now = new Set(open);
    if (!now.delete(key)) now.add(key);
    keep({ open: now.size === 0 ? "" : JSON.stringify([...now]) });
  };
  return places.map((at, index) => {
    const key = keyAt(rows, at.section);
    const head = rows.groups[at.section];
    if (at.kind === "head" && head !== undefined)
      return (
        <GroupRow
          key={key}
          title={groupTitle(group)}
          group={head}
          columns={columns}
          open={open.has(key)}
          onToggle={() => toggle(key)}
          place={place}
        />
      );
    const experiment = at.kind === "row" ? rowAt(rows, at.section, at.row) : undefined;
    const number = first + index + 2;
    if (experiment === undefined)
      return (
        <tr key={number} aria-busy="true" aria-rowindex={number}>
          <td colSpan={columns.length + 1} className="quiet">
            …
          </td>
        </tr>
      );
    return (
      <Row key={experiment.id} experiment={experiment} number={number} columns={columns} isChosen={chosen.has(experiment.id)} choose={choose} place={place} />
    );
  });
});

interface RowProps extends RowsInView {
  readonly experiment: Listed;
  readonly number: number;
  readonly isChosen: boolean;
}

const Row = memo(function Row({ experiment, number, columns, isChosen, choose, place }: RowProps) {
  return (
    <tr className={isChosen ? "chosen" : undefined} aria-rowindex={number}>
      <td className="tight pinned">
        <input
          type="checkbox"
          aria-label={`Select experiment ${experiment.id}`}
          checked={isChosen}
          onChange={(event) => choose([experiment], event.target.checked)}
        />
      </td>
      {columns.map((column) => (
        <td key={column.id} {...place(column)}>
          {column.cell(experiment)}
        </td>
      ))}
    </tr>
  );
});
