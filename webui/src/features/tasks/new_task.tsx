import { useState } from "react";
import { usePolled } from "../../api/loadable";
import { Dialog } from "../../components/forms/dialog";
import { Choice, Field } from "../../components/parts";
import { go } from "../../components/address/route";
import { useWorkspaceChoice, WorkspaceField } from "../../components/forms/workspace_choice";
import { poolNames, startTask, taskWish, templateNames } from "./api";

/** Starts a notebook or a shell, and goes to its page. */
export function NewTask({ kind, onClose }: { kind: "notebook" | "shell"; onClose: () => void }) {
  const [description, setDescription] = useState("");
  const [slots, setSlots] = useState("0");
  const [template, setTemplate] = useState("");
  const [pool, setPool] = useState("");
  const workspace = useWorkspaceChoice("CREATE_NSC");
  const place = workspace.value;
  const [templates] = usePolled("template names", templateNames, 0, () => false);
  const [pools] = usePolled(`pools of ${place}`, async (signal) => (place === undefined ? [] : poolNames(place, signal)), 0, () => false);
  const ofPlace = pools.status === "loaded" ? pools.value : [];
  const poolThere = ofPlace.includes(pool) ? pool : "";
  const start = async () => {
    if (place === undefined) return;
    go({ page: "task", kind, id: await startTask(kind, taskWish({ description, slots: Number(slots), template, pool: poolThere, workspace: place })) });
  };
  const names = templates.status === "loaded" ? templates.value : [];
  return (
    <Dialog title={`New ${kind}`} action="Start" disabled={!/^\d+$/.test(slots) || place === undefined} onAction={start} onClose={onClose}>
      <Field label="Description">
        <input value={description} autoFocus onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Slots">
        <input type="number" min={0} value={slots} onChange={(event) => setSlots(event.target.value)} />
      </Field>
      <WorkspaceField choice={workspace} />
      <div className="row">
        <Choice label="Resource pool" value={poolThere} options={[["", "default"], ...ofPlace.map((name) => [name, name] as const)]} onChange={setPool} />
        {names.length > 0 && (
          <Choice label="Template" value={template} options={[["", "none"], ...names.map((name) => [name, name] as const)]} onChange={setTemplate} />
        )}
      </div>
    </Dialog>
  );
}
