import { useMemo } from "react";
import { usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import { Field, Loaded } from "../../components/parts";

interface WorkspaceChoiceProps {
  readonly value: number;
  readonly onChange: (workspace: number) => void;
}

/** One of the open workspaces; what is archived takes no models and is not offered. */
export function WorkspaceChoice({ value, onChange }: WorkspaceChoiceProps) {
  const [workspaces] = usePolled("open workspaces", (signal) => listWorkspaces(false, signal), 0, () => false);
  return (
    <Loaded of={workspaces} what="workspaces">
      {(list) => (
        <Field label="Workspace">
          <select value={value} onChange={(event) => onChange(Number(event.target.value))}>
            {list.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
      )}
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
