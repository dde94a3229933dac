import { type ReactNode, useEffect, useRef, useState } from "react";
import { get } from "../api/client";
import { usePolled } from "../api/loadable";
import type { User } from "../api/types";
import { Icon, type IconName } from "../components/icons";
import { useRights } from "../components/people/me";
import { pathOf, titleOf, type View } from "../components/address/paths";
import type { Permission } from "../components/people/rights";
import { go, Link } from "../components/address/route";
import { setTheme, useDark } from "../components/theme";
import { Keyboard } from "./keyboard";
import type { Command } from "./palette";

interface Entry {
  readonly to: View;
  readonly text: string;
  readonly icon: IconName;
  readonly pages: readonly View["page"][];
  /** Only for those who may do this in the whole cluster. */
  readonly only?: Permission;
}

const entries: readonly Entry[] = [
  { to: { page: "dashboard" }, text: "Dashboard", icon: "dashboard", pages: ["dashboard"] },
  { to: { page: "experiments" }, text: "Experiments", icon: "experiments", pages: ["experiments", "experiment", "trial", "compare"] },
  { to: { page: "workspaces" }, text: "Workspaces", icon: "workspaces", pages: ["workspaces", "workspace", "project"] },
  { to: { page: "cluster", tab: "overview" }, text: "Cluster", icon: "cluster", pages: ["cluster"] },
  { to: { page: "queue" }, text: "Queue", icon: "queue", pages: ["queue"] },
  { to: { page: "tasks" }, text: "Tasks", icon: "tasks", pages: ["tasks", "task", "terminal"] },
  { to: { page: "models" }, text: "Models", icon: "models", pages: ["models", "model"] },
  { to: { page: "templates" }, text: "Templates", icon: "templates", pages: ["templates", "template"] },
  { to: { page: "webhooks" }, text: "Webhooks", icon: "webhooks", pages: ["webhooks"] },
  { to: { page: "users", tab: "users" }, text: "Users", icon: "users", pages: ["users"], only: "ADMINISTRATE_USER" },
  { to: { page: "audit" }, text: "Audit log", icon: "audit", pages: ["audit"], only: "VIEW_MASTER_CONFIG" },
  { to: { page: "settings" }, text: "Settings", icon: "settings", pages: ["settings"] },
  { to: { page: "api" }, text: "API reference", icon: "api", pages: ["api"] },
];

/** What the administrators have to say to all users now. */
function ClusterMessage() {
  const [reply] = usePolled("message", (signal) => get("/api/v1/master", {}, signal), 60_000);
  // The master says it to everybody while it is current; only administrators may read its times.
  const message = reply.status === "loaded" ? reply.value.clusterMessage : null;
  if (!message) return null;
  return (
    <p className="message-to-all" role="status">
      {message.message}
    </p>
  );
}

/** Where one can go, and what one can do on every page. */
const commandsOf = (pages: readonly Entry[], onLogOut: () => void): readonly Command[] => [
  ...pages.map(({ to, text }) => ({ name: text, kind: "Page", run: () => go(to) })),
  { name: "Cluster usage", kind: "Page", words: "slot-hours cost", run: () => go({ page: "cluster", tab: "usage" }) },
  { name: "Master log", kind: "Page", run: () => go({ page: "cluster", tab: "logs" }) },
  ...(["light", "dark", "system"] as const).map((theme) => ({
    name: theme === "system" ? "System theme" : theme === "dark" ? "Dark theme" : "Light theme",
    kind: "Colors",
    run: () => setTheme(theme),
  })),
  { name: "Log out", kind: "Session", words: "sign out", run: onLogOut },
];

/** What is around every page: where one can go, who one is, and the page's title. */
export function Shell(props: { view: View; user: User; cluster: string; onLogOut: () => void; children: ReactNode }) {
  const { view, user, cluster } = props;
  const { may } = useRights();
  const dark = useDark();
  const title = titleOf(view);
  const content = useRef<HTMLDivElement>(null);
  const first = useRef(true);
  useEffect(() => {
    document.title = `${title} · ${cluster || "Determined"}`;
  }, [title, cluster]);
  const page = pathOf("tab" in view ? ({ ...view, tab: "overview" } as View) : view);
  // Who uses the keyboard or listens goes on at the top of a new page; another tab of it is no new page.
  const [open, setOpen] = useState(false);
  const [asks, setAsks] = useState(false);
  const pages = entries.filter(({ only }) => only === undefined || may(only));
  useEffect(() => setOpen(false), [page]);
  useEffect(() => {
    if (!first.current) content.current?.focus({ preventScroll: true });
    first.current = false;
  }, [page]);
  return (
    <div className="shell">
      <a className="skip" href="#content" onClick={() => content.current?.focus()}>
        Skip to content
      </a>
      <header className="side">
        <Link to={{ page: "dashboard" }} className="brand">
          <span className="mark" aria-hidden="true" /> Determined
        </Link>
        <button type="button" className="menu" aria-expanded={open} aria-controls="pages" onClick={() => setOpen(!open)}>
          Menu
        </button>
        <nav id="pages" className={open ? "open" : undefined} aria-label="Pages">
          {pages.map((entry) => (
            <Link key={entry.text} to={entry.to} current={entry.pages.includes(view.page)}>
              <Icon name={entry.icon} />
              <span>{entry.text}</span>
            </Link>
          ))}
        </nav>
        <div className="who">
          <span title={`Logged in${may("ADMINISTRATE_USER") ? " as administrator" : ""}`}>{user.displayName || user.username}</span>
          <button type="button" className="bare" aria-label="Commands" title="Commands (Ctrl K)" onClick={() => setAsks(true)}>
            <Icon name="search" />
          </button>
          <button
            type="button"
            className="bare"
            aria-label={dark ? "Light theme" : "Dark theme"}
            title={dark ? "Light theme" : "Dark theme"}
            onClick={() => setTheme(dark ? "light" : "dark")}
          >
            <Icon name={dark ? "sun" : "moon"} />
          </button>
          <button type="button" className="bare" aria-label="Log out" title="Log out" onClick={props.onLogOut}>
            <Icon name="leave" />
          </button>
        </div>
      </header>
      <div id="content" className="content" ref={content} tabIndex={-1}>
        <ClusterMessage />
        {props.children}
      </div>
      <Keyboard commands={commandsOf(pages, props.onLogOut)} opened={asks} onClose={() => setAsks(false)} />
    </div>
  );
}
