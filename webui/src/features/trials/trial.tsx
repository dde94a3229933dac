import { useMemo, useState } from "react";
import { usePolled } from "../../api/loadable";
import { CheckpointTable } from "../../components/tables/checkpoint_table";
import { scaleOf } from "../../components/charts/curves";
import { Dialog } from "../../components/forms/dialog";
import { count, flatten, formatBytes, formatNumber, isTerminal, runTime } from "../../components/format";
import { Logs } from "../../components/logs/logs";
import { Media } from "../../components/media/media";
import { Metrics } from "../../components/charts/metrics";
import { useRights } from "../../components/people/me";
import { Age, Loaded, Pairs, Panel, Problem, StateBadge } from "../../components/parts";
import { type TrialTab, trialTabs } from "../../components/address/paths";
import { Link, Tabs } from "../../components/address/route";
import { killTrial, listCheckpoints } from "./api";
import { getTrial, type TrialWithExperiment } from "../../api/trials";
import { EnvironmentPanels } from "./environment_panels";
import { ProfilePanel } from "./profile_panel";
import { RunTable } from "./run_table";
import { TimelinePanel } from "./timeline_panel";
import { WorkloadTable } from "./workload_table";

const pollMs = 1000;

/** One trial: how far it is, its hyperparameters, metrics, checkpoints, runs and logs. */
export function TrialPage({ id, tab }: { id: number; tab: TrialTab }) {
  const [loaded, reload] = usePolled(
    `trial ${id}`,
    (signal) => getTrial(id, signal),
    pollMs,
    ({ trial }) => !isTerminal(trial.state),
    { topics: [`trial ${id}`], leastMs: 250 },
  );
  return (
    <Loaded of={loaded} what={`trial ${id}`} title={`Trial ${id}`}>
      {({ trial, experiment }) => (
        <>
          <Head trial={trial} experiment={experiment} reload={reload} />
          <Tabs label="Trial sections">
            {trialTabs.map((name) => (
              <Link key={name} to={{ page: "trial", id, tab: name }} current={name === tab}>
                {name}
              </Link>
            ))}
          </Tabs>
          <Content trial={trial} experiment={experiment} tab={tab} />
        </>
      )}
    </Loaded>
  );
}

function Content({ trial, experiment, tab }: TrialWithExperiment & { tab: TrialTab }) {
  const live = !isTerminal(trial.state);
  switch (tab) {
    case "overview":
      return <Overview trial={trial} experiment={experiment} live={live} />;
    case "media":
      return <Media trialIds={[trial.id]} live={live} />;
    case "hyperparameters":
      return (
        <Panel title="Hyperparameters">
          <Hyperparameters of={trial.hparams} />
        </Panel>
      );
    case "workloads":
      return <WorkloadTable id={trial.id} live={live} />;
    case "checkpoints":
      return <Checkpoints id={trial.id} live={live} />;
    case "runs":
      return (
        <>
          <TimelinePanel id={trial.id} taskId={trial.taskId} metric={experiment.searcherMetric} live={live} />
          <RunTable id={trial.id} batches={trial.totalBatchesProcessed} live={live} config={experiment.config} />
        </>
      );
    case "profile":
      return <ProfilePanel id={trial.id} startTime={trial.startTime} live={live} />;
    case "environment":
      return <EnvironmentPanels id={trial.id} live={live} />;
    case "logs":
      return <Logs of={{ trial: trial.id }} command={`det trial logs ${trial.id}`} live={live} />;
  }
}

function Head({ trial, experiment, reload }: TrialWithExperiment & { reload: () => void }) {
  const [asks, setAsks] = useState(false);
  const over = isTerminal(trial.state);
  const { may } = useRights();
  const kills = !over && may("UPDATE_EXPERIMENT", { workspace: experiment.workspaceId, owners: [experiment.userId] });
  return (
    <header className="pagehead">
      <div className="row">
        <h1>
          <span className="quiet">Trial {trial.id} of</span>{" "}
          <Link to={{ page: "experiment", id: experiment.id, tab: "overview" }}>
            {experiment.name || `experiment ${experiment.id}`}
          </Link>
        </h1>
        <StateBadge state={trial.state} />
        {trial.runnerState && !over && <span className="quiet">{trial.runnerState}</span>}
        <div className="actions">
          <Link to={{ page: "compare" }} query={{ trials: String(trial.id) }}>
            Compare
          </Link>
          {kills && (
            <button type="button" title="Stop immediately without saving" onClick={() => setAsks(true)}>
              Kill
            </button>
          )}
        </div>
      </div>
      {trial.error && <Problem text={trial.error} />}
      {trial.logPolicyMatched && <p className="quiet">Log policy matched: {trial.logPolicyMatched}</p>}
      {!over && trial.waitingReason && <p className="quiet">Waiting: {trial.waitingReason}</p>}
      {asks && (
        <Dialog
          title={`Kill trial ${trial.id}?`}
          action="Kill"
          danger
          onAction={() => killTrial(trial.id).then(reload)}
          onClose={() => setAsks(false)}
        >
          <p>The trial stops immediately without saving. Other trials of experiment {experiment.id} keep running.</p>
        </Dialog>
      )}
    </header>
  );
}

function Overview({ trial, experiment, live }: TrialWithExperiment & { live: boolean }) {
  const scales = useMemo(() => new Map([[trial.id, scaleOf(trial, experiment.config)]]), [trial.id, trial.startTime, experiment.config]);
  const ids = useMemo(() => [trial.id], [trial.id]);
  const target = trial.targetBatches ? ` of ${trial.targetBatches}` : "";
  const started = trial.warmStartCheckpointUuid;
  return (
    <>
      <Metrics trialIds={ids} scales={scales} live={live} first={experiment.searcherMetric} />
      <div className="columns">
        <Panel title="Progress">
          <Pairs
            rows={[
              ["Batches", `${trial.totalBatchesProcessed}${target}`],
              [`Best ${experiment.searcherMetric}`, trial.searcherMetricValue === undefined || trial.searcherMetricValue === null ? "none yet" : formatNumber(trial.searcherMetricValue)],
              ["Started", <Age key="started" time={trial.startTime} />],
              ["Duration", runTime(trial.startTime, trial.endTime, Date.now())],
              ["Restarts", String(trial.restarts)],
              ["Checkpoints", `${trial.checkpointCount ?? 0}, ${formatBytes(Number(trial.totalCheckpointSize ?? 0))}`],
              [
                "Best checkpoint",
                trial.bestCheckpoint ? `${trial.bestCheckpoint.uuid} at ${count(trial.bestCheckpoint.totalBatches, "batch", "batches")}` : "none yet",
              ],
              ...(started ? ([["Started from", started]] as const) : []),
            ]}
          />
        </Panel>
        <Panel title="Hyperparameters">
          <Hyperparameters of={trial.hparams} />
        </Panel>
      </div>
    </>
  );
}

function Hyperparameters({ of }: { of: TrialWithExperiment["trial"]["hparams"] }) {
  const rows = flatten(of);
  return rows.length === 0 ? <p className="quiet">No hyperparameters.</p> : <Pairs rows={rows} />;
}

function Checkpoints({ id, live }: { id: number; live: boolean }) {
  const [list] = usePolled(`checkpoints ${id}`, (signal) => listCheckpoints(id, signal), 5000, () => live, { topics: [`trial ${id}`], leastMs: 2000 });
  return (
    <Loaded of={list} what="checkpoints">
      {(checkpoints) => <CheckpointTable checkpoints={checkpoints} />}
    </Loaded>
  );
}
