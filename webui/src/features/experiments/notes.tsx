import type { Experiment } from "../../api/types";
import { Editable } from "../../components/forms/edit";
import { Prose } from "../../components/markdown/prose";
import { useRights } from "../../components/people/me";
import { Panel } from "../../components/parts";
import { placeOf } from "./changing/actions";
import { change } from "./api";

/** What people wrote about the experiment. */
export function Notes({ experiment, reload }: { experiment: Experiment; reload: () => void }) {
  const { may } = useRights();
  return (
    <Panel title="Notes">
      <Editable
        what="notes"
        value={experiment.notes}
        multiline
        may={may("UPDATE_EXPERIMENT", placeOf(experiment))}
        onSave={(notes) => change(experiment.id, { notes }).then(reload)}
      >
        {experiment.notes === "" ? <span className="quiet">No notes yet.</span> : <Prose text={experiment.notes} />}
      </Editable>
    </Panel>
  );
}
