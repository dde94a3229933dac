import { useCallback, useRef, useState } from "react";
import { get } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import type { Query } from "../../../components/address/paths";
import { Popup } from "../../../components/forms/dialog";
import { Choice } from "../../../components/parts";
import { findExperiments } from "../api";
import { allColumns, groupColumns, groupTitle, usualColumns } from "./columns";
import type { Vocabulary } from "./expression";
import { extraTitle, isExtra, vocabularyOf } from "./extra_columns";
import { FilterField } from "./filter_field";
import { layoutText, parseLayout, shown } from "./layout";
import { stateFilters } from "./search";
import { Views } from "./views";

export const columnsKey = "experiment columns";

interface FiltersProps {
  readonly query: Query;
  readonly project: number | undefined;
  readonly ask: (some: Query) => void;
  readonly setColumns: (text: string) => void;
  /** How many there are, in words. */
  readonly found: string | undefined;
}

/** The layout of the columns, see layout.ts. */
export const columnsOf = (query: Query): string => query.columns ?? localStorage.getItem(columnsKey) ?? usualColumns;

const nothingKnown: Vocabulary = { hyperparameters: [], metrics: [], users: [], labels: [] };

/** What can be filtered by and shown, by the newest experiments; it is looked up when somebody wants to know. */
function useVocabulary(users: readonly string[], project: number | undefined): readonly [Vocabulary, () => void] {
  const [known, setKnown] = useState(nothingKnown);
  const asked = useRef(false);
  const look = useCallback(() => {
    if (asked.current) return;
    asked.current = true;
    findExperiments(project === undefined ? {} : { project: String(project) }).then(
      ({ experiments }) => setKnown(vocabularyOf(experiments, [])),
      () => (asked.current = false), // the list itself says what is wrong
    );
  }, [project]);
  return [{ ...known, users }, look];
}

/** What narrows the list down, and what it shows. */
export function Filters({ query, project, ask, setColumns, found }: FiltersProps) {
  const [users] = usePolled("users", (signal) => get("/api/v1/users", {}, signal), 60_000);
  const names = users.status === "loaded" ? users.value.users.map((user) => user.username) : [];
  const [known, look] = useVocabulary(names, project);
  const layout = parseLayout(columnsOf(query));
  const toggle = (id: string, on: boolean) => setColumns(layoutText(shown(layout, id, on)));
  return (
    <search className="row filters">
      <FilterField query={query} ask={ask} known={known} onFocus={look} />
      <Choice
        label="State"
        value={query.state ?? ""}
        options={[["", "any"], ...Object.keys(stateFilters).map((name) => [name, name] as const)]}
        onChange={(state) => ask({ state })}
      />
      <Choice
        label="User"
        value={query.user ?? ""}
        options={[["", "any"], ["me", "me"], ...names.map((name) => [name, name] as const)]}
        onChange={(user) => ask({ user })}
      />
      <Choice
        label="Archived"
        value={query.archived ?? ""}
        options={[["", "no"], ["yes", "yes"], ["all", "both"]]}
        onChange={(archived) => ask({ archived })}
      />
      <span onFocus={look} onPointerDown={look}>
        <Choice
          label="Group by"
          value={query.group ?? ""}
          options={[["", "nothing"], ...groupOptions(known, query.group)]}
          onChange={(group) => ask({ group, open: "" })}
        />
      </span>
      {query.label && (
        <button type="button" onClick={() => ask({ label: "" })} aria-label={`Remove the filter label ${query.label}`}>
          label {query.label} ×
        </button>
      )}
      {query.project && (
        <button type="button" onClick={() => ask({ project: "" })} aria-label="Remove the filter by project">
          project {query.project} ×
        </button>
      )}
      <div className="actions">
        <span className="quiet">{found}</span>
        <Views query={query} show={(view) => ask({ ...Object.fromEntries(Object.keys(query).map((name) => [name, ""])), ...view })} />
        <Popup label="Columns" onOpen={look}>
          <ColumnChoice columns={layout.map(({ id }) => id)} known={known} toggle={toggle} />
        </Popup>
      </div>
    </search>
  );
}

/** What the list can be grouped by: columns, and the hyperparameters that there are. */
function groupOptions(known: Vocabulary, current: string | undefined): (readonly [string, string])[] {
  const ids = new Set([...groupColumns.map(({ id }) => id), ...(current ? [current] : []), ...known.hyperparameters.map((name) => `hp.${name}`)]);
  return [...ids].map((id) => [id, groupTitle(id)] as const);
}

interface ColumnChoiceProps {
  readonly columns: readonly string[];
  readonly known: Vocabulary;
  readonly toggle: (id: string, on: boolean) => void;
}

function ColumnChoice({ columns, known, toggle }: ColumnChoiceProps) {
  const box = (id: string, title: string) => (
    <label key={id} title={isExtra(id) ? id : undefined}>
      <input type="checkbox" checked={columns.includes(id)} onChange={(event) => toggle(id, event.target.checked)} />
      {title}
    </label>
  );
  const hyperparameters = new Set([...columns.filter((id) => id.startsWith("hp.")), ...known.hyperparameters.map((name) => `hp.${name}`)]);
  const metrics = new Set([...columns.filter((id) => isExtra(id) && !id.startsWith("hp.")), ...known.metrics]);
  return (
    <>
      {allColumns.filter(({ id }) => id !== "name").map(({ id, title }) => box(id, title))}
      {hyperparameters.size > 0 && <b>Hyperparameters</b>}
      {[...hyperparameters].map((id) => box(id, extraTitle(id)))}
      {metrics.size > 0 && <b>Metrics of the best trial</b>}
      {[...metrics].map((id) => box(id, extraTitle(id)))}
    </>
  );
}
