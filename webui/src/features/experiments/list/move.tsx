import { useState } from "react";
import { post } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import { listProjects, listWorkspaces } from "../../../api/places";
import type { Experiment } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { count } from "../../../components/format";
import { useRights } from "../../../components/people/me";
import { Loaded, Pick } from "../../../components/parts";
import { planMove } from "../changing/actions";
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
  const { may } = useRights();
  const { acts, leaves } = planMove(target, chosen, may);
  const started = outcomes.size > 0;
  return (
    <Dialog
      title={`Move ${count(chosen.length, "experiment")} to another project`}
      action="Move"
      disabled={started || target === 0 || acts.length === 0}
      stays={acts.length > 1}
      onAction={() => run(acts, (id) => post("/api/v1/experiments/{experimentId}/move", { path: { experimentId: id }, body: { destinationProjectId: target } }))}
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

/** A workspace, then one of its projects; what is archived, or takes nothing of the reader, is not offered. */
function ProjectChoice({ value, onChange, disabled }: ProjectChoiceProps) {
  const [workspace, setWorkspace] = useState(0);
  const { may } = useRights();
  const [workspaces] = usePolled("open workspaces", (signal) => listWorkspaces(false, signal), 0, () => false);
  return (
    <Loaded of={workspaces} what="workspaces">
      {(list) => (
        <>
          <Pick
            label="Workspace"
            asks
            autoFocus
            value={workspace}
            disabled={disabled}
            options={list.filter(({ id }) => may("CREATE_EXPERIMENT", { workspace: id }))}
            onChange={(id) => {
              setWorkspace(id);
              onChange(0);
            }}
          />
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
          <Pick label="Project" asks value={value} disabled={disabled} options={list} onChange={onChange} />
        )
      }
    </Loaded>
  );
}
