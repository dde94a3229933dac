import { useState } from "react";
import type { Experiment } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { capitalized, count } from "../../../components/format";
import { useRights } from "../../../components/people/me";
import { Link } from "../../../components/address/route";
import { act } from "../api";
import { MoveDialog } from "./move";
import { Acts, Leaves, useOneByOne } from "./one_by_one";
import { type Action, actionNames, done, explanations, isDangerous, plan, planMove } from "../changing/actions";

interface BulkProps {
  readonly chosen: readonly Experiment[];
  readonly onClear: () => void;
  /** Something was done; these experiments need not be chosen any more. */
  readonly onDone: (gone: readonly Experiment[]) => void;
}

/** What one can do with all experiments that are chosen. */
export function BulkActions({ chosen, onClear, onDone }: BulkProps) {
  const [action, setAction] = useState<Action>();
  const [moves, setMoves] = useState(false);
  const { may } = useRights();
  if (chosen.length === 0 && action === undefined && !moves) return null;
  const trials = chosen.flatMap(({ bestTrialId }) => (bestTrialId ? [bestTrialId] : []));
  return (
    <div className="row bulk" role="group" aria-label="Actions for the selected experiments">
      <strong>{chosen.length} selected</strong>
      {actionNames.map((name) => {
        const able = plan(name, chosen, may).acts.length;
        return able === 0 ? null : (
          <button key={name} type="button" title={explanations[name]} onClick={() => setAction(name)}>
            {capitalized(name)} {able === chosen.length ? "" : able}
          </button>
        );
      })}
      {planMove(0, chosen, may).acts.length > 0 && (
        <button type="button" title="Move to another project" onClick={() => setMoves(true)}>
          Move
        </button>
      )}
      {trials.length > 1 && (
        <Link to={{ page: "compare" }} query={{ trials: trials.join(",") }}>
          Compare best trials
        </Link>
      )}
      <button type="button" className="text" onClick={onClear}>
        Clear selection
      </button>
      {action !== undefined && (
        <ActionDialog action={action} chosen={chosen} onDone={onDone} onClose={() => setAction(undefined)} />
      )}
      {moves && <MoveDialog chosen={chosen} onDone={onDone} onClose={() => setMoves(false)} />}
    </div>
  );
}

interface ActionDialogProps {
  readonly action: Action;
  readonly chosen: readonly Experiment[];
  readonly onDone: (gone: readonly Experiment[]) => void;
  readonly onClose: () => void;
}

/** States exactly what will be acted on, does it one by one, and says of each what happened. */
export function ActionDialog({ action, chosen, onDone, onClose }: ActionDialogProps) {
  // What the dialog asked about is what is done, whatever the list shows meanwhile.
  const { may } = useRights();
  const [{ acts, leaves }] = useState(() => plan(action, chosen, may));
  const { outcomes, run } = useOneByOne(done[action], onDone);
  return (
    <Dialog
      title={`${capitalized(action)} ${count(acts.length, "experiment")}?`}
      action={capitalized(action)}
      danger={isDangerous(action)}
      disabled={outcomes.size > 0}
      stays={acts.length > 1}
      onAction={() => run(acts, (id) => act(id, action))}
      onClose={onClose}
    >
      <p>{explanations[action]}.</p>
      <Acts verb={action} acts={acts} outcomes={outcomes} done={done[action]} />
      <Leaves leaves={leaves} />
    </Dialog>
  );
}
