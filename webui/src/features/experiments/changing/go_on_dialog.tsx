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
    <Dialog title={`Resume experiment ${id}`} action="Resume" onAction={goOn} onClose={onClose}>
      <p className="quiet">
        {searches
          ? "The search resumes where it stopped. Stopped and failed trials resume from their latest checkpoints; completed trials stay as they are."
          : "The same trial resumes from its latest checkpoint."}{" "}
        To start a new experiment from one of its checkpoints, use <em>Continue</em>.
      </p>
      <textarea
        className="mono"
        rows={8}
        aria-label="Configuration changes (YAML)"
        value={override}
        spellCheck={false}
        autoFocus
        onChange={(event) => setOverride(event.target.value)}
      />
      <p className="quiet">
        These values override the current configuration.{" "}
        {searches
          ? "The searcher, hyperparameters, and seed stay the same. You can change the size of the search once the experiment is active."
          : "A completed trial needs a greater length."}
      </p>
    </Dialog>
  );
}
