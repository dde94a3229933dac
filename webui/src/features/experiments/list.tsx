import { useEffect, useState } from "react";
import { usePolled } from "../../api/loadable";
import type { Experiment } from "../../api/types";
import { formatNumber, isTerminal, runTime } from "../../components/format";
import { go, Link, Loaded, Progress, StateBadge } from "../../components/parts";
import { listExperiments } from "./api";
import { stateFilters } from "./search";

const pollMs = 2000;
const step = 100;

/** All experiments, newest first, with a search box; the address holds the search. */
export function ExperimentList({ search, state }: { search: string; state: string }) {
  const [limit, setLimit] = useState(step);
  const key = JSON.stringify([search, state, limit]);
  const [list] = usePolled(key, (signal) => listExperiments(search, state, limit, signal), pollMs);
  return (
    <main>
      <header className="row">
        <h1>Experiments</h1>
        <SearchBox search={search} state={state} />
      </header>
      <Loaded of={list} what="experiments">
        {({ experiments, more }) => (
          <>
            {experiments.length === 0 ? <Nothing searched={search !== "" || state !== ""} /> : <Table experiments={experiments} />}
            {more && (
              <button type="button" onClick={() => setLimit(limit + step)}>
                Show more
              </button>
            )}
          </>
        )}
      </Loaded>
    </main>
  );
}

function Nothing({ searched }: { searched: boolean }) {
  if (searched) return <p className="quiet">No experiment matches.</p>;
  return (
    <p className="quiet">
      No experiments yet. In a directory with a model: <code>det experiment create config.yaml .</code>
    </p>
  );
}

function SearchBox({ search, state }: { search: string; state: string }) {
  const [text, setText] = useState(search);
  useEffect(() => setText(search), [search]);
  // Waits until the user has stopped typing.
  useEffect(() => {
    if (text.trim() === search) return;
    const timer = setTimeout(() => go({ page: "experiments", search: text.trim(), state }, "replace"), 250);
    return () => clearTimeout(timer);
  }, [text, search, state]);
  return (
    <search className="row">
      <input
        type="search"
        value={text}
        placeholder="Number, name or description"
        aria-label="Search by number, name or description"
        onChange={(event) => setText(event.target.value)}
      />
      <select
        value={state}
        aria-label="State"
        onChange={(event) => go({ page: "experiments", search, state: event.target.value }, "replace")}
      >
        <option value="">any state</option>
        {Object.keys(stateFilters).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </search>
  );
}

function Table({ experiments }: { experiments: readonly Experiment[] }) {
  const now = Date.now();
  return (
    <table>
      <thead>
        <tr>
          <th>ID</th>
          <th>Name</th>
          <th>State</th>
          <th>Progress</th>
          <th className="number">Trials</th>
          <th>Searcher</th>
          <th className="number">Best</th>
          <th className="number">Time</th>
          <th>User</th>
        </tr>
      </thead>
      <tbody>
        {experiments.map((experiment) => (
          <Row key={experiment.id} experiment={experiment} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ experiment, now }: { experiment: Experiment; now: number }) {
  const view = { page: "experiment", id: experiment.id, tab: "overview" } as const;
  return (
    <tr>
      <td>
        <Link to={view}>{experiment.id}</Link>
      </td>
      <td>
        <Link to={view}>{experiment.name || "(no name)"}</Link>
        {experiment.description !== "" && <div className="quiet">{experiment.description}</div>}
      </td>
      <td>
        <StateBadge state={experiment.state} />
      </td>
      <td>{isTerminal(experiment.state) ? "" : <Progress fraction={experiment.progress} />}</td>
      <td className="number">{experiment.numTrials}</td>
      <td>{experiment.searcherType}</td>
      <td className="number" title={experiment.searcherMetric}>
        {formatNumber(experiment.bestTrialSearcherMetric)}
      </td>
      <td className="number">{runTime(experiment.startTime, experiment.endTime, now)}</td>
      <td>{experiment.username}</td>
    </tr>
  );
}
