import { useState } from "react";
import { get, put, remove } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { Dialog } from "./dialog";
import { Loaded, Panel } from "../parts";
import { NumberedText, YamlField } from "./text";

/** What administrators decide about configurations; all empty: nothing. */
interface Policy {
  readonly configPolicies: unknown;
  /** As it was written, with its comments; empty: there is none. */
  readonly yaml: string;
}

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
    example: "# Lies above what users say:\ninvariant_config:\n  max_restarts: 2\n# How far users may go:\nconstraints:\n  resources:\n    max_slots: 8\n  priority_limit: 30\n",
  },
  {
    type: "NTSC",
    title: "Commands, notebooks, shells and TensorBoards",
    example: "# Lies above what users say:\ninvariant_config:\n  idle_timeout: 8h\n# How far users may go:\nconstraints:\n  resources:\n    max_slots: 1\n",
  },
];

interface PoliciesProps {
  /** Whose: what follows `config-policies/` in the API's addresses. */
  readonly at: string;
  /** For sentences: "in the cluster", "in workspace vision". */
  readonly where: string;
  readonly changes: boolean;
}

/** What is fixed and limited in configurations: to look at, and for those who may, to change. */
export function Policies({ at, where, changes }: PoliciesProps) {
  return kinds.map((kind) => <PolicyPanel key={kind.type} path={`config-policies/${at}/${kind.type}`} kind={kind} where={where} changes={changes} />);
}

function PolicyPanel({ path, kind, where, changes }: { path: string; kind: Kind; where: string; changes: boolean }) {
  const [loaded, reload] = usePolled(path, (signal) => get<Policy>(path, {}, signal), pollMs);
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
            <button type="button" aria-label={`Edit the policy: ${title}`} onClick={() => setEdits(true)}>
              {yaml === "" ? "set a policy" : "edit"}
            </button>
            {yaml !== "" && (
              <button type="button" aria-label={`Delete the policy: ${title}`} onClick={() => setDeletes(true)}>
                delete
              </button>
            )}
          </>
        )
      }
    >
      <Loaded of={loaded} what="the policy">
        {(policy) => (policy.yaml === "" ? <p className="quiet">Nothing is fixed or limited {where}.</p> : <NumberedText text={policy.yaml} />)}
      </Loaded>
      {edits && <EditPolicy path={path} title={title} before={yaml} example={kind.example} onDone={reload} onClose={() => setEdits(false)} />}
      {deletes && (
        <Dialog
          title={`Delete the policy: ${title}?`}
          action="delete"
          danger
          onAction={() => remove(path).then(reload)}
          onClose={() => setDeletes(false)}
        >
          <p>What runs stays as it is. What is submitted from now on is not bound by it.</p>
        </Dialog>
      )}
    </Panel>
  );
}

interface EditProps {
  readonly path: string;
  readonly title: string;
  readonly before: string;
  readonly example: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function EditPolicy(props: EditProps) {
  // What one edits stays as it was when the dialog opened.
  const [before] = useState(props.before);
  const [yaml, setYaml] = useState(before === "" ? props.example : before);
  return (
    <Dialog
      title={`Policy: ${props.title}`}
      action="Save"
      wide
      disabled={yaml === before || yaml.trim() === ""}
      onAction={() => put(props.path, { configPolicies: yaml }).then(props.onDone)}
      onClose={props.onClose}
    >
      <YamlField value={yaml} onChange={setYaml} />
      <p className="quiet">It counts for what is submitted from now on, and for later changes of what was submitted before.</p>
    </Dialog>
  );
}
