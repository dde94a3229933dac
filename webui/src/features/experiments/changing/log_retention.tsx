import { useState } from "react";
import { get, put } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import type { Experiment, Trial } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { useRights } from "../../../components/people/me";
import { Choice, Field, Problem } from "../../../components/parts";
import { placeOf } from "./actions";
import { forEver, keptText, wishOf } from "./retention";

const pollMs = 60_000;

/** For how long the logs are kept, and a way to change it. A trial may have a time of its own: what is said is the first one's. */
export function LogRetention({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const { may } = useRights();
  const first = trials[0];
  const [changes, setChanges] = useState(false);
  const [kept, reload] = usePolled(
    `retention ${first?.id} ${first?.endTime}`,
    async (signal) =>
      first && (await get("/api/v1/trials/{id}/remaining_log_retention_days", { path: { id: first.id } }, signal)).remainingDays,
    pollMs,
  );
  const days = kept.status === "loaded" ? kept.value : undefined;
  return (
    <>
      {first === undefined && <span className="quiet">shown once there is a trial</span>}
      {first !== undefined && days !== undefined && keptText(days, Boolean(first.endTime))}
      {first !== undefined && days !== undefined && trials.length > 1 && (
        <span className="quiet" title="Retention of the first trial; other trials may have their own">
          {" "}
          (trial {first.id}; others may differ)
        </span>
      )}
      {kept.status === "failed" && <Problem text={kept.error.message} />}{" "}
      {may("UPDATE_EXPERIMENT", placeOf(experiment)) && (
        <button type="button" className="text" onClick={() => setChanges(true)} aria-label="Change log retention">
          Change
        </button>
      )}
      {changes && <RetentionDialog experiment={experiment.id} days={days} onDone={reload} onClose={() => setChanges(false)} />}
    </>
  );
}

interface RetentionDialogProps {
  readonly experiment: number;
  /** As it is now, where that is known. */
  readonly days: number | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function RetentionDialog({ experiment, days, onDone, onClose }: RetentionDialogProps) {
  const [how, setHow] = useState<"days" | "always">(days === forEver ? "always" : "days");
  const [typed, setTyped] = useState(days === undefined || days === forEver ? "" : String(days));
  const wish = wishOf(how === "always", typed);
  return (
    <Dialog
      title={`Log retention of experiment ${experiment}`}
      action="Save"
      disabled={"problem" in wish}
      onAction={() => ("problem" in wish ? undefined : put("/api/v1/experiments/{experimentId}/retain_logs", { path: { experimentId: experiment }, body: { numDays: wish.days } }).then(onDone))}
      onClose={onClose}
    >
      <Choice
        label="Keep logs"
        value={how}
        options={[["always", "until the experiment is deleted"], ["days", "for some days after a trial ends"]]}
        onChange={setHow}
      />
      {how === "days" && (
        <Field label="Days (0: until the next log cleanup)">
          <input inputMode="numeric" value={typed} onChange={(event) => setTyped(event.target.value)} />
        </Field>
      )}
      {"problem" in wish && typed !== "" && <Problem text={wish.problem} />}
      <p className="quiet">Applies to all trials of the experiment. Deleted log lines cannot be restored.</p>
    </Dialog>
  );
}
