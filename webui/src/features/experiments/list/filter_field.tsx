import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Query } from "../../../components/address/paths";
import { complete, completed, isExpression, offered, type Vocabulary } from "./expression";

interface Props {
  readonly query: Query;
  readonly ask: (some: Query) => void;
  readonly known: Vocabulary;
  /** Somebody is about to type: now it pays to find out what there is. */
  readonly onFocus: () => void;
}

const wordsAfterMs = 200;

/** A field for words, which are looked for while one types, or for an expression, which is completed and applied by Enter. */
export function FilterField({ query, ask, known, onFocus }: Props) {
  const applied = query.filter || query.search || "";
  const [typed, setTyped] = useState(applied);
  const [cursor, setCursor] = useState(applied.length);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  // Where the cursor goes with the text that React puts there: before the next key, so that none is lost.
  const moves = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (moves.current !== undefined) field.current?.setSelectionRange(moves.current, moves.current);
    moves.current = undefined;
  });
  const apply = useRef((_text: string) => {});
  apply.current = (text) => ask(isExpression(text) ? { filter: text.trim(), search: "" } : { filter: "", search: text.trim() });
  useEffect(() => setTyped(applied), [applied]);
  useEffect(() => {
    if (typed.trim() === applied || isExpression(typed)) return;
    const timer = setTimeout(() => apply.current(typed), wordsAfterMs);
    return () => clearTimeout(timer);
  }, [typed, applied]);
  const choice = complete(typed, cursor, known);
  const options = open ? offered(typed, choice, known).slice(0, 12) : [];
  const chosen = Math.min(at, options.length - 1);
  const show = (text: string, where: number) => {
    setTyped(text);
    setCursor(where);
    setAt(-1);
  };
  const take = (option: string) => {
    const next = completed(typed, choice, option);
    show(next.text, next.cursor);
    moves.current = next.cursor;
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const option = options[chosen];
    if (step !== undefined && options.length > 0) setAt(chosen < 0 && step < 0 ? options.length - 1 : (chosen + step + options.length) % options.length);
    else if (event.key === "Tab" && options.length > 0 && !event.shiftKey && typed !== "" && typed !== applied) take(option ?? (options[0] as string));
    else if (event.key === "Enter" && option !== undefined) take(option);
    else if (event.key === "Enter") {
      setOpen(false);
      apply.current(typed);
    } else if (event.key === "Escape" && options.length > 0) {
      setOpen(false);
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return (
    <span className="filter-field">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label="Filter by words or an expression"
        aria-expanded={options.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={chosen < 0 ? undefined : `${list}-${chosen}`}
        placeholder="Words, or lr < 1e-3 and state = RUNNING"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onFocus={onFocus}
        onClick={() => setOpen(true)}
        onBlur={() => {
          setOpen(false);
          if (isExpression(typed) && typed.trim() !== applied) apply.current(typed);
        }}
        onKeyDown={onKeyDown}
        onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? typed.length)}
        onChange={(event) => {
          const text = event.target.value;
          show(text, event.target.selectionStart ?? text.length);
          setOpen(text !== "");
          if (text === "") apply.current("");
        }}
      />
      <ul id={list} role="listbox" aria-label="Completions" hidden={options.length === 0}>
        {options.map((option, index) => (
          <li
            key={option}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault(); // the field keeps the focus
              take(option);
            }}
          >
            {option}
          </li>
        ))}
      </ul>
    </span>
  );
}
