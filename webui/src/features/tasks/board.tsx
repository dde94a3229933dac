import { useState } from "react";
import { toApiError } from "../../api/loadable";
import { useRights } from "../../components/people/me";
import { Problem } from "../../components/parts";
import { go } from "../../components/address/route";
import { startTask } from "./api";

/** Starts a TensorBoard on what trials wrote, in their workspace, and goes to its page. */
export function BoardButton({ experimentIds, workspace }: { experimentIds: readonly number[]; workspace: number }) {
  const { may } = useRights();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const start = async () => {
    setBusy(true);
    setProblem("");
    try {
      go({ page: "task", kind: "tensorboard", id: await startTask("tensorboard", { experimentIds, workspaceId: workspace }) });
    } catch (cause) {
      setProblem(toApiError(cause).message);
      setBusy(false);
    }
  };
  if (!may("CREATE_NSC", { workspace })) return null;
  return (
    <>
      <Problem text={problem} />
      <button type="button" title="Open a TensorBoard on the metrics of its trials" disabled={busy} onClick={() => void start()}>
        TensorBoard
      </button>
    </>
  );
}
