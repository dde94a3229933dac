import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { get } from "../api/client";
import type { View } from "../components/address/paths";
import { go } from "../components/address/route";
import { found, numberIn } from "../components/keyboard/matching";

export interface Command {
  readonly name: string;
  /** Other words that it is found by. */
  readonly words?: string;
  /** What kind of thing it is, beside its name. */
  readonly kind: string;
  readonly run: () => void;
}

const searchAfterMs = 150;
const experimentsMax = 8;

const to = (name: string, kind: string, view: View): Command => ({ name, kind, run: () => go(view) });

/** The experiments that the master finds for what is typed. */
function useExperiments(typed: string): readonly Command[] {
  const [state, setState] = useState<{ typed: string; commands: readonly Command[] }>({ typed: "", commands: [] });
  const search = typed.trim();
  useEffect(() => {
    if (search === "") return;
    const abort = new AbortController();
    const ask = async () => {
      const query = { search, limit: experimentsMax, sortBy: "SORT_BY_ID", orderBy: "ORDER_BY_DESC" } as const;
      const reply = await get("/api/v1/experiments", { query }, abort.signal);
      const commands = reply.experiments.map(({ id, name }) =>
        to(`${id} ${name}`, "Experiment", { page: "experiment", id, tab: "overview" }),
      );
      setState({ typed: search, commands });
    };
    // What cannot be found now is not offered; the pages themselves say what is wrong.
    const timer = setTimeout(() => void ask().catch(() => undefined), searchAfterMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [search]);
  return search === "" ? [] : state.commands;
}

/** A box in which one types where to go or what to do. */
export function Palette({ commands, onClose }: { commands: readonly Command[]; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const list = useId();
  const experiments = useExperiments(typed);
  const number = numberIn(typed);
  const numbered = number === undefined ? [] : [to(`Trial ${number}`, "Trial", { page: "trial", id: number, tab: "overview" })];
  // What comes later comes last: what one has chosen stays in its place.
  const all = [...found(commands, typed), ...numbered, ...experiments];
  const chosen = Math.min(at, all.length - 1);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  useEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && all.length > 0) setAt((chosen + step + all.length) % all.length);
    else if (event.key === "Enter") run(all[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={box}
      className="palette"
      aria-label="Commands"
      onClose={onClose}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Page, experiment, trial or command"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen < 0 ? undefined : `${list}-${chosen}`}
        aria-autocomplete="list"
        placeholder="Page, experiment, trial or command"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={typed}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
      />
      <ul id={list} role="listbox" aria-label="Commands">
        {all.map((command, index) => (
          <li
            key={`${command.kind} ${command.name}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerMove={() => setAt(index)}
            onClick={() => run(command)}
          >
            <span>{command.name}</span>
            <span className="quiet">{command.kind}</span>
          </li>
        ))}
      </ul>
      <p className="quiet" role="status">
        {all.length === 0 ? "Nothing has this name." : "↑ ↓ to choose, Enter to go, Esc to close"}
      </p>
    </dialog>
  );
}
