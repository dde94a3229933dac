import { useMemo, useState } from "react";
import { type Loadable, usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Workspace } from "../../api/types";
import { useRights } from "../people/me";
import { Loaded, Pick } from "../parts";
import type { Permission } from "../people/rights";

export interface WorkspaceChoice {
  readonly open: Loadable<readonly Workspace[]>;
  /** The chosen one; undefined while they are on their way, and where there is none. */
  readonly value: number | undefined;
  readonly choose: (workspace: number) => void;
}

/** One of the workspaces that are not archived and in which the reader may do something; `usual` where that is one. */
export function useWorkspaceChoice(permission: Permission, usual = 1): WorkspaceChoice {
  const { may } = useRights();
  const [wanted, choose] = useState(usual);
  const [all] = usePolled("open workspaces", (signal) => listWorkspaces(false, signal), 0, () => false);
  const open = useMemo(
    (): Loadable<readonly Workspace[]> =>
      all.status === "loaded" ? { status: "loaded", value: all.value.filter(({ id }) => may(permission, { workspace: id })) } : all,
    [all, may, permission],
  );
  const list = open.status === "loaded" ? open.value : [];
  const chosen = list.find(({ id }) => id === wanted) ?? list[0];
  return { open, value: chosen?.id, choose };
}

export function WorkspaceField({ choice: { open, value, choose } }: { choice: WorkspaceChoice }) {
  return (
    <Loaded of={open} what="workspaces">
      {(list) =>
        list.length === 0 ? (
          <p className="quiet">You do not have permission to do this in any workspace. Ask an administrator for a role.</p>
        ) : (
          <Pick label="Workspace" value={value ?? 0} options={list} onChange={choose} />
        )
      }
    </Loaded>
  );
}

/** The name of a workspace that the reader may see; its number until it is known. */
export function useWorkspaceNames(): (id: number) => string {
  const [all] = usePolled("all workspaces", (signal) => listWorkspaces(undefined, signal), 0, () => false);
  return useMemo(() => {
    const names = new Map(all.status === "loaded" ? all.value.map(({ id, name }) => [id, name]) : []);
    return (id: number) => names.get(id) ?? String(id);
  }, [all]);
}
