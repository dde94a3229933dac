/** Small parts that every page uses. */

import { type MouseEvent, type ReactNode, useSyncExternalStore } from "react";
import type { Loadable } from "../api/loadable";
import { stateName, stateTone } from "./format";
import { parseView, pathOf, type View } from "./paths";

const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
};

export function go(view: View, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", pathOf(view));
  else history.replaceState(null, "", pathOf(view));
  for (const listener of listeners) listener();
}

/** The view that the browser's address names now. */
export function useView(): View {
  const address = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  const mark = address.indexOf("?");
  return mark < 0 ? parseView(address, "") : parseView(address.slice(0, mark), address.slice(mark));
}

/** A link that the browser can open in a new tab, copy and remember. */
export function Link(props: { to: View; children: ReactNode; className?: string; current?: boolean }) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a href={pathOf(props.to)} onClick={follow} className={props.className} aria-current={props.current ? "page" : undefined}>
      {props.children}
    </a>
  );
}

export function StateBadge({ state }: { state: string }) {
  return <span className={`state ${stateTone(state)}`}>{stateName(state)}</span>;
}

export function Progress({ fraction }: { fraction: number }) {
  const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 100);
  return (
    <span className="progress">
      <progress max={100} value={percent} /> {percent} %
    </span>
  );
}

/** Shows a value when it is there; else says that it is on its way, or why it is not coming. */
export function Loaded<T>(props: { of: Loadable<T>; what: string; children: (value: T) => ReactNode }) {
  const { of } = props;
  switch (of.status) {
    case "loading":
      return <p className="quiet">Loading {props.what} …</p>;
    case "failed":
      return (
        <p className="problem" role="alert">
          {of.error.message}
        </p>
      );
    case "loaded":
      return (
        <>
          {of.stale && (
            <p className="problem" role="status">
              {of.stale.message} What you see may be old.
            </p>
          )}
          {props.children(of.value)}
        </>
      );
  }
}
