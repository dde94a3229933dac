import { type FormEvent, type ReactNode, useState } from "react";
import { toApiError } from "../../api/loadable";
import { Problem } from "../parts";

interface EditableProps {
  /** What it is, for the button: "name". */
  readonly what: string;
  readonly value: string;
  readonly onSave: (value: string) => Promise<void>;
  readonly multiline?: boolean;
  /** Whether the reader may change it; without it, yes. */
  readonly may?: boolean;
  readonly children: ReactNode;
}

/** A text with a button that turns it into a field in its place. Enter saves, Escape leaves it as it was. */
export function Editable({ what, value, onSave, multiline = false, may = true, children }: EditableProps) {
  const [draft, setDraft] = useState<string>();
  const [problem, setProblem] = useState("");
  if (!may) return <>{children}</>;
  if (draft === undefined)
    return (
      <span className="editable">
        {children}{" "}
        <button type="button" className="text pencil" aria-label={`Edit ${what}`} title={`Edit ${what}`} onClick={() => setDraft(value)}>
          ✎
        </button>
      </span>
    );
  const close = () => {
    setDraft(undefined);
    setProblem("");
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    try {
      if (draft !== value) await onSave(draft);
      close();
    } catch (cause) {
      setProblem(toApiError(cause).message);
    }
  };
  const field = {
    value: draft,
    autoFocus: true,
    "aria-label": what,
    onKeyDown: (event: { key: string }) => event.key === "Escape" && close(),
  };
  return (
    <form className={multiline ? "edit-block" : "edit"} onSubmit={(event) => void save(event)}>
      {multiline ? (
        <textarea {...field} rows={12} onChange={(event) => setDraft(event.target.value)} />
      ) : (
        <input {...field} size={Math.max(24, draft.length)} onChange={(event) => setDraft(event.target.value)} />
      )}
      <span className="edit">
        <button type="submit" className="primary">
          Save
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </span>
      <Problem text={problem} />
    </form>
  );
}
