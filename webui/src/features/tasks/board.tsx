import { useState } from "react";
import { toApiError } from "../../api/loadable";
import { Problem } from "../../components/parts";
import { go } from "../../components/route";
import { startTask } from "./api";

/** Starts a TensorBoard on what trials wrote, and goes to its page. */
export function BoardButton(props: { experimentIds?: readonly number[]; trialIds?: readonly number[] }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const start = async () => {
    setBusy(true);
    setProblem("");
    try {
      go({ page: "task", kind: "tensorboard", id: await startTask("tensorboard", props) });
    } catch (cause) {
      setProblem(toApiError(cause).message);
      setBusy(false);
    }
  };
  return (
    <>
      <Problem text={problem} />
      <button type="button" title="A new TensorBoard on what its trials wrote" disabled={busy} onClick={() => void start()}>
        TensorBoard
      </button>
    </>
  );
}
