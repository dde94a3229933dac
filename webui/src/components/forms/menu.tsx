import { type ReactNode, type ToggleEvent, useId, useRef, useState } from "react";

interface Props {
  readonly label: string;
  /** Buttons; one that is pressed closes the menu, unless it has `data-stays`. */
  readonly children: ReactNode;
}

/** A small button that opens a box above everything else, so that no scrolled area cuts it off; Escape and a click elsewhere close it. */
export function Menu({ label, children }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const place = (event: ToggleEvent<HTMLDivElement>) => {
    setOpen(event.newState === "open");
    const at = button.current?.getBoundingClientRect();
    if (event.newState !== "open" || at === undefined) return;
    const box = event.currentTarget;
    box.style.left = `${Math.max(4, Math.min(at.left, document.documentElement.clientWidth - 200))}px`;
    box.style.top = `${at.bottom + 4}px`;
  };
  return (
    <>
      <button ref={button} type="button" className="bare menu-button" aria-label={label} aria-expanded={open} popoverTarget={id}>
        ⋮
      </button>
      <div
        id={id}
        popover="auto"
        className="popup-box menu-box"
        onBeforeToggle={place}
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
