import { useState } from "react";
import { post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { listProjects, listWorkspaces } from "../../api/places";
import type { Experiment } from "../../api/types";
import { Dialog } from "../../components/dialog";
import { count } from "../../components/format";
import { Field, Loaded } from "../../components/parts";
import { planMove } from "./actions";
import { Acts, Leaves, useOneByOne } from "./one_by_one";

interface MoveDialogProps {
  readonly chosen: readonly Experiment[];
  readonly onDone: (gone: readonly Experiment[]) => void;
  readonly onClose: () => void;
}

/** Asks for a project, moves experiments there one by one, and says of each what happened. */
export function MoveDialog({ chosen: now, onDone, onClose }: MoveDialogProps) {
  const [chosen] = useState(now);
  const [target, setTarget] = useState(0);
  const { outcomes, run } = useOneByOne("moved", onDone);
  const { acts, leaves } = planMove(target, chosen);
  const started = outcomes.size > 0;
  return (
    <Dialog
      title={`Move ${count(chosen.length, "experiment")} to another project`}
      action="move"
      disabled={started || target === 0 || acts.length === 0}
      onAction={() => run(acts, (id) => post(`experiments/${id}/move`, { destinationProjectId: target }))}
      onClose={onClose}
    >
      <ProjectChoice value={target} onChange={setTarget} disabled={started} />
      <Acts verb="move" acts={acts} outcomes={outcomes} done="moved" />
      <Leaves leaves={leaves} />
    </Dialog>
  );
}

interface ProjectChoiceProps {
  /** 0: none yet. */
  readonly value: number;
  readonly onChange: (project: number) => void;
  readonly disabled: boolean;
}

/** A workspace, then one of its projects; what is archived takes nothing and is not offered. */
function ProjectChoice({ value, onChange, disabled }: ProjectChoiceProps) {
  const [workspace, setWorkspace] = useState(0);
  const [workspaces] = usePolled("open workspaces", (signal) => listWorkspaces(false, signal), 0, () => false);
  return (
    <Loaded of={workspaces} what="workspaces">
      {(list) => (
        <>
          <Field label="Workspace">
            <select
              value={workspace}
              disabled={disabled}
              autoFocus
              onChange={(event) => {
                setWorkspace(Number(event.target.value));
                onChange(0);
              }}
            >
              <option value={0}>choose …</option>
              {list.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
          {workspace !== 0 && <Projects key={workspace} workspace={workspace} value={value} onChange={onChange} disabled={disabled} />}
        </>
      )}
    </Loaded>
  );
}

function Projects({ workspace, value, onChange, disabled }: ProjectChoiceProps & { workspace: number }) {
  const [projects] = usePolled(`open projects ${workspace}`, (signal) => listProjects(workspace, false, signal), 0, () => false);
  return (
    <Loaded of={projects} what="projects">
      {(list) =>
        list.length === 0 ? (
          <p className="quiet">No project there takes experiments. Make one on the workspace&apos;s page.</p>
        ) : (
          <Field label="Project">
            <select value={value} disabled={disabled} onChange={(event) => onChange(Number(event.target.value))}>
              <option value={0}>choose …</option>
              {list.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        )
      }
    </Loaded>
  );
}
