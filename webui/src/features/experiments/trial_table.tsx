import type { Trial } from "../../api/types";
import { flatten, formatNumber, runTime } from "../../components/format";
import { Link, StateBadge } from "../../components/parts";

/** The trials of an experiment, a row each. */
export function TrialTable({ trials, metric }: { trials: readonly Trial[]; metric: string }) {
  if (trials.length === 0) return <p className="quiet">No trial has been created yet.</p>;
  return (
    <section aria-label="Trials">
      <h2>Trials</h2>
      <table>
        <thead>
          <tr>
            <th>ID</th>
            <th>State</th>
            <th className="number">Batches</th>
            <th className="number">Best {metric}</th>
            <th className="number">Restarts</th>
            <th className="number">Time</th>
            <th>Hyperparameters</th>
          </tr>
        </thead>
        <tbody>
          {trials.map((trial) => (
            <tr key={trial.id}>
              <td>
                <Link to={{ page: "trial", id: trial.id, tab: "overview" }}>{trial.id}</Link>
              </td>
              <td>
                <StateBadge state={trial.state} />
              </td>
              <td className="number">{trial.totalBatchesProcessed}</td>
              <td className="number">{formatNumber(trial.searcherMetricValue)}</td>
              <td className="number">{trial.restarts}</td>
              <td className="number">{runTime(trial.startTime, trial.endTime, Date.now())}</td>
              <td className="quiet">
                {flatten(trial.hparams)
                  .map(([name, value]) => `${name}=${value}`)
                  .join("  ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
