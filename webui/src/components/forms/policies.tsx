import { useState } from "react";
import { get, put, remove } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { Dialog } from "./dialog";
import { Loaded, Panel } from "../parts";
import { NumberedText, YamlField } from "./text";

/** Whose policies: a workspace's, or (absent) the cluster's. */
interface Place {
  readonly workspace?: number;
}

const ofCluster = "/api/v1/config-policies/global/{workloadType}";
const ofWorkspace = "/api/v1/config-policies/workspaces/{workspaceId}/{workloadType}";

/** `yaml` of the reply is the policy as it was written, with its comments; empty: there is none. */
const load = ({ workspace }: Place, workloadType: string, signal: AbortSignal) =>
  workspace === undefined
    ? get(ofCluster, { path: { workloadType } }, signal)
    : get(ofWorkspace, { path: { workspaceId: workspace, workloadType } }, signal);

const save = ({ workspace }: Place, workloadType: string, yaml: string): Promise<unknown> =>
  workspace === undefined
    ? put(ofCluster, { path: { workloadType }, body: { configPolicies: yaml } })
    : put(ofWorkspace, { path: { workspaceId: workspace, workloadType }, body: { configPolicies: yaml } });

const drop = ({ workspace }: Place, workloadType: string): Promise<unknown> =>
  workspace === undefined ? remove(ofCluster, { path: { workloadType } }) : remove(ofWorkspace, { path: { workspaceId: workspace, workloadType } });

const pollMs = 10_000;

interface Kind {
  /** As the API names it. */
  readonly type: "EXPERIMENT" | "NTSC";
  readonly title: string;
  readonly example: string;
}

const kinds: readonly Kind[] = [
  {
    type: "EXPERIMENT",
    title: "Experiments",
    example: "# Overrides what users set:\ninvariant_config:\n  max_restarts: 2\n# Limits on what users may set:\nconstraints:\n  resources:\n    max_slots: 8\n  priority_limit: 30\n",
  },
  {
    type: "NTSC",
    title: "Commands, notebooks, shells and TensorBoards",
    example: "# Overrides what users set:\ninvariant_config:\n  idle_timeout: 8h\n# Limits on what users may set:\nconstraints:\n  resources:\n    max_slots: 1\n",
  },
];

interface PoliciesProps {
  readonly at: Place;
  /** For sentences: "in the cluster", "in workspace vision". */
  readonly where: string;
  readonly changes: boolean;
}

/** What is fixed and limited in configurations: to look at, and for those who may, to change. */
export function Policies({ at, where, changes }: PoliciesProps) {
  return kinds.map((kind) => <PolicyPanel key={kind.type} at={at} kind={kind} where={where} changes={changes} />);
}

function PolicyPanel({ at, kind, where, changes }: PoliciesProps & { kind: Kind }) {
  const [loaded, reload] = usePolled(`policy ${at.workspace} ${kind.type}`, (signal) => load(at, kind.type, signal), pollMs);
  const [edits, setEdits] = useState(false);
  const [deletes, setDeletes] = useState(false);
  const yaml = loaded.status === "loaded" ? loaded.value.yaml : "";
  const title = `${kind.title} ${where}`;
  return (
    <Panel
      title={kind.title}
      tools={
        changes &&
        loaded.status === "loaded" && (
          <>
            <button type="button" aria-label={`${yaml === "" ? "Set" : "Edit"} policy: ${title}`} onClick={() => setEdits(true)}>
              {yaml === "" ? "Set policy" : "Edit"}
            </button>
            {yaml !== "" && (
              <button type="button" aria-label={`Delete policy: ${title}`} onClick={() => setDeletes(true)}>
                Delete
              </button>
            )}
          </>
        )
      }
    >
      <Loaded of={loaded} what="policy">
        {(policy) => (policy.yaml === "" ? <p className="quiet">No policy is set {where}.</p> : <NumberedText text={policy.yaml} />)}
      </Loaded>
      {edits && <EditPolicy at={at} kind={kind} title={title} before={yaml} onDone={reload} onClose={() => setEdits(false)} />}
      {deletes && (
        <Dialog
          title={`Delete policy: ${title}?`}
          action="Delete"
          danger
          onAction={() => drop(at, kind.type).then(reload)}
          onClose={() => setDeletes(false)}
        >
          <p>Running workloads are not affected. Workloads submitted from now on are no longer bound by this policy.</p>
        </Dialog>
      )}
    </Panel>
  );
}

interface EditProps {
  readonly at: Place;
  readonly kind: Kind;
  readonly title: string;
  readonly before: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function EditPolicy(props: EditProps) {
  // What one edits stays as it was when the dialog opened.
  const [before] = useState(props.before);
  const [yaml, setYaml] = useState(before === "" ? props.kind.example : before);
  return (
    <Dialog
      title={`Policy: ${props.title}`}
      action="Save"
      wide
      disabled={yaml === before || yaml.trim() === ""}
      onAction={() => save(props.at, props.kind.type, yaml).then(props.onDone)}
      onClose={props.onClose}
    >
      <YamlField value={yaml} onChange={setYaml} />
      <p className="quiet">Applies to workloads submitted from now on, and to later changes of existing ones.</p>
    </Dialog>
  );
}
