import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

const gap = 4;

interface Props {
  readonly label: string;
  /** Buttons; one that is pressed closes the menu, unless it has `data-stays`. */
  readonly children: ReactNode;
}

/** A small button that opens a box above everything else, below the button or above it, so that nothing cuts it off; Escape and a click elsewhere close it. */
export function Menu({ label, children }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const at = button.current?.getBoundingClientRect();
    const element = box.current;
    if (!open || at === undefined || element === null) return;
    const { clientWidth, clientHeight } = document.documentElement;
    const { width, height } = element.getBoundingClientRect();
    const below = at.bottom + gap;
    element.style.left = `${Math.max(gap, Math.min(at.left, clientWidth - width - gap))}px`;
    element.style.top = `${below + height <= clientHeight ? below : Math.max(gap, at.top - gap - height)}px`;
  }, [open]);
  return (
    <>
      <button ref={button} type="button" className="bare menu-button" aria-label={label} aria-expanded={open} popoverTarget={id}>
        ⋮
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        className="popup-box menu-box"
        onToggle={(event) => setOpen(event.newState === "open")}
        onClick={(event) => {
          const pressed = (event.target as Element).closest("button");
          if (pressed !== null && pressed.dataset.stays === undefined) event.currentTarget.hidePopover();
        }}
      >
        {open && children}
      </div>
    </>
  );
}
