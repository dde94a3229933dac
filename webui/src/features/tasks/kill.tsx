import { Dialog } from "../../components/forms/dialog";
import { kindName } from "../../components/address/paths";
import { killTask, type Task } from "./api";

/** Asks before a task is killed. */
export function KillDialog({ task, onDone, onClose }: { task: Task; onDone: () => void; onClose: () => void }) {
  return (
    <Dialog
      title={`Kill ${kindName(task.type)} ${task.description || task.id}?`}
      action="Kill"
      danger
      onAction={() => killTask(task).then(onDone)}
      onClose={onClose}
    >
      <p>It stops immediately. Unsaved work is lost.</p>
    </Dialog>
  );
}
