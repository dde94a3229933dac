import type { Experiment } from "../../api/types";
import { Editable } from "../../components/edit";
import { Panel } from "../../components/parts";
import { change } from "./api";

/** What people wrote about the experiment. */
export function Notes({ experiment, reload }: { experiment: Experiment; reload: () => void }) {
  return (
    <Panel title="Notes">
      <Editable
        what="notes"
        value={experiment.notes}
        multiline
        onSave={(notes) => change(experiment.id, { notes }).then(reload)}
      >
        {experiment.notes === "" ? <span className="quiet">Nobody has written anything yet.</span> : <p className="prose">{experiment.notes}</p>}
      </Editable>
    </Panel>
  );
}
