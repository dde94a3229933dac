import { type MouseEvent, type ReactNode, useCallback, useSyncExternalStore } from "react";
import { parseQuery, parseView, pathOf, type Query, queryText, type View } from "./paths";
import { Positions, scrollBack } from "./scroll";

const listeners = new Set<() => void>();
const tell = () => {
  for (const listener of listeners) listener();
};

// The browser would scroll before the content of the page is there.
history.scrollRestoration = "manual";
const positions = new Positions(sessionStorage);
const entryOf = (state: unknown) =>
  typeof state === "object" && state !== null && "entry" in state ? String(state.entry) : "first";
let entry = entryOf(history.state);
let giveUp = scrollBack(positions.at(entry));
window.addEventListener("scroll", () => positions.keep(entry, window.scrollY), { passive: true });
window.addEventListener("pagehide", () => positions.store());
window.addEventListener("popstate", ({ state }) => {
  giveUp();
  entry = entryOf(state);
  const top = positions.at(entry);
  tell();
  giveUp = scrollBack(top);
});

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function go(view: View, query: Query = {}, how: "push" | "replace" = "push"): void {
  const address = pathOf(view) + queryText(query);
  if (how === "push") {
    giveUp();
    positions.keep(entry, window.scrollY);
    entry = `${Date.now()} ${Math.random()}`;
    history.pushState({ entry }, "", address);
    window.scrollTo(0, 0);
  } else history.replaceState(history.state, "", address);
  tell();
}

let lastView: { path: string; view: View } | undefined;
/** The view that the browser's address names now. */
export function useView(): View {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  if (lastView?.path !== path) lastView = { path, view: parseView(path) };
  return lastView.view;
}

/** The query of the address, and a way to change some of it in place. */
export function useQuery(): readonly [Query, (change: Query) => void] {
  const text = useSyncExternalStore(subscribe, () => location.search);
  const change = useCallback((some: Query) => {
    const address = location.pathname + queryText({ ...parseQuery(location.search), ...some });
    history.replaceState(history.state, "", address);
    tell();
  }, []);
  return [parseQuery(text), change];
}

/** One parameter of the address; its usual value is not written there. */
export function useParameter(name: string, usual = ""): readonly [string, (value: string) => void] {
  const [query, change] = useQuery();
  return [query[name] ?? usual, (value) => change({ [name]: value === usual ? "" : value })];
}

/** Longer ones may be clipped where they stand; pointing at them shows them. */
const longText = 40;

interface LinkProps {
  readonly to: View;
  readonly query?: Query;
  readonly children: ReactNode;
  readonly className?: string;
  readonly current?: boolean;
  readonly title?: string;
}

/** A link that the browser can open in a new tab, copy and remember. */
export function Link({ to, query, children, className, current, title }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to, query);
  };
  return (
    <a
      href={pathOf(to) + queryText(query ?? {})}
      onClick={follow}
      className={className}
      title={title ?? (typeof children === "string" && children.length > longText ? children : undefined)}
      aria-current={current ? "page" : undefined}
    >
      {children}
    </a>
  );
}

/** Links to the parts of one page. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className="tabs" aria-label={label}>
      {children}
    </nav>
  );
}
