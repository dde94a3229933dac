import { useEffect, useState } from "react";
import { loggedOut } from "../api/client";
import { toApiError } from "../api/loadable";
import type { User } from "../api/types";
import { MeContext } from "../components/me";
import type { View } from "../components/paths";
import { Link, useView } from "../components/route";
import { ClusterPage } from "../features/cluster/cluster";
import { QueuePage } from "../features/cluster/queue";
import { Dashboard } from "../features/dashboard/dashboard";
import { ExperimentPage } from "../features/experiments/experiment";
import { ExperimentList } from "../features/experiments/list";
import { ModelPage } from "../features/models/model";
import { ModelList } from "../features/models/models";
import { TaskPage } from "../features/tasks/task";
import { TaskList } from "../features/tasks/tasks";
import { SettingsPage } from "../features/users/settings";
import { UsersPage } from "../features/users/users";
import { ComparePage } from "../features/trials/compare";
import { TrialPage } from "../features/trials/trial";
import { Login } from "./login";
import { logOut, resume } from "./session";
import { Shell } from "./shell";

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
        <MeContext value={session.user}>
          <Shell view={view} user={session.user} onLogOut={() => void logOut().finally(() => setSession({ status: "closed" }))}>
            <main>
              <Page view={view} />
            </main>
          </Shell>
        </MeContext>
      );
  }
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
    case "cluster":
      return <ClusterPage tab={view.tab} />;
    case "queue":
      return <QueuePage />;
    case "tasks":
      return <TaskList />;
    case "task":
      return <TaskPage key={view.id} kind={view.kind} id={view.id} />;
    case "models":
      return <ModelList />;
    case "model":
      return <ModelPage key={view.name} name={view.name} />;
    case "users":
      return <UsersPage />;
    case "settings":
      return <SettingsPage />;
    case "unknown":
      return (
        <p>
          There is no page {view.path}. <Link to={{ page: "dashboard" }}>To the dashboard</Link>
        </p>
      );
  }
}
