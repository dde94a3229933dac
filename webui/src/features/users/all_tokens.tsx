import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Token } from "../../api/types";
import { useRights } from "../../components/people/me";
import { Choice, Loaded } from "../../components/parts";
import { useParameter } from "../../components/address/route";
import { TokenTable } from "./token_table";

interface Page {
  readonly tokens: readonly Token[];
  readonly owners: ReadonlyMap<number, string>;
}

async function load(showInactive: boolean, signal: AbortSignal): Promise<Page> {
  const [{ tokenInfo }, { users }] = await Promise.all([
    get("/api/v1/tokens", { query: { showInactive, limit: 1000 } }, signal),
    get("/api/v1/users", {}, signal),
  ]);
  return { tokens: tokenInfo as readonly Token[], owners: new Map(users.map(({ id, username }) => [id, username])) };
}

/** The access tokens of everybody: for administrators. */
export function AllTokens() {
  const { may } = useRights();
  const [over, setOver] = useParameter("over");
  const [list, reload] = usePolled(`all tokens ${over}`, (signal) => load(over !== "", signal), 10_000);
  if (!may("ADMINISTRATE_TOKEN")) return <p className="quiet">Only administrators can manage access tokens of other users. Your own are in Settings.</p>;
  return (
    <>
      <search className="row filters">
        <Choice label="Show revoked and expired" value={over} options={[["", "no"], ["yes", "yes"]]} onChange={setOver} />
      </search>
      <Loaded of={list} what="access tokens">
        {({ tokens, owners }) => (
          <TokenTable tokens={tokens} owners={owners} onRevoked={reload} empty="No access tokens. Create one in Settings." />
        )}
      </Loaded>
    </>
  );
}
