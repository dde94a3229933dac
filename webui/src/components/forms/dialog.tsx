import { type FormEvent, type KeyboardEvent as ReactKeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { toApiError } from "../../api/loadable";
import { FormMemory } from "./dirty";
import { Problem } from "../parts";

interface DialogProps {
  readonly title: string;
  /** What the button that does it says. */
  readonly action: string;
  readonly danger?: boolean;
  readonly wide?: boolean;
  readonly disabled?: boolean;
  /** Something was changed that is in no field of the dialog now. */
  readonly changed?: boolean;
  /** When it went well, whoever shows the dialog replaces it by what came of it. */
  readonly stays?: boolean;
  /** Does it; the dialog closes when that went well and shows the problem when not. */
  readonly onAction: () => Promise<void> | void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

const isField = (target: EventTarget): target is HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;

/**
 * A question that must be answered first. Escape and a click beside it mean no, unless something was changed in it: then
 * it asks. While what it does is under way it stays.
 */
export function Dialog(props: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [leaves, setLeaves] = useState(false);
  const [memory] = useState(() => new FormMemory());
  const pressedBeside = useRef(false);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation(); // a dialog that asks more stays open below this one
    if (busy) return;
    setBusy(true);
    setProblem("");
    try {
      await props.onAction();
      memory.settle();
      if (!props.stays) props.onClose();
    } catch (cause) {
      setProblem(toApiError(cause).message);
    }
    setBusy(false);
  };
  const leave = () => {
    if (busy) return;
    if (props.changed || memory.changed()) setLeaves(true);
    else props.onClose();
  };
  // What happens in a dialog that asks more comes here, too.
  const mine = (target: EventTarget) => target instanceof Node && box.current?.contains(target) === true;
  const isBeside = ({ target, clientX: x, clientY: y }: { target: EventTarget; clientX: number; clientY: number }) => {
    if (target !== box.current || box.current === null) return false;
    const { left, right, top, bottom } = box.current.getBoundingClientRect();
    return x < left || x > right || y < top || y > bottom;
  };
  const onKeyDown = (event: ReactKeyboardEvent) => {
    if (event.key !== "Escape" || !mine(event.target)) return;
    event.preventDefault();
    leave();
  };
  return createPortal(
    <dialog
      ref={box}
      className={props.wide ? "wide" : undefined}
      aria-labelledby={title}
      aria-busy={busy}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onClose={() => (busy ? box.current?.showModal() : props.onClose())}
      onKeyDown={onKeyDown}
      onFocus={({ target }) => isField(target) && mine(target) && memory.reached(target)}
      onPointerDown={(event) => {
        pressedBeside.current = isBeside(event);
      }}
      onClick={(event) => pressedBeside.current && isBeside(event) && leave()}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={title}>{props.title}</h2>
        {props.children}
        <Problem text={problem} />
        {leaves && !busy ? (
          <footer className="row">
            <span role="alert">You have unsaved changes.</span>
            <button type="button" className="danger" onClick={props.onClose}>
              Discard changes
            </button>
            <button type="button" className="primary" autoFocus onClick={() => setLeaves(false)}>
              Keep editing
            </button>
          </footer>
        ) : (
          <footer className="row">
            {props.action !== "OK" && (
              <button type="button" disabled={busy} onClick={props.onClose}>
                Close
              </button>
            )}
            <button type="submit" className={props.danger ? "danger" : "primary"} disabled={busy || props.disabled}>
              {props.action}
            </button>
          </footer>
        )}
      </form>
    </dialog>,
    document.body,
  );
}

/** A button that opens a small box below it; a button pressed in it, a click elsewhere or Escape closes it. */
export function Popup({ label, onOpen, children }: { label: string; onOpen?: () => void; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", escape);
    };
  }, [open]);
  return (
    <span className="popup" ref={box}>
      <button ref={button} type="button" aria-expanded={open}
        onClick={() => {
          if (!open) onOpen?.();
          setOpen(!open);
        }}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div className="popup-box" onClick={(event) => (event.target as Element).closest("button, a") && setOpen(false)}>
          {children}
        </div>
      )}
    </span>
  );
}
