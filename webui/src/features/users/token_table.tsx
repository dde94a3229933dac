import { useMemo, useState } from "react";
import { patch } from "../../api/client";
import type { Token } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Age } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";

interface TokenTableProps {
  readonly tokens: readonly Token[];
  /** Names of their owners, where they are of several. */
  readonly owners?: ReadonlyMap<number, string>;
  readonly empty: string;
  readonly onRevoked: () => void;
}

const isOver = ({ revoked, expiry }: Token) => revoked || Date.parse(expiry) < Date.now();

/** Access tokens, with a button that revokes one after a question. */
export function TokenTable({ tokens, owners, empty, onRevoked }: TokenTableProps) {
  const [revoked, setRevoked] = useState<Token>();
  const columns = useMemo((): Column<Token>[] => {
    const owner = ({ userId }: Token) => owners?.get(userId) ?? `user ${userId}`;
    return [
      { id: "id", title: "ID", number: true, value: ({ id }) => id, cell: ({ id }) => id },
      ...(owners === undefined ? [] : [{ id: "user", title: "User", value: owner, cell: owner }]),
      { id: "description", title: "Description", value: ({ description }) => description, cell: ({ description }) => description },
      { id: "created", title: "Created", value: ({ createdAt }) => Date.parse(createdAt), cell: ({ createdAt }) => <Age time={createdAt} /> },
      {
        id: "expiry",
        title: "Expires",
        value: ({ expiry }) => Date.parse(expiry),
        cell: ({ expiry }) => (Date.parse(expiry) > Date.UTC(2200, 0) ? "never" : <time dateTime={expiry}>{new Date(expiry).toLocaleDateString()}</time>),
      },
      {
        id: "revoke",
        title: "",
        cell: (token) =>
          isOver(token) ? (
            <span className="quiet">{token.revoked ? "revoked" : "expired"}</span>
          ) : (
            <button type="button" className="text" aria-label={`Revoke token ${token.id}`} onClick={() => setRevoked(token)}>
              Revoke
            </button>
          ),
      },
    ];
  }, [owners]);
  return (
    <>
      <Table label="Access tokens" rows={tokens} columns={columns} rowKey={({ id }) => id} order="-created" empty={empty} />
      {revoked !== undefined && (
        <Dialog
          title={`Revoke token ${revoked.id}${revoked.description === "" ? "" : `, ${revoked.description}`}?`}
          action="Revoke"
          danger
          onAction={() => patch("/api/v1/tokens/{tokenId}", { path: { tokenId: revoked.id }, body: { setRevoked: true } }).then(onRevoked)}
          onClose={() => setRevoked(undefined)}
        >
          <p>Programs that use this token can no longer log in.</p>
        </Dialog>
      )}
    </>
  );
}
