import type { ReactNode } from "react";
import type { Loadable } from "../api/loadable";
import { formatAge, stateName, stateTone } from "./format";

export function StateBadge({ state }: { state: string }) {
  return <span className={`state ${stateTone(state)}`}>{stateName(state)}</span>;
}

export function Progress({ fraction }: { fraction: number }) {
  const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 100);
  return (
    <span className="progress">
      <progress max={100} value={percent} aria-label="Progress" /> {percent}&nbsp;%
    </span>
  );
}

/** A moment as its age; the exact time on hover. */
export function Age({ time }: { time: string | null | undefined }) {
  if (!time) return null;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {formatAge(Date.parse(time), Date.now())}
    </time>
  );
}

export function Labels({ labels }: { labels: readonly string[] }) {
  return labels.map((label) => (
    <span key={label} className="label" title={label}>
      {label}
    </span>
  ));
}

/** A page's title, what belongs beside it, and what one can do. */
export function PageHead({ title, children, actions }: { title: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="pagehead">
      <div className="row">
        <h1>{title}</h1>
        {children}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
    </header>
  );
}

/** A part of a page with a title of its own. */
export function Panel(props: { title: string; children: ReactNode; tools?: ReactNode; className?: string }) {
  return (
    <section className={`panel ${props.className ?? ""}`} aria-label={props.title}>
      <header className="row">
        <h2>{props.title}</h2>
        {props.tools !== undefined && <div className="actions">{props.tools}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Names and values, a line each. */
export function Pairs({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Problem({ text }: { text: string }) {
  return text === "" ? null : (
    <p className="problem" role="alert">
      {text}
    </p>
  );
}

/** A field with its name above it. */
export function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    <label className="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

interface PickProps {
  readonly label: string;
  /** 0: nothing yet, where `asks`. */
  readonly value: number;
  readonly options: readonly { readonly id: number; readonly name: string }[];
  readonly asks?: boolean;
  readonly autoFocus?: boolean;
  readonly disabled?: boolean;
  readonly onChange: (id: number) => void;
}

/** A field for one of several things that have numbers, by their names. */
export function Pick({ label, value, options, asks = false, autoFocus = false, disabled = false, onChange }: PickProps) {
  return (
    <Field label={label}>
      <select value={value} autoFocus={autoFocus} disabled={disabled} onChange={(event) => onChange(Number(event.target.value))}>
        {asks && <option value={0}>Select …</option>}
        {options.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
}

export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <label className="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/**
 * Shows a value when it is there; else says that it is on its way, or why it is not coming. `title`: of the page whose
 * title comes with the value, for where none comes.
 */
export function Loaded<T>(props: { of: Loadable<T>; what: string; title?: string; children: (value: T) => ReactNode }) {
  const { of } = props;
  switch (of.status) {
    case "loading":
      return (
        <p className="quiet" role="status">
          Loading {props.what} …
        </p>
      );
    case "failed":
      return (
        <>
          {props.title !== undefined && <h1>{props.title}</h1>}
          <Problem text={of.error.message} />
        </>
      );
    case "loaded":
      return (
        <>
          {of.stale && (
            <p className="problem" role="status">
              {of.stale.message} The data shown may be out of date.
            </p>
          )}
          {props.children(of.value)}
        </>
      );
  }
}
