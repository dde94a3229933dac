import { formatNumber } from "../../../components/format";
import type { ExperimentGroup } from "../api";
import type { Cell, PlacedColumn } from "./columns";
import { searchColumn } from "./search";

const ends = ["COMPLETED", "CANCELED", "ERROR", "DELETED"];

/** "12: 3 running, 9 completed"; what still runs comes first. */
function statesText(states: Readonly<Record<string, number>>): string {
  const list = Object.entries(states).sort(([a], [b]) => ends.indexOf(a) - ends.indexOf(b));
  return list.map(([state, n]) => `${n} ${state.toLowerCase().replaceAll("_", " ")}`).join(", ");
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "(none)";
  if (typeof value === "number") return formatNumber(value);
  if (Array.isArray(value)) return value.length === 0 ? "(none)" : value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

interface Props {
  readonly title: string;
  readonly group: ExperimentGroup;
  readonly columns: readonly PlacedColumn[];
  readonly open: boolean;
  readonly onToggle: () => void;
  readonly place: (column: PlacedColumn) => Cell;
}

/** The head of a group: its value, how many it has, and what its columns amount to. */
export function GroupRow({ title, group, columns, open, onToggle, place }: Props) {
  const value = valueText(group.value);
  const numbers = new Map(group.aggregates.map((one) => [one.column, one]));
  return (
    <tr className="group">
      <td className="tight pinned" />
      {columns.map((column) => {
        const sum = numbers.get(searchColumn(column.id));
        return (
          <td key={column.id} {...place(column)}>
            {column.id === "name" ? (
              <button type="button" className="text" aria-expanded={open} aria-label={`${title} ${value}, ${group.count}`} onClick={onToggle}>
                <span aria-hidden="true">{open ? "▾" : "▸"}</span> {title} <strong>{value}</strong> <span className="quiet">{group.count}</span>
              </button>
            ) : column.id === "state" ? (
              <span className="quiet ellipsis" title={statesText(group.states)}>
                {statesText(group.states)}
              </span>
            ) : (
              sum !== undefined && column.sum?.(sum)
            )}
          </td>
        );
      })}
    </tr>
  );
}
