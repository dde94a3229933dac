import { useState } from "react";
import { post } from "../../../api/client";
import type { Experiment } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { usualOverride } from "./go_on";

interface GoOnDialogProps {
  readonly experiment: Experiment;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The same trials, under the same numbers, go on from their newest checkpoints. */
export function GoOnDialog({ experiment, onDone, onClose }: GoOnDialogProps) {
  const { id, config, state, searcherType } = experiment;
  const [override, setOverride] = useState(() => usualOverride(config, state, searcherType));
  const searches = searcherType !== "single";
  const goOn = () => post("/api/v1/experiments/continue", { body: { id, overrideConfig: override.trim() === "" ? "{}" : override } }).then(onDone);
  return (
    <Dialog title={`Let experiment ${id} go on`} action="Go on" onAction={goOn} onClose={onClose}>
      <p className="quiet">
        {searches
          ? "The search goes on where it was: trials that were stopped, or failed, go on from their newest checkpoints; those that are complete stay."
          : "The same trial goes on from its newest checkpoint."}{" "}
        To begin another experiment with a checkpoint of it, use <em>continue</em>.
      </p>
      <textarea
        className="mono"
        rows={8}
        aria-label="What changes in its configuration (YAML)"
        value={override}
        spellCheck={false}
        autoFocus
        onChange={(event) => setOverride(event.target.value)}
      />
      <p className="quiet">
        This lies over the configuration that it had.{" "}
        {searches
          ? "Its searcher, its hyperparameters and its seed stay; sizes can be changed once it is active."
          : "A trial that was completed needs a greater length."}
      </p>
    </Dialog>
  );
}
