import { useEffect, useMemo, useState } from "react";
import { get, loggedOut, standsBy } from "../api/client";
import { toApiError, usePolled } from "../api/loadable";
import type { Permissions, User } from "../api/types";
import { MeContext, RightsContext } from "../components/people/me";
import type { View } from "../components/address/paths";
import { late, loading } from "../components/late";
import { Link, useView } from "../components/address/route";
import { rightsOf } from "../components/people/rights";
import { ClusterPage } from "../features/cluster/cluster";
import { QueuePage } from "../features/cluster/queue";
import { Dashboard } from "../features/dashboard/dashboard";
import { ExperimentList, ExperimentTable } from "../features/experiments/list/list";
import { Boundary } from "./boundary";
import { Login } from "./login";
import { isStill, logOut, resume, turnKey, wantedTask } from "./session";
import { Shell } from "./shell";

// Pages that are opened less often come when they are.
const AuditPage = late(() => import("../features/audit/audit").then((m) => m.AuditPage), loading);
const ComparePage = late(() => import("../features/trials/compare").then((m) => m.ComparePage), loading);
const DesignPage = late(() => import("../features/design/design").then((m) => m.DesignPage), loading);
const ExperimentPage = late(() => import("../features/experiments/experiment").then((m) => m.ExperimentPage), loading);
const ModelList = late(() => import("../features/models/models").then((m) => m.ModelList), loading);
const ModelPage = late(() => import("../features/models/model").then((m) => m.ModelPage), loading);
const ProjectPage = late(() => import("../features/workspaces/project").then((m) => m.ProjectPage), loading);
const ReferencePage = late(() => import("../features/reference/reference").then((m) => m.ReferencePage), loading);
const SettingsPage = late(() => import("../features/users/settings").then((m) => m.SettingsPage), loading);
const TaskList = late(() => import("../features/tasks/tasks").then((m) => m.TaskList), loading);
const TaskPage = late(() => import("../features/tasks/task").then((m) => m.TaskPage), loading);
const TemplateList = late(() => import("../features/templates/templates").then((m) => m.TemplateList), loading);
const TemplatePage = late(() => import("../features/templates/template").then((m) => m.TemplatePage), loading);
const TerminalPage = late(() => import("../features/tasks/terminal").then((m) => m.TerminalPage), loading);
const TrialPage = late(() => import("../features/trials/trial").then((m) => m.TrialPage), loading);
const UsersPage = late(() => import("../features/users/users").then((m) => m.UsersPage), loading);
const WebhookList = late(() => import("../features/webhooks/webhooks").then((m) => m.WebhookList), loading);
const WorkspaceList = late(() => import("../features/workspaces/workspaces").then((m) => m.WorkspaceList), loading);
const WorkspacePage = late(() => import("../features/workspaces/workspace").then((m) => m.WorkspacePage), loading);

type Session =
  | { readonly status: "asking" }
  | { readonly status: "open"; readonly user: User }
  | { readonly status: "closed" }
  | { readonly status: "unknown"; readonly problem: string };

const retryMs = 2000;

export function App() {
  const [session, setSession] = useState<Session>({ status: "asking" });
  const view = useView();

  useEffect(() => {
    if (session.status !== "asking" && session.status !== "unknown") return;
    let over = false;
    const ask = () =>
      resume().then(
        (user) => !over && setSession(user ? { status: "open", user } : { status: "closed" }),
        (cause: unknown) => !over && setSession({ status: "unknown", problem: toApiError(cause).message }),
      );
    const timer = setTimeout(() => void ask(), session.status === "unknown" ? retryMs : 0);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [session]);

  useEffect(() => {
    if (session.status !== "open") return;
    const ask = () => setSession({ status: "asking" });
    window.addEventListener(loggedOut, ask);
    return () => window.removeEventListener(loggedOut, ask);
  }, [session.status]);

  // The page that is opened there instead leads to the leader.
  useEffect(() => {
    const leave = () => location.reload();
    window.addEventListener(standsBy, leave);
    return () => window.removeEventListener(standsBy, leave);
  }, []);

  // Who logs in or out in another window does so in this one, too.
  useEffect(() => {
    if (session.status !== "open" && session.status !== "closed") return;
    const look = async () => {
      if (session.status === "closed") setSession({ status: "asking" });
      else if (!(await isStill(session.user))) location.reload();
    };
    const hear = ({ key }: StorageEvent) => key === turnKey && void look();
    const see = () => session.status === "open" && !document.hidden && void look();
    window.addEventListener("storage", hear);
    document.addEventListener("visibilitychange", see);
    return () => {
      window.removeEventListener("storage", hear);
      document.removeEventListener("visibilitychange", see);
    };
  }, [session]);

  const wanted = wantedTask(location.search);
  useEffect(() => {
    if (session.status === "open" && wanted !== undefined) location.replace(wanted);
  }, [session.status, wanted]);

  switch (session.status) {
    case "asking":
      return <p className="alone quiet">Connecting …</p>;
    case "unknown":
      return (
        <p className="alone problem" role="alert">
          {session.problem} Trying again …
        </p>
      );
    case "closed":
      return <Login onLogin={(user) => setSession({ status: "open", user })} />;
    case "open":
      return (
        <LoggedIn
          key={session.user.id}
          user={session.user}
          view={view}
          onLogOut={() => void logOut().finally(() => setSession({ status: "closed" }))}
        />
      );
  }
}

const rightsPollMs = 60_000;

interface LoggedInProps {
  readonly user: User;
  readonly view: View;
  readonly onLogOut: () => void;
}

/** The frame and the page, for someone whose rights are known. */
function LoggedIn({ user, view, onLogOut }: LoggedInProps) {
  const [master] = usePolled("master", (signal) => get("/api/v1/master", {}, signal), 3_600_000, () => false);
  const [summary] = usePolled("rights", async (signal) => (await get("/api/v1/permissions/summary", {}, signal)) as Permissions, rightsPollMs);
  const facts = master.status === "loaded" ? master.value : undefined;
  const roles = summary.status === "loaded" ? summary.value : undefined;
  const rights = useMemo(() => rightsOf(user, facts?.rbacEnabled ?? false, roles), [user, facts, roles]);
  // A page that began before would offer for a moment what is not allowed, or say that something is not.
  const known = master.status !== "loading" && (facts?.rbacEnabled !== true || summary.status !== "loading");
  return (
    <MeContext value={user}>
      <RightsContext value={rights}>
        <Shell view={view} user={user} cluster={facts?.clusterName ?? ""} onLogOut={onLogOut}>
          <main>
            <Boundary key={view.page}>
              {known ? <Page view={view} /> : loading()}
            </Boundary>
          </main>
        </Shell>
      </RightsContext>
    </MeContext>
  );
}

function Page({ view }: { view: View }) {
  switch (view.page) {
    case "dashboard":
      return <Dashboard />;
    case "experiments":
      return <ExperimentList />;
    case "experiment":
      return <ExperimentPage key={view.id} id={view.id} tab={view.tab} />;
    case "trial":
      return <TrialPage key={view.id} id={view.id} tab={view.tab} />;
    case "compare":
      return <ComparePage />;
    case "workspaces":
      return <WorkspaceList />;
    case "workspace":
      return <WorkspacePage key={view.id} id={view.id} tab={view.tab} />;
    case "project":
      return <ProjectPage key={view.id} id={view.id} tab={view.tab} experiments={<ExperimentTable project={view.id} />} />;
    case "cluster":
      return <ClusterPage tab={view.tab} />;
    case "queue":
      return <QueuePage />;
    case "tasks":
      return <TaskList />;
    case "task":
      return <TaskPage key={view.id} kind={view.kind} id={view.id} />;
    case "terminal":
      return <TerminalPage key={view.id} id={view.id} />;
    case "models":
      return <ModelList />;
    case "model":
      return <ModelPage key={view.name} name={view.name} />;
    case "templates":
      return <TemplateList />;
    case "template":
      return <TemplatePage key={view.name} name={view.name} />;
    case "webhooks":
      return <WebhookList />;
    case "users":
      return <UsersPage tab={view.tab} />;
    case "audit":
      return <AuditPage />;
    case "settings":
      return <SettingsPage />;
    case "api":
      return <ReferencePage />;
    case "design":
      return <DesignPage />;
    case "unknown":
      return (
        <>
          <h1>Page not found</h1>
          <p>
            No page exists at {view.path}. <Link to={{ page: "dashboard" }}>Go to the dashboard</Link>
          </p>
        </>
      );
  }
}
