import { useEffect, useRef, useState } from "react";
import { Dialog } from "../components/forms/dialog";
import { type Action, actionOf, explained, type Place } from "../components/keyboard/keys";
import { goToRow, goToSearch, toggleRow } from "../components/keyboard/rows";
import { setSingleKeys, singleKeys, useSingleKeys } from "../components/keyboard/single_keys";
import { type Command, Palette } from "./palette";

/** Fields in which keys are text; in others, such as check boxes, they are not. */
const typing = "textarea, select, [contenteditable=true], input:not([type=checkbox]):not([type=radio]):not([type=button])";

function placeOf(target: EventTarget | null): Place {
  if (document.querySelector("dialog[open]") !== null) return "dialog";
  if (!(target instanceof Element)) return "page";
  if (target.closest(".xterm") !== null) return "terminal";
  return target.matches(typing) ? "field" : "page";
}

function Help({ onClose }: { onClose: () => void }) {
  const on = useSingleKeys();
  return (
    <Dialog title="Keyboard" action="OK" onAction={() => undefined} onClose={onClose}>
      <table aria-label="Keys">
        <tbody>
          {explained.map(([keys, meaning]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label className="choice">
        <input type="checkbox" checked={on} onChange={(event) => setSingleKeys(event.target.checked)} />
        Keys without Ctrl or ⌘
      </label>
    </Dialog>
  );
}

/** What keys do on every page, and the boxes that they open. */
export function Keyboard({ commands, opened, onClose }: { commands: readonly Command[]; opened: boolean; onClose: () => void }) {
  const [shown, setShown] = useState<"commands" | "help">();
  const close = () => {
    setShown(undefined);
    onClose();
  };
  const act = useRef<(action: Action) => boolean>(() => false);
  act.current = (action) => {
    const content = document.getElementById("content");
    if (action === "commands" || action === "help") setShown(action);
    else if (content === null) return false;
    else if (action === "search") return goToSearch(content);
    else if (action === "select") toggleRow();
    else goToRow(content, action === "next" ? 1 : -1);
    return true;
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const action = actionOf(event, placeOf(event.target), singleKeys());
      if (action !== undefined && act.current(action)) event.preventDefault();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
  const help: Command = { name: "Keyboard shortcuts", kind: "Help", words: "keys", run: () => setShown("help") };
  if (shown === "commands" || opened) return <Palette commands={[...commands, help]} onClose={close} />;
  if (shown === "help") return <Help onClose={close} />;
  return null;
}
