import type { Experiment, Trial } from "../../api/types";
import { isTerminal, stateName } from "../../components/format";
import { Logs } from "../../components/logs/logs";
import { Choice } from "../../components/parts";
import { Link, useParameter } from "../../components/address/route";

/** The log of one of the experiment's trials: the first, until another one is chosen. */
export function FirstLogs({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const [wanted, setWanted] = useParameter("trial");
  const trial = trials.find(({ id }) => String(id) === wanted) ?? trials[0];
  if (trial === undefined) return <p className="quiet">No trials yet.</p>;
  return (
    <>
      {trials.length > 1 && (
        <p className="row">
          <Choice
            label="Trial"
            value={String(trial.id)}
            options={trials.map(({ id, state }) => [String(id), `${id} (${stateName(state)})`] as const)}
            onChange={setWanted}
          />
          <Link to={{ page: "trial", id: trial.id, tab: "logs" }}>its page</Link>
        </p>
      )}
      <Logs key={trial.id} of={{ trial: trial.id }} command={`det trial logs ${trial.id}`} live={!isTerminal(experiment.state) && !isTerminal(trial.state)} />
    </>
  );
}
