import { useState } from "react";
import { get, post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Token } from "../../api/types";
import { CopyButton } from "../../components/forms/copy_button";
import { Dialog } from "../../components/forms/dialog";
import { useMe, useRights } from "../../components/people/me";
import { Field, Loaded, Panel } from "../../components/parts";
import { TokenTable } from "./token_table";

/** Hours that a token can live; -1: for ever. */
const lifespans = [
  ["720", "30 days"],
  ["2160", "90 days"],
  ["8760", "1 year"],
  ["-1", "never"],
] as const;

/** The access tokens of whoever looks: with which programs log in. */
export function Tokens() {
  const me = useMe();
  const { may } = useRights();
  const [list, reload] = usePolled(
    "tokens",
    async (signal) => (await get("/api/v1/tokens", { query: { username: me.username, limit: 200 } }, signal)).tokenInfo as readonly Token[],
    10_000,
  );
  const [creates, setCreates] = useState(false);
  return (
    <Panel
      title="Access tokens"
      tools={
        may("CREATE_TOKEN") && (
          <button type="button" onClick={() => setCreates(true)}>
            New token
          </button>
        )
      }
    >
      <Loaded of={list} what="access tokens">
        {(tokens) => (
          <TokenTable
            tokens={tokens}
            onRevoked={reload}
            empty={
              may("CREATE_TOKEN")
                ? "No access tokens. Create one for scripts and programs that use the API."
                : "No access tokens. To create one you need the role TokenCreator. Ask an administrator for it."
            }
          />
        )}
      </Loaded>
      {creates && <NewToken userId={me.id} onDone={reload} onClose={() => setCreates(false)} />}
    </Panel>
  );
}

function NewToken({ userId, onDone, onClose }: { userId: number; onDone: () => void; onClose: () => void }) {
  const [description, setDescription] = useState("");
  const [hours, setHours] = useState<string>(lifespans[0][0]);
  const [made, setMade] = useState<string>();
  const create = async () => {
    const { token } = await post("/api/v1/tokens", { body: { userId, lifespan: `${hours}h`, description } });
    setMade(token);
    onDone();
  };
  if (made !== undefined)
    return (
      <Dialog key="made" title="New access token" action="Done" onAction={() => undefined} onClose={onClose}>
        <p>Copy the token now. It is not shown again.</p>
        <pre className="code wrap" tabIndex={0} aria-label="Access token">
          {made}
        </pre>
        <CopyButton text={made} />
        <p className="quiet">
          Use it as <code>DET_USER_TOKEN=…</code> or <code>Authorization: Bearer …</code>
        </p>
      </Dialog>
    );
  // The dialog stays until the token was seen: making it is no end of it.
  return (
    <Dialog key="ask" title="New access token" action="Create" stays onAction={create} onClose={onClose}>
      <Field label="Description">
        <input value={description} autoFocus onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Expires after">
        <select value={hours} onChange={(event) => setHours(event.target.value)}>
          {lifespans.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    </Dialog>
  );
}
