import { type FormEvent, useState } from "react";
import { get, patch } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import { useMe, useRights } from "../../components/people/me";
import { Choice, Field, Loaded, PageHead, Pairs, Panel, Problem } from "../../components/parts";
import { setTheme, useTheme } from "../../components/theme";
import { passwordProblem } from "./password";
import { Tokens } from "./tokens";

/** What a user chooses for herself. */
export function SettingsPage() {
  const me = useMe();
  const { may } = useRights();
  const theme = useTheme();
  const [master] = usePolled("master", (signal) => get("/api/v1/master", {}, signal), 0, () => false);
  return (
    <>
      <PageHead title="Settings" />
      <div className="columns">
        <Panel title="Appearance">
          <Choice
            label="Theme"
            value={theme}
            options={[["system", "system"], ["light", "light"], ["dark", "dark"]]}
            onChange={setTheme}
          />
        </Panel>
        <Panel title="Password">
          <Password userId={me.id} />
        </Panel>
        <Panel title="About">
          <Loaded of={master} what="the master">
            {({ version, clusterName, clusterId }) => (
              <Pairs
                rows={[
                  ["Logged in as", `${me.username}${may("ADMINISTRATE_USER") ? ", administrator" : ""}`],
                  ["Cluster", clusterName],
                  ["Cluster id", clusterId],
                  ["Version", version],
                  ["API", <a key="api" href="/api/v1/api.swagger.json">OpenAPI document</a>],
                ]}
              />
            )}
          </Loaded>
        </Panel>
      </div>
      <Tokens />
    </>
  );
}

function Password({ userId }: { userId: number }) {
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [outcome, setOutcome] = useState<{ problem: string } | "done">();
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const problem = passwordProblem(password, again);
    if (problem !== "") return setOutcome({ problem });
    try {
      await patch("/api/v1/users/{userId}", { path: { userId }, body: { password, isHashed: false } });
      setPassword("");
      setAgain("");
      setOutcome("done");
    } catch (cause) {
      setOutcome({ problem: toApiError(cause).message });
    }
  };
  return (
    <form onSubmit={(event) => void save(event)}>
      <Field label="New password">
        <input type="password" value={password} autoComplete="new-password" required onChange={(event) => setPassword(event.target.value)} />
      </Field>
      <Field label="Repeat password">
        <input type="password" value={again} autoComplete="new-password" required onChange={(event) => setAgain(event.target.value)} />
      </Field>
      <button type="submit">Change password</button>
      {typeof outcome === "object" && <Problem text={outcome.problem} />}
      {outcome === "done" && (
        <p className="state good" role="status">
          changed
        </p>
      )}
    </form>
  );
}
