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
  const changes = may("UPDATE_EXPERIMENT", placeOf(experiment));
  const save = (notes: string) => change(experiment.id, { notes }).then(reload);
  return (
    <Panel title="Notes">
      <Editable
        what="notes"
        value={experiment.notes}
        multiline
        may={changes}
        onSave={save}
      >
        {experiment.notes === "" && <span className="quiet">No notes yet.</span>}
        {(experiment.notes !== "" || changes) && <Prose text={experiment.notes} projectId={experiment.projectId} onChange={changes ? save : undefined} />}
      </Editable>
    </Panel>
  );
}
