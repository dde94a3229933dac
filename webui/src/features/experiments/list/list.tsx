import { useCallback, useState } from "react";
import type { Experiment } from "../../../api/types";
import { count } from "../../../components/format";
import { Loaded, PageHead } from "../../../components/parts";
import type { Query } from "../../../components/address/paths";
import { useQuery } from "../../../components/address/route";
import { listExperiments } from "../api";
import { FirstExperiment } from "../first_experiment";
import { BulkActions } from "./bulk";
import { filterKey, latest, stillChosen } from "./chosen";
import { allMax, ExperimentRows } from "./experiment_rows";
import { columnsKey, columnsOf, Filters } from "./filters";
import { parseLayout } from "./layout";
import { pageSize } from "./search";
import { type Rows, useRows, type Wanted } from "./use_rows";

/** All experiments. */
export function ExperimentList() {
  return (
    <>
      <PageHead title="Experiments" />
      <ExperimentTable />
    </>
  );
}

/** What is in view when the address is opened; of groups it is known when they are there. */
function viewOf(query: Query): readonly Wanted[] {
  const page = Math.floor((Number(query.row) || 0) / pageSize);
  return query.group ? [] : [{ group: "", page }];
}

const foundText = ({ total, groups }: Rows) =>
  groups.length === 0 ? count(total, "experiment") : `${count(total, "experiment")} in ${count(groups.length, "group")}`;

/** What is loaded of the list, as an answer. */
const answerOf = ({ pages, total }: Rows) => ({ experiments: [...pages.values()].flat(), pagination: { total } });

/**
 * Experiments, all or those of a project: found, filtered, sorted, grouped and paged by the master; the address holds the
 * question.
 */
export function ExperimentTable({ project }: { project?: number }) {
  const [asked, change] = useQuery();
  const query = project === undefined ? asked : { ...asked, project: String(project) };
  const columns = columnsOf(query);
  const ids = parseLayout(columns).map(({ id }) => id);
  const [wanted, setWanted] = useState(() => viewOf(query));
  const [list, reload] = useRows(query, ids, wanted);
  const [last, setLast] = useState<Rows>();
  const [chosen, setChosen] = useState<ReadonlyMap<number, Experiment>>(new Map());
  const filter = filterKey(query);
  const [before, setBefore] = useState(filter);
  if (list.status === "loaded" && list.value !== last) {
    setLast(list.value);
    setBefore(filter);
    setChosen((all) => stillChosen(all, answerOf(list.value), filter !== before));
  }
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
  const chooseAll = async (on: boolean) => {
    if (!on) return setChosen(new Map());
    const { group: _group, ...all } = query;
    const { experiments } = await listExperiments(all, ids, { size: allMax });
    choose(experiments, true);
  };
  const ask = (some: Query) => change({ row: "", ...some });
  const setColumns = (text: string) => {
    localStorage.setItem(columnsKey, text);
    change({ columns: text });
  };
  return (
    <>
      <Filters query={asked} project={project} ask={ask} setColumns={setColumns} found={list.status === "loaded" ? foundText(list.value) : undefined} />
      <BulkActions
        chosen={latest(chosen, last === undefined ? undefined : answerOf(last))}
        onClear={() => setChosen(new Map())}
        onDone={(gone) => {
          choose(gone, false);
          reload();
        }}
      />
      <Loaded of={list} what="experiments">
        {(rows) =>
          rows.total === 0 ? (
            <Nothing query={asked} project={project} />
          ) : (
            <ExperimentRows
              rows={rows}
              query={query}
              columns={columns}
              onColumns={setColumns}
              ask={ask}
              keep={change}
              onView={setWanted}
              chosen={chosen}
              choose={choose}
              onAll={(on) => void chooseAll(on).catch(reload)} // which says what is wrong
            />
          )
        }
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
