import { useState } from "react";
import { Dialog } from "../../components/dialog";
import { Field } from "../../components/parts";
import { go } from "../../components/route";
import { startTask } from "./api";

/** Starts a notebook or a shell, and goes to its page. */
export function NewTask({ kind, onClose }: { kind: "notebook" | "shell"; onClose: () => void }) {
  const [description, setDescription] = useState("");
  const [slots, setSlots] = useState("0");
  const valid = /^\d+$/.test(slots);
  const start = async () => {
    const id = await startTask(kind, {
      config: { ...(description.trim() === "" ? {} : { description: description.trim() }), resources: { slots: Number(slots) } },
    });
    go({ page: "task", kind, id });
  };
  return (
    <Dialog title={`New ${kind}`} action="Start" disabled={!valid} onAction={start} onClose={onClose}>
      <Field label="Description">
        <input value={description} autoFocus onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Slots">
        <input type="number" min={0} value={slots} onChange={(event) => setSlots(event.target.value)} />
      </Field>
    </Dialog>
  );
}
