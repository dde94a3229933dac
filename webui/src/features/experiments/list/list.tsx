import { useCallback, useEffect, useRef, useState } from "react";
import { get } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import type { Experiment } from "../../../api/types";
import { Popup } from "../../../components/forms/dialog";
import { count } from "../../../components/format";
import { Choice, Loaded, PageHead } from "../../../components/parts";
import type { Query } from "../../../components/address/paths";
import { useQuery } from "../../../components/address/route";
import { parseOrder } from "../../../components/tables/sorting";
import { TableHead } from "../../../components/tables/table";
import { findExperiments, type ListedPage, listExperiments } from "../api";
import { FirstExperiment } from "../first_experiment";
import { BulkActions } from "./bulk";
import { filterKey, latest, stillChosen } from "./chosen";
import { allColumns, chosenColumns, usualColumns } from "./columns";
import type { Vocabulary } from "./expression";
import { extraTitle, isExtra, type Listed, vocabularyOf } from "./extra_columns";
import { FilterField } from "./filter_field";
import { pageOf, pageSize, pagesOf, sortKeys, stateFilters, usualOrder } from "./search";
import { Views } from "./views";

const pollMs = 2000;
const columnsKey = "experiment columns";

/** All experiments. */
export function ExperimentList() {
  return (
    <>
      <PageHead title="Experiments" />
      <ExperimentTable />
    </>
  );
}

/**
 * Experiments, all or those of a project: found, filtered, sorted and paged by the master; the address holds the
 * question.
 */
export function ExperimentTable({ project }: { project?: number }) {
  const [asked, change] = useQuery();
  const query = project === undefined ? asked : { ...asked, project: String(project) };
  const columns = columnsOf(query);
  const [list, reload] = usePolled(JSON.stringify([query, columns]), (signal) => listExperiments(query, columns.split(","), signal), pollMs, undefined, {
    topics: ["experiments"],
    leastMs: 1000,
  });
  // While the next answer is on its way, the last one stays: nothing jumps while one types.
  const [last, setLast] = useState<ListedPage>();
  const [chosen, setChosen] = useState<ReadonlyMap<number, Experiment>>(new Map());
  const filter = filterKey(query);
  const [before, setBefore] = useState(filter);
  if (list.status === "loaded" && list.value !== last) {
    setLast(list.value);
    setBefore(filter);
    setChosen((all) => stillChosen(all, list.value, filter !== before));
  }
  const shown = list.status === "loading" && last !== undefined ? { status: "loaded" as const, value: last } : list;
  const choose = useCallback((some: readonly Experiment[], on: boolean) => {
    setChosen((before) => {
      const after = new Map(before);
      for (const experiment of some) {
        if (on) after.set(experiment.id, experiment);
        else after.delete(experiment.id);
      }
      return after;
    });
  }, []);
  const ask = (some: Query) => change({ page: "", ...some });
  return (
    <>
      <Filters query={asked} project={project} ask={ask} total={shown.status === "loaded" ? shown.value.pagination.total : undefined} />
      <BulkActions
        chosen={latest(chosen, last)}
        onClear={() => setChosen(new Map())}
        onDone={(gone) => {
          choose(gone, false);
          reload();
        }}
      />
      <Loaded of={shown} what="experiments">
        {({ experiments, pagination }) => (
          <>
            {experiments.length === 0 ? (
              <Nothing query={asked} project={project} />
            ) : (
              <Rows experiments={experiments} query={query} change={ask} chosen={chosen} choose={choose} />
            )}
            <Pages total={pagination.total ?? 0} query={query} change={change} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Nothing({ query, project }: { query: Query; project: number | undefined }) {
  if (Object.keys(query).length > 0) return <p className="quiet">No experiments match these filters.</p>;
  return (
    <div className="quiet">
      {project === undefined ? "No experiments yet." : "No experiments in this project yet."} To create a first one:
      <FirstExperiment project={project} />
    </div>
  );
}

interface FiltersProps {
  readonly query: Query;
  readonly project: number | undefined;
  readonly ask: (some: Query) => void;
  readonly total: number | undefined;
}

/** The columns that are shown, separated by commas. */
const columnsOf = (query: Query): string => query.columns ?? localStorage.getItem(columnsKey) ?? usualColumns;

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

function Filters({ query, project, ask, total }: FiltersProps) {
  const [users] = usePolled("users", (signal) => get("/api/v1/users", {}, signal), 60_000);
  const names = users.status === "loaded" ? users.value.users.map((user) => user.username) : [];
  const [known, look] = useVocabulary(names, project);
  const columns = columnsOf(query);
  const toggle = (id: string, on: boolean) => {
    const kept = columns.split(",").filter((name) => name !== id);
    const text = (on ? [...kept, id] : kept).join(",");
    localStorage.setItem(columnsKey, text);
    ask({ columns: text });
  };
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
        {total !== undefined && <span className="quiet">{count(total, "experiment")}</span>}
        <Views query={query} show={(view) => ask({ ...Object.fromEntries(Object.keys(query).map((name) => [name, ""])), ...view })} />
        <Popup label="Columns" onOpen={look}>
          <ColumnChoice columns={columns.split(",")} known={known} toggle={toggle} />
        </Popup>
      </div>
    </search>
  );
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

interface RowsProps {
  readonly experiments: readonly Listed[];
  readonly query: Query;
  readonly change: (some: Query) => void;
  readonly chosen: ReadonlyMap<number, Experiment>;
  readonly choose: (some: readonly Experiment[], on: boolean) => void;
}

function Rows({ experiments, query, change, chosen, choose }: RowsProps) {
  const columns = chosenColumns(columnsOf(query));
  const order = parseOrder(query.sort ?? usualOrder);
  const all = experiments.every(({ id }) => chosen.has(id));
  return (
    <div className="table">
      <table aria-label="Experiments">
        <TableHead
          columns={columns}
          sortable={(id) => id in sortKeys || isExtra(id)}
          order={order}
          onOrder={({ by, descending }) => {
            const sort = `${descending ? "-" : ""}${by}`;
            change({ sort: sort === usualOrder ? "" : sort });
          }}
          before={
            <th className="tight">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={all}
                onChange={(event) => choose(experiments, event.target.checked)}
              />
            </th>
          }
        />
        <tbody>
          {experiments.map((experiment) => (
            <tr key={experiment.id} className={chosen.has(experiment.id) ? "chosen" : undefined}>
              <td className="tight">
                <input
                  type="checkbox"
                  aria-label={`Select experiment ${experiment.id}`}
                  checked={chosen.has(experiment.id)}
                  onChange={(event) => choose([experiment], event.target.checked)}
                />
              </td>
              {columns.map(({ id, number, cell }) => (
                <td key={id} className={number ? "number" : id === "name" ? "name" : undefined}>
                  {cell(experiment)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Pages({ total, query, change }: { total: number; query: Query; change: (some: Query) => void }) {
  const page = pageOf(query);
  const pages = pagesOf(total);
  // An address from when there were more of them.
  useEffect(() => {
    if (page > pages) change({ page: pages === 1 ? "" : String(pages) });
  }, [page, pages]);
  if (pages === 1 || page > pages) return null;
  const to = (n: number) => {
    change({ page: n === 1 ? "" : String(n) });
    window.scrollTo(0, 0);
  };
  return (
    <nav className="row pages" aria-label="Pages of the list">
      <button type="button" disabled={page <= 1} onClick={() => to(page - 1)}>
        Previous
      </button>
      <span className="quiet">
        {((page - 1) * pageSize + 1).toLocaleString("en-US")}–{Math.min(total, page * pageSize).toLocaleString("en-US")} of{" "}
        {total.toLocaleString("en-US")}
      </span>
      <button type="button" disabled={page >= pages} onClick={() => to(page + 1)}>
        Next
      </button>
    </nav>
  );
}
