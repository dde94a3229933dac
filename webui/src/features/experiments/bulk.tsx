import { useState } from "react";
import { toApiError } from "../../api/loadable";
import type { Experiment } from "../../api/types";
import { Dialog } from "../../components/dialog";
import { ApiError } from "../../api/client";
import { count } from "../../components/format";
import { StateBadge } from "../../components/parts";
import { Link } from "../../components/route";
import { act } from "./api";
import { type Action, actionNames, done, explanations, isDangerous, plan } from "./actions";

interface BulkProps {
  readonly chosen: readonly Experiment[];
  readonly onClear: () => void;
  /** Something was done; these experiments need not be chosen any more. */
  readonly onDone: (gone: readonly Experiment[]) => void;
}

/** What one can do with all experiments that are chosen. */
export function BulkActions({ chosen, onClear, onDone }: BulkProps) {
  const [action, setAction] = useState<Action>();
  if (chosen.length === 0 && action === undefined) return null;
  const trials = chosen.flatMap(({ bestTrialId }) => (bestTrialId ? [bestTrialId] : []));
  return (
    <div className="row bulk" role="group" aria-label="Actions for the chosen experiments">
      <strong>{chosen.length} chosen</strong>
      {actionNames.map((name) => {
        const able = plan(name, chosen).acts.length;
        return able === 0 ? null : (
          <button key={name} type="button" title={explanations[name]} onClick={() => setAction(name)}>
            {name} {able === chosen.length ? "" : able}
          </button>
        );
      })}
      {trials.length > 1 && (
        <Link to={{ page: "compare" }} query={{ trials: trials.join(",") }}>
          compare their best trials
        </Link>
      )}
      <button type="button" className="text" onClick={onClear}>
        choose none
      </button>
      {action !== undefined && (
        <ActionDialog action={action} chosen={chosen} onDone={onDone} onClose={() => setAction(undefined)} />
      )}
    </div>
  );
}

type Outcome = "waits" | "done" | { readonly problem: string };

interface ActionDialogProps {
  readonly action: Action;
  readonly chosen: readonly Experiment[];
  readonly onDone: (gone: readonly Experiment[]) => void;
  readonly onClose: () => void;
}

/** States exactly what will be acted on, does it one by one, and says of each what happened. */
export function ActionDialog({ action, chosen, onDone, onClose }: ActionDialogProps) {
  // What the dialog asked about is what is done, whatever the list shows meanwhile.
  const [{ acts, leaves }] = useState(() => plan(action, chosen));
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, Outcome>>(new Map());
  const started = outcomes.size > 0;
  const run = async () => {
    setOutcomes(new Map(acts.map(({ id }) => [id, "waits"])));
    const gone: Experiment[] = [];
    let failed = 0;
    for (const experiment of acts) {
      const outcome = await act(experiment.id, action).then(
        (): Outcome => "done",
        (cause: unknown): Outcome => ({ problem: toApiError(cause).message }),
      );
      if (outcome === "done") gone.push(experiment);
      else failed += 1;
      setOutcomes((before) => new Map(before).set(experiment.id, outcome));
    }
    onDone(gone);
    if (failed > 0) throw new ApiError(0, `${count(failed, "experiment")} could not be ${done[action]}.`);
  };
  return (
    <Dialog
      title={`${action.charAt(0).toUpperCase()}${action.slice(1)} ${count(acts.length, "experiment")}?`}
      action={action}
      danger={isDangerous(action)}
      disabled={started}
      onAction={run}
      onClose={onClose}
    >
      <p>{explanations[action]}.</p>
      <ul className="subjects" aria-label={`Experiments to ${action}`}>
        {acts.map(({ id, name, state }) => (
          <li key={id}>
            <span className="number">{id}</span> {name} <StateBadge state={state} /> <Result outcome={outcomes.get(id)} action={action} />
          </li>
        ))}
      </ul>
      {leaves.length > 0 && (
        <>
          <p>Left as they are:</p>
          <ul className="subjects quiet" aria-label="Left as they are">
            {leaves.map(({ item, why }) => (
              <li key={item.id}>
                <span className="number">{item.id}</span> {item.name} {why}
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}

function Result({ outcome, action }: { outcome: Outcome | undefined; action: Action }) {
  if (outcome === undefined) return null;
  if (outcome === "waits") return <span className="quiet">…</span>;
  if (outcome === "done") return <span className="state good">{done[action]}</span>;
  return <span className="problem">{outcome.problem}</span>;
}
