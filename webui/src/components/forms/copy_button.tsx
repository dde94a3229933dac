import { useRef, useState } from "react";

/** Puts a text on the clipboard, and says so. */
export function CopyButton({ text, label = "Copy", title }: { text: string; label?: string; title?: string }) {
  const button = useRef<HTMLButtonElement>(null);
  const [outcome, setOutcome] = useState("");
  const copy = async () => {
    try {
      if (window.isSecureContext) await navigator.clipboard.writeText(text);
      else copySelected(text, button.current ?? document.body);
      setOutcome("Copied");
    } catch {
      setOutcome("Cannot copy. Select the text instead.");
    }
  };
  return (
    <span className="row">
      <button ref={button} type="button" title={title} onClick={() => void copy()}>
        {label}
      </button>
      <span className="quiet" role="status">
        {outcome}
      </span>
    </span>
  );
}

/** Without TLS a page has no clipboard. The field is beside the button: a dialog takes the focus from all else. */
function copySelected(text: string, beside: Element): void {
  const field = document.createElement("textarea");
  field.value = text;
  beside.after(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("not copied");
}
