import { useState } from "react";
import { patch } from "../../../api/client";
import type { Experiment } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { Field, Problem } from "../../../components/parts";
import { changeOf, isEmpty, sizeFields, typedOf } from "./resize";

interface ResizeDialogProps {
  readonly experiment: Experiment;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Changes how large the search is and what it may take of the cluster, while it runs or, to extend it, afterwards. */
export function ResizeDialog({ experiment, onDone, onClose }: ResizeDialogProps) {
  // What one edits stays as it was when the dialog opened.
  const [fields] = useState(() => sizeFields(experiment.config, experiment.state));
  const [typed, setTyped] = useState(() => typedOf(fields));
  const change = changeOf(fields, typed);
  const problem = "problem" in change ? change.problem : "";
  const over = experiment.state === "STATE_COMPLETED";
  return (
    <Dialog
      title={over ? `Extend the search of experiment ${experiment.id}` : `Edit experiment ${experiment.id}`}
      action={over ? "Extend" : "Save"}
      disabled={"problem" in change || isEmpty(change)}
      onAction={() => ("problem" in change ? undefined : patch("/api/v1/experiments/{id}", { path: { id: experiment.id }, body: change }).then(onDone))}
      onClose={onClose}
    >
      <p className="quiet">
        {over
          ? "The experiment becomes active again and continues where it ended."
          : "Running trials are not interrupted, unless they use more slots than the new limit."}
      </p>
      {fields.map(({ name, label }, index) => (
        <Field key={name} label={label}>
          <input
            inputMode="decimal"
            value={typed[name] ?? ""}
            autoFocus={index === 0}
            onChange={(event) => setTyped((before) => ({ ...before, [name]: event.target.value }))}
          />
        </Field>
      ))}
      <Problem text={problem} />
    </Dialog>
  );
}
