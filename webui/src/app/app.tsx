import { useEffect, useState } from "react";
import { toApiError } from "../api/loadable";
import type { User } from "../api/types";
import { Link, useView } from "../components/parts";
import { ExperimentPage } from "../features/experiments/experiment";
import { ExperimentList } from "../features/experiments/list";
import { TrialPage } from "../features/trials/trial";
import { Login } from "./login";
import { logOut, resume } from "./session";

type Session =
  | { readonly status: "asking" }
  | { readonly status: "open"; readonly user: User }
  | { readonly status: "closed" }
  | { readonly status: "unknown"; readonly problem: string };

const retryMs = 2000;

export function App() {
  const [session, setSession] = useState<Session>({ status: "asking" });

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

  switch (session.status) {
    case "asking":
      return <p className="quiet">Connecting …</p>;
    case "unknown":
      return (
        <p className="problem" role="alert">
          {session.problem} Trying again …
        </p>
      );
    case "closed":
      return <Login onLogin={(user) => setSession({ status: "open", user })} />;
    case "open":
      return (
        <>
          <header className="bar">
            <Link to={{ page: "experiments", search: "", state: "" }}>Determined</Link>
            <span>
              {session.user.username}{" "}
              <button type="button" onClick={() => void logOut().finally(() => setSession({ status: "closed" }))}>
                Log out
              </button>
            </span>
          </header>
          <Page />
        </>
      );
  }
}

function Page() {
  const view = useView();
  switch (view.page) {
    case "experiments":
      return <ExperimentList search={view.search} state={view.state} />;
    case "experiment":
      return <ExperimentPage key={view.id} id={view.id} tab={view.tab} />;
    case "trial":
      return <TrialPage key={view.id} id={view.id} tab={view.tab} />;
    case "unknown":
      return (
        <main>
          <p>
            There is no page {view.path}. <Link to={{ page: "experiments", search: "", state: "" }}>All experiments</Link>
          </p>
        </main>
      );
  }
}
