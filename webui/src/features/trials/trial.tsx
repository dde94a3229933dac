import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Experiment, Trial, TrialEnvironments } from "../../api/types";
import { flatten, formatBytes, formatNumber, isTerminal, runTime } from "../../components/format";
import { Logs } from "../../components/logs";
import { Metrics } from "../../components/metrics";
import { Link, Loaded, StateBadge } from "../../components/parts";
import type { TrialTab } from "../../components/paths";
import { environmentSections } from "./environment";

const pollMs = 1000;

interface Both {
  readonly trial: Trial;
  readonly experiment: Experiment;
}

async function load(id: number, signal: AbortSignal): Promise<Both> {
  const { trial } = await get<{ trial: Trial }>(`trials/${id}`, {}, signal);
  const { experiment } = await get<{ experiment: Experiment }>(`experiments/${trial.experimentId}`, {}, signal);
  return { trial, experiment };
}

/** One trial: how far it is, its hyperparameters, metrics and logs. */
export function TrialPage({ id, tab }: { id: number; tab: TrialTab }) {
  const [loaded] = usePolled(
    `trial ${id}`,
    (signal) => load(id, signal),
    pollMs,
    ({ trial }) => !isTerminal(trial.state),
  );
  return (
    <main>
      <Loaded of={loaded} what={`trial ${id}`}>
        {({ trial, experiment }) => (
          <>
            <Head trial={trial} experiment={experiment} />
            <nav className="tabs">
              {(["overview", "environment", "logs"] as const).map((name) => (
                <Link key={name} to={{ page: "trial", id, tab: name }} current={name === tab}>
                  {name}
                </Link>
              ))}
            </nav>
            {tab === "overview" && (
              <>
                <Metrics trialIds={[id]} live={!isTerminal(trial.state)} first={experiment.searcherMetric} />
                <Facts trial={trial} metric={experiment.searcherMetric} />
              </>
            )}
            {tab === "environment" && <Environment trial={trial} />}
            {tab === "logs" && <Logs trialId={id} live={!isTerminal(trial.state)} />}
          </>
        )}
      </Loaded>
    </main>
  );
}

function Head({ trial, experiment }: { trial: Trial; experiment: Experiment }) {
  return (
    <header>
      <div className="row">
        <h1>
          <span className="quiet">Trial {trial.id}</span> of{" "}
          <Link to={{ page: "experiment", id: experiment.id, tab: "overview" }}>
            {experiment.name || `experiment ${experiment.id}`}
          </Link>
        </h1>
        <StateBadge state={trial.state} />
        {trial.runnerState && !isTerminal(trial.state) && <span className="quiet">{trial.runnerState}</span>}
      </div>
      {trial.error && <p className="problem">{trial.error}</p>}
      {!isTerminal(trial.state) && trial.waitingReason && <p className="quiet">Waits: {trial.waitingReason}</p>}
    </header>
  );
}

function Facts({ trial, metric }: { trial: Trial; metric: string }) {
  const target = trial.targetBatches ? ` of ${trial.targetBatches}` : "";
  const rows: [string, string][] = [
    ["Batches", `${trial.totalBatchesProcessed}${target}`],
    [`Best ${metric}`, formatNumber(trial.searcherMetricValue)],
    ["Time", runTime(trial.startTime, trial.endTime, Date.now())],
    ["Restarts", String(trial.restarts)],
    ["Checkpoints", `${trial.checkpointCount ?? 0}, ${formatBytes(Number(trial.totalCheckpointSize ?? 0))}`],
    ["Best checkpoint", trial.bestCheckpoint ? `${trial.bestCheckpoint.uuid} at ${trial.bestCheckpoint.totalBatches} batches` : ""],
  ];
  return (
    <div className="columns">
      <Pairs title="Progress" rows={rows.filter(([, value]) => value !== "")} />
      <Pairs title="Hyperparameters" rows={flatten(trial.hparams)} />
    </div>
  );
}

/** What it ran in; asked again until it has begun. */
function Environment({ trial }: { trial: Trial }) {
  const [loaded] = usePolled(
    `environment ${trial.id}`,
    (signal) => get<TrialEnvironments>(`trials/${trial.id}/environment`, {}, signal),
    pollMs,
    ({ environments }) => environments.length === 0 && !isTerminal(trial.state),
  );
  return (
    <Loaded of={loaded} what={`environment of trial ${trial.id}`}>
      {(of) => (
        <div className="columns">
          {environmentSections(of).map(({ title, rows }, i) => (
            <Pairs key={i} title={title} rows={rows} />
          ))}
        </div>
      )}
    </Loaded>
  );
}

function Pairs({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h2>{title}</h2>
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
