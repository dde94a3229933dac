import { useState } from "react";
import { toApiError, usePolled } from "../../api/loadable";
import type { Experiment, Trial } from "../../api/types";
import { formatNumber, isTerminal, runTime } from "../../components/format";
import { Logs } from "../../components/logs";
import { Metrics } from "../../components/metrics";
import { Link, Loaded, Progress, StateBadge } from "../../components/parts";
import type { ExperimentTab } from "../../components/paths";
import { type Action, actions, explanations } from "./actions";
import { act, getExperiment, listTrials } from "./api";
import { TrialTable } from "./trial_table";

const pollMs = 1000;
const chartedMax = 8;

interface Both {
  readonly experiment: Experiment;
  readonly trials: readonly Trial[];
}

async function load(id: number, signal: AbortSignal): Promise<Both> {
  const [experiment, trials] = await Promise.all([getExperiment(id, signal), listTrials(id, signal)]);
  return { experiment, trials };
}

/** One experiment: its state, what one can do with it, its trials and their metrics. */
export function ExperimentPage({ id, tab }: { id: number; tab: ExperimentTab }) {
  const [loaded, reload] = usePolled(
    `experiment ${id}`,
    (signal) => load(id, signal),
    pollMs,
    ({ experiment }) => !isTerminal(experiment.state),
  );
  return (
    <main>
      <Loaded of={loaded} what={`experiment ${id}`}>
        {({ experiment, trials }) => (
          <>
            <Head experiment={experiment} reload={reload} />
            <nav className="tabs">
              {(["overview", "configuration", "logs"] as const).map((name) => (
                <Link key={name} to={{ page: "experiment", id, tab: name }} current={name === tab}>
                  {name}
                </Link>
              ))}
            </nav>
            {tab === "overview" && <Overview experiment={experiment} trials={trials} />}
            {tab === "configuration" && <Configuration experiment={experiment} />}
            {tab === "logs" && <FirstLogs experiment={experiment} trials={trials} />}
          </>
        )}
      </Loaded>
    </main>
  );
}

function Head({ experiment, reload }: { experiment: Experiment; reload: () => void }) {
  const over = isTerminal(experiment.state);
  return (
    <header>
      <div className="row">
        <h1>
          <span className="quiet">Experiment {experiment.id}</span> {experiment.name}
        </h1>
        <StateBadge state={experiment.state} />
        {!over && <Progress fraction={experiment.progress} />}
        <Buttons experiment={experiment} reload={reload} />
      </div>
      {experiment.description !== "" && <p>{experiment.description}</p>}
      {experiment.error && <p className="problem">{experiment.error}</p>}
      {!over && experiment.waitingReason && <p className="quiet">Waits: {experiment.waitingReason}</p>}
      <p className="quiet">
        {experiment.username} · {experiment.searcherType} search of {experiment.searcherMetric} ·{" "}
        {runTime(experiment.startTime, experiment.endTime, Date.now())}
        {formatNumber(experiment.bestTrialSearcherMetric) !== "" && ` · best ${formatNumber(experiment.bestTrialSearcherMetric)}`}
      </p>
    </header>
  );
}

function Buttons({ experiment, reload }: { experiment: Experiment; reload: () => void }) {
  const [busy, setBusy] = useState<Action | undefined>();
  const [problem, setProblem] = useState("");
  const run = async (action: Action) => {
    if (action === "kill" && !window.confirm(`Kill experiment ${experiment.id}? ${explanations.kill}.`)) return;
    setBusy(action);
    setProblem("");
    try {
      await act(experiment.id, action);
      reload();
    } catch (cause) {
      setProblem(toApiError(cause).message);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <span className="buttons">
      {actions(experiment.state).map((action) => (
        <button key={action} type="button" title={explanations[action]} disabled={busy !== undefined} onClick={() => void run(action)}>
          {action}
        </button>
      ))}
      {problem !== "" && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}

function Overview({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const charted = trials.slice(0, chartedMax).map((trial) => trial.id);
  return (
    <>
      <Metrics trialIds={charted} live={!isTerminal(experiment.state)} first={experiment.searcherMetric} />
      {trials.length > chartedMax && <p className="quiet">The first {chartedMax} trials are drawn.</p>}
      <TrialTable trials={trials} metric={experiment.searcherMetric} />
    </>
  );
}

function Configuration({ experiment }: { experiment: Experiment }) {
  return (
    <div className="columns">
      <section>
        <h2>As submitted</h2>
        <pre className="code">{experiment.originalConfig}</pre>
      </section>
      <section>
        <h2>With all defaults</h2>
        <pre className="code">{JSON.stringify(experiment.config, undefined, 2)}</pre>
      </section>
    </div>
  );
}

function FirstLogs({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const first = trials[0];
  if (first === undefined) return <p className="quiet">No trial has been created yet.</p>;
  return (
    <>
      <p className="quiet">
        Of trial <Link to={{ page: "trial", id: first.id, tab: "logs" }}>{first.id}</Link>
        {trials.length > 1 && "; each trial has its own"}.
      </p>
      <Logs key={first.id} trialId={first.id} live={!isTerminal(experiment.state)} />
    </>
  );
}
